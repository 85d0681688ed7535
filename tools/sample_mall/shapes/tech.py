"""Electronics. ``{a}`` and ``{b}`` stand for the colours, ``{t}`` for the label."""

SHAPES = {
    "headphones": (
        '<path d="M90 240q0 -150 110 -150t110 150" fill="none" stroke="{a}" stroke-width="24"/>'
        '<rect x="66" y="210" width="64" height="120" rx="30" fill="{a}"/>'
        '<rect x="270" y="210" width="64" height="120" rx="30" fill="{a}"/>'
        '<rect x="112" y="220" width="26" height="100" rx="12" fill="{b}"/>'
        '<rect x="262" y="220" width="26" height="100" rx="12" fill="{b}"/>'
        '<path d="M130 120q70 -46 140 0" fill="none" stroke="{b}" stroke-width="8"/>'
    ),
    "earbuds": (
        '<rect x="110" y="220" width="180" height="120" rx="46" fill="{a}" stroke="#0000001a" stroke-width="3"/>'
        '<path d="M112 264h176" stroke="#00000026" stroke-width="4"/>'
        '<circle cx="200" cy="300" r="7" fill="{b}"/>'
        '<circle cx="150" cy="130" r="34" fill="{a}"/>'
        '<rect x="140" y="140" width="20" height="70" rx="10" fill="{a}"/>'
        '<circle cx="250" cy="130" r="34" fill="{a}"/>'
        '<rect x="240" y="140" width="20" height="70" rx="10" fill="{a}"/>'
        '<circle cx="150" cy="126" r="13" fill="{b}"/>'
        '<circle cx="250" cy="126" r="13" fill="{b}"/>'
    ),
    "monitor": (
        '<rect x="50" y="80" width="300" height="188" rx="10" fill="{a}"/>'
        '<rect x="62" y="92" width="276" height="158" fill="{b}"/>'
        '<path d="M62 250l90 -80 60 50 56 -66 70 96z" fill="#ffffff44"/>'
        '<circle cx="290" cy="124" r="16" fill="#ffffff88"/>'
        '<rect x="184" y="268" width="32" height="56" fill="{a}"/>'
        '<rect x="130" y="322" width="140" height="18" rx="9" fill="{a}"/>'
    ),
    "ssd": (
        '<rect x="110" y="90" width="180" height="230" rx="26" fill="{a}"/>'
        '<rect x="110" y="250" width="180" height="22" fill="{b}"/>'
        '<circle cx="200" cy="296" r="7" fill="{b}"/>'
        '<path d="M200 320q0 50 70 40t60 -60" fill="none" stroke="#333333" stroke-width="9"/>{t}'
    ),
    "usb": (
        '<g transform="rotate(-24 200 200)">'
        '<rect x="110" y="160" width="180" height="80" rx="18" fill="{a}"/>'
        '<rect x="286" y="174" width="54" height="52" fill="{b}"/>'
        '<rect x="64" y="180" width="50" height="40" rx="16" fill="{b}"/>'
        '<circle cx="200" cy="200" r="15" fill="#ffffff55"/>'
        "</g>"
    ),
    "camera": (
        '<rect x="66" y="140" width="268" height="180" rx="22" fill="{a}" stroke="#00000022" stroke-width="3"/>'
        '<path d="M150 140l20 -34h70l20 34z" fill="{a}"/>'
        '<rect x="66" y="186" width="268" height="86" fill="{b}"/>'
        '<circle cx="204" cy="230" r="76" fill="#2b2f38"/>'
        '<circle cx="204" cy="230" r="54" fill="#4a5a70"/>'
        '<circle cx="204" cy="230" r="30" fill="#15181e"/>'
        '<circle cx="190" cy="214" r="10" fill="#ffffff77"/>'
        '<circle cx="300" cy="134" r="16" fill="{b}"/>'
    ),
    "tripod": (
        '<rect x="166" y="70" width="68" height="34" rx="8" fill="{b}"/>'
        '<rect x="186" y="100" width="28" height="70" fill="{a}"/>'
        '<path d="M190 168L100 350M210 168l90 182M200 168v182" stroke="{a}" stroke-width="15" stroke-linecap="round"/>'
        '<circle cx="200" cy="172" r="20" fill="{b}"/>'
    ),
    "laptop": (
        '<rect x="84" y="96" width="232" height="160" rx="10" fill="{a}"/>'
        '<rect x="96" y="108" width="208" height="136" fill="{b}"/>'
        '<path d="M52 262h296l24 56q2 14 -14 14H42q-16 0 -14 -14z" fill="{a}"/>'
        '<path d="M90 274h220l8 22H82z" fill="#00000030"/>'
        '<rect x="160" y="304" width="80" height="16" rx="5" fill="#00000022"/>'
    ),
    "keyboard": (
        '<rect x="40" y="150" width="320" height="140" rx="14" fill="{a}" stroke="#0000001f" stroke-width="3"/>'
        '<rect x="54" y="164" width="20" height="24" rx="4" fill="{b}" fill-opacity="1"/>'
        '<rect x="79" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="104" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="129" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="154" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="179" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="204" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="229" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="254" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="279" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="304" y="164" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="329" y="164" width="20" height="24" rx="4" fill="{b}" fill-opacity="1"/>'
        '<rect x="54" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="79" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="104" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="129" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="154" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="179" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="204" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="229" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="254" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="279" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="304" y="194" width="20" height="24" rx="4" fill="{b}" fill-opacity="1"/>'
        '<rect x="329" y="194" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="54" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="79" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="104" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="129" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="154" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="179" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="204" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="229" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="254" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="279" y="224" width="20" height="24" rx="4" fill="{b}" fill-opacity="1"/>'
        '<rect x="304" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="329" y="224" width="20" height="24" rx="4" fill="#ffffff" fill-opacity=".75"/>'
        '<rect x="130" y="256" width="140" height="22" rx="4" fill="#ffffff" fill-opacity=".75"/>'
    ),
    "mouse": (
        '<rect x="126" y="90" width="148" height="250" rx="74" fill="{a}" stroke="#0000001f" stroke-width="3"/>'
        '<path d="M200 92v100M128 192h144" stroke="{b}" stroke-width="4"/>'
        '<rect x="190" y="126" width="20" height="44" rx="10" fill="{b}"/>'
    ),
    "tablet": (
        '<rect x="96" y="70" width="208" height="280" rx="16" fill="{b}"/>'
        '<rect x="112" y="90" width="176" height="230" fill="{a}"/>'
        '<g stroke="{b}" stroke-width="5">'
        '<path d="M130 120h140M130 146h120M130 172h136M130 198h100M130 224h130M130 250h90"/>'
        "</g>"
        '<path d="M318 90l14 -6 8 220 -10 30 -12 -28z" fill="{b}"/>'
    ),
    "charger": (
        '<rect x="120" y="120" width="160" height="190" rx="26" fill="{a}" stroke="#0000002a" stroke-width="3"/>'
        '<path d="M166 74v48M234 74v48" stroke="#8d96a3" stroke-width="14"/>'
        '<rect x="160" y="200" width="80" height="16" rx="8" fill="#333333"/>'
        '<rect x="160" y="232" width="80" height="16" rx="8" fill="#333333"/>'
        '<rect x="160" y="264" width="80" height="20" rx="3" fill="{b}"/>{t}'
    ),
    "powerbank": (
        '<rect x="120" y="70" width="160" height="280" rx="24" fill="{a}"/>'
        '<rect x="150" y="110" width="100" height="50" rx="8" fill="#0c1218"/>'
        '<path d="M168 124h12v22h-12zM188 124h12v22h-12zM208 124h12v22h-12z" fill="{b}"/>'
        '<circle cx="200" cy="310" r="12" fill="{b}"/>{t}'
    ),
    "solar": (
        '<g stroke="#333333" stroke-width="3">'
        '<path d="M60 120l130 -20v220l-130 20z" fill="{a}"/>'
        '<path d="M200 100l140 20v220l-140 -20z" fill="{a}"/>'
        "</g>"
        '<g stroke="#ffffff44" stroke-width="3">'
        '<path d="M60 176l130 -20M60 230l130 -20M60 286l130 -20M124 112v220M200 156l140 20M200 210l140 20M200 266l140 20M270 110v220"/>'
        "</g>"
        '<circle cx="330" cy="70" r="26" fill="{b}"/>'
    ),
    "thermostat": (
        '<circle cx="200" cy="210" r="134" fill="#c9ced6"/>'
        '<circle cx="200" cy="210" r="112" fill="{a}"/>'
        '<path d="M120 280a112 112 0 0 1 150 -160" fill="none" stroke="{b}" stroke-width="12" stroke-linecap="round"/>'
        '<text x="200" y="236" font-family="Arial, sans-serif" font-size="72" text-anchor="middle" fill="#ffffff">21°</text>'
    ),
    "bulb": (
        '<circle cx="200" cy="170" r="140" fill="{a}" fill-opacity=".5"/>'
        '<path d="M200 80q84 0 84 84q0 44 -40 76v34h-88v-34q-40 -32 -40 -76q0 -84 84 -84z" fill="{a}" stroke="{b}" stroke-width="5"/>'
        '<path d="M158 280h84v16h-84zM162 302h76v16h-76zM176 324h48v14h-48z" fill="{b}"/>'
    ),
    "bullet": (
        '<rect x="70" y="160" width="220" height="100" rx="50" fill="{a}" stroke="#00000026" stroke-width="3"/>'
        '<circle cx="110" cy="210" r="44" fill="{b}"/>'
        '<circle cx="110" cy="210" r="22" fill="#0c1218"/>'
        '<circle cx="102" cy="202" r="7" fill="#ffffff88"/>'
        '<path d="M250 250l40 70h50" fill="none" stroke="{b}" stroke-width="16"/>'
        '<rect x="330" y="280" width="20" height="76" rx="6" fill="{b}"/>'
    ),
}
