"""Kettles, pots, tableware, textiles and lamps. ``{a}`` and ``{b}`` stand for the colours, ``{t}`` for the label."""

SHAPES = {
    "kettle": (
        '<path d="M278 170q80 -6 64 80q-10 50 -58 60" fill="none" stroke="{b}" stroke-width="18"/>'
        '<path d="M128 230q-60 -10 -64 -90" fill="none" stroke="{a}" stroke-width="16"/>'
        '<path d="M140 160h120l28 180q2 12 -12 12H124q-14 0 -12 -12z" fill="{a}"/>'
        '<rect x="150" y="140" width="100" height="22" rx="9" fill="{b}"/>'
        '<circle cx="200" cy="128" r="13" fill="{b}"/>'
        '<rect x="150" y="180" width="12" height="150" rx="6" fill="#ffffff33"/>'
    ),
    "dripper": (
        '<path d="M130 110h140l-44 70h-52z" fill="{a}"/>'
        '<rect x="186" y="178" width="28" height="20" fill="{a}"/>'
        '<path d="M110 90h14v262h-14zM276 90h14v262h-14zM104 340h192v14H104z" fill="{b}"/>'
        '<path d="M150 220h100l14 110q0 12 -12 12H148q-12 0 -12 -12z" fill="#dfeaec"/>'
        '<path d="M143 280h114l7 50q0 12 -12 12H148q-12 0 -12 -12z" fill="{b}"/>'
    ),
    "knife": (
        '<path d="M60 210q60 -46 200 -46v46z" fill="{a}"/>'
        '<path d="M60 210h200v-8H80z" fill="#ffffff55"/>'
        '<rect x="258" y="160" width="96" height="40" rx="14" fill="{b}"/>'
        '<circle cx="286" cy="180" r="5" fill="#e8dcc0"/>'
        '<circle cx="326" cy="180" r="5" fill="#e8dcc0"/>'
        '<rect x="70" y="260" width="260" height="60" rx="8" fill="#c9a06e"/>'
        '<path d="M80 280h240M80 300h240" stroke="#b58a57" stroke-width="3"/>'
    ),
    "pot": (
        '<rect x="64" y="212" width="40" height="26" rx="10" fill="{a}"/>'
        '<rect x="296" y="212" width="40" height="26" rx="10" fill="{a}"/>'
        '<path d="M92 190h216v130q0 30 -30 30H122q-30 0 -30 -30z" fill="{a}"/>'
        '<path d="M86 190q30 -56 114 -56t114 56z" fill="{a}"/>'
        '<path d="M86 186h228v12H86z" fill="{b}"/>'
        '<rect x="182" y="108" width="36" height="28" rx="8" fill="{b}"/>'
        '<path d="M110 214v96" stroke="#ffffff40" stroke-width="10" stroke-linecap="round"/>'
    ),
    "pan": (
        '<ellipse cx="165" cy="230" rx="118" ry="92" fill="{a}"/>'
        '<ellipse cx="165" cy="224" rx="96" ry="72" fill="#00000033"/>'
        '<path d="M262 190l104 -62 12 22 -102 66z" fill="{b}"/>'
    ),
    "plates": (
        '<ellipse cx="200" cy="330" rx="132" ry="24" fill="{b}"/>'
        '<ellipse cx="200" cy="312" rx="132" ry="24" fill="{a}"/>'
        '<circle cx="200" cy="190" r="112" fill="{a}"/>'
        '<circle cx="200" cy="190" r="82" fill="none" stroke="{b}" stroke-width="3"/>'
        '<g fill="{b}">'
        '<circle cx="160" cy="140" r="3"/>'
        '<circle cx="240" cy="170" r="4"/>'
        '<circle cx="190" cy="230" r="3"/>'
        '<circle cx="230" cy="240" r="3"/>'
        '<circle cx="150" cy="200" r="4"/>'
        "</g>"
    ),
    "mug": (
        '<path d="M250 190h30q36 0 36 46t-40 46h-26" fill="none" stroke="{b}" stroke-width="16"/>'
        '<path d="M110 150h150v160q0 38 -38 38h-74q-38 0 -38 -38z" fill="{a}"/>'
        '<ellipse cx="185" cy="152" rx="75" ry="14" fill="{b}"/>'
        '<g fill="{b}">'
        '<circle cx="140" cy="210" r="3"/>'
        '<circle cx="220" cy="250" r="4"/>'
        '<circle cx="170" cy="300" r="3"/>'
        "</g>"
    ),
    "cloth": (
        '<path d="M90 120l200 -20 20 200 -200 40z" fill="{a}"/>'
        '<path d="M104 132l174 -17 17 172 -174 36z" fill="none" stroke="{b}" stroke-width="4"/>'
        '<path d="M110 340l60 -80 140 40z" fill="{b}"/>'
    ),
    "towel": (
        '<rect x="70" y="90" width="260" height="14" rx="7" fill="#8a6a4a"/>'
        '<path d="M100 96h120v240H100z" fill="{a}"/>'
        '<path d="M100 300h120v14H100z" fill="{b}"/>'
        '<path d="M196 96h110v180H196z" fill="{b}"/>'
        '<path d="M196 248h110v12H196z" fill="{a}"/>'
        '<g stroke="#ffffff55" stroke-width="3">'
        '<path d="M120 110v180M150 110v180M180 110v180M230 110v130M270 110v130"/>'
        "</g>"
    ),
    "pillow": (
        '<path d="M80 150q120 -40 240 0q20 90 0 170q-120 30 -240 0q-20 -80 0 -170z" fill="{a}" stroke="{b}" stroke-width="5"/>'
        '<path d="M110 176q90 -26 180 0" fill="none" stroke="{b}" stroke-width="3"/>'
        '<circle cx="130" cy="300" r="6" fill="{b}"/>'
        '<circle cx="200" cy="308" r="6" fill="{b}"/>'
        '<circle cx="270" cy="300" r="6" fill="{b}"/>'
    ),
    "lamp": (
        '<circle cx="200" cy="180" r="150" fill="#fff3c455"/>'
        '<circle cx="200" cy="180" r="100" fill="{a}"/>'
        '<circle cx="170" cy="150" r="34" fill="#ffffff66"/>'
        '<path d="M160 270h80l20 78H140z" fill="{b}"/>'
    ),
    "desklamp": (
        '<path d="M130 340L110 200 230 120" fill="none" stroke="{a}" stroke-width="14" stroke-linejoin="round"/>'
        '<path d="M210 84l94 60 -46 56 -70 -72z" fill="{a}"/>'
        '<path d="M262 190l90 150H220z" fill="#fff3c488"/>'
        '<rect x="80" y="332" width="110" height="18" rx="8" fill="{b}"/>'
        '<circle cx="110" cy="200" r="13" fill="{b}"/>'
    ),
    "floorlamp": (
        '<path d="M140 60h120l34 96H106z" fill="{a}"/>'
        '<path d="M196 156h8v180h-8z" fill="{b}"/>'
        '<path d="M200 190q60 60 20 150" fill="none" stroke="{b}" stroke-width="7"/>'
        '<rect x="140" y="334" width="120" height="16" rx="8" fill="{b}"/>'
        '<g stroke="{b}" stroke-opacity=".35" stroke-width="3">'
        '<path d="M160 64l-26 88M190 64l-8 88M212 64l8 88M240 64l26 88"/>'
        "</g>"
    ),
    "throw": (
        '<path d="M80 110q120 30 240 0v190q-120 30 -240 0z" fill="{a}"/>'
        '<path d="M80 170q120 30 240 0v26q-120 30 -240 0zM80 246q120 30 240 0v14q-120 30 -240 0z" fill="{b}"/>'
        '<g stroke="{a}" stroke-width="5">'
        '<path d="M90 304v34M120 310v34M150 314v34M180 316v34M210 316v34M240 314v34M270 310v34M300 306v34"/>'
        "</g>"
    ),
    "vase": (
        '<path d="M176 150h48v26q84 24 84 96q0 78 -68 78h-80q-68 0 -68 -78q0 -72 84 -96z" fill="{a}"/>'
        '<path d="M200 150q-10 -70 40 -110" fill="none" stroke="{b}" stroke-width="5"/>'
        '<g fill="#7d9a6a">'
        '<ellipse cx="214" cy="90" rx="16" ry="8"/>'
        '<ellipse cx="236" cy="62" rx="16" ry="8"/>'
        '<ellipse cx="196" cy="112" rx="16" ry="8"/>'
        "</g>"
        '<path d="M104 260q96 30 192 0" fill="none" stroke="{b}" stroke-opacity=".4" stroke-width="6"/>'
    ),
    "clock": (
        '<circle cx="200" cy="200" r="130" fill="{a}" stroke="{b}" stroke-width="12"/>'
        '<g fill="{b}">'
        '<circle cx="200" cy="96" r="8"/>'
        '<circle cx="304" cy="200" r="8"/>'
        '<circle cx="200" cy="304" r="8"/>'
        '<circle cx="96" cy="200" r="8"/>'
        "</g>"
        '<path d="M200 200V126M200 200l56 32" stroke="{b}" stroke-width="9" stroke-linecap="round"/>'
    ),
    "apron": (
        '<path d="M160 110q0 -50 40 -50t40 50" fill="none" stroke="{b}" stroke-width="9"/>'
        '<path d="M152 108h96q4 70 50 92v148H102V200q46 -22 50 -92z" fill="{a}"/>'
        '<path d="M130 240h60v60h-60zM210 240h60v60h-60z" fill="{b}" fill-opacity=".7"/>'
    ),
}
