"""Things to wear. ``{a}`` and ``{b}`` stand for the colours, ``{t}`` for the label."""

SHAPES = {
    "dress": (
        '<path d="M150 70q50 30 100 0l26 40 -24 30 -6 50q50 90 74 150q-120 30 -240 0q24 -60 74 -150l-6 -50 -24 -30z" fill="{a}"/>'
        '<path d="M152 190h96" stroke="{b}" stroke-width="12"/>'
        '<path d="M170 210l-26 130M200 214v138M230 210l26 130" stroke="{b}" stroke-opacity=".5" stroke-width="4"/>'
    ),
    "sweater": (
        '<path d="M150 90q50 24 100 0l50 30 46 170 -44 14 -30 -100v144H128V204l-30 100 -44 -14 46 -170z" fill="{a}"/>'
        '<path d="M128 330h144v18H128zM150 90q50 24 100 0l-4 -12q-46 20 -92 0z" fill="{b}"/>'
        '<g stroke="{b}" stroke-opacity=".45" stroke-width="4">'
        '<path d="M160 130v190M200 134v186M240 130v190"/>'
        "</g>"
    ),
    "shirt": (
        '<path d="M150 80l50 30 50 -30 56 36 34 120 -42 16 -28 -70v166H130V182l-28 70 -42 -16 34 -120z" fill="{a}"/>'
        '<path d="M150 80l50 30 50 -30 -14 -10h-72zM200 110v238" stroke="{b}" stroke-width="5" fill="{b}" fill-opacity=".35"/>'
        '<g fill="{b}">'
        '<circle cx="212" cy="160" r="5"/>'
        '<circle cx="212" cy="210" r="5"/>'
        '<circle cx="212" cy="260" r="5"/>'
        '<circle cx="212" cy="310" r="5"/>'
        "</g>"
    ),
    "tshirt": (
        '<path d="M150 90q50 34 100 0l70 40 -28 66 -30 -14v166H138V182l-30 14 -28 -66z" fill="{a}" stroke="#00000014" stroke-width="3"/>'
        '<path d="M138 210h124v14H138zM138 246h124v14H138zM138 282h124v14H138z" fill="{b}"/>'
    ),
    "trousers": (
        '<path d="M136 70h128l24 278h-70l-18 -180 -18 180h-70z" fill="{a}"/>'
        '<path d="M136 70h128l2 24H134z" fill="{b}"/>'
        '<path d="M200 96v60M150 104l-8 34M250 104l8 34" stroke="{b}" stroke-width="5" fill="none"/>'
    ),
    "skirt": (
        '<path d="M146 90h108l60 240q-114 30 -228 0z" fill="{a}"/>'
        '<path d="M146 90h108l5 22H141z" fill="{b}"/>'
        '<g stroke="{b}" stroke-width="4">'
        '<path d="M160 114l-44 224M180 114l-22 232M200 114v234M220 114l22 232M240 114l44 224"/>'
        "</g>"
    ),
    "jacket": (
        '<path d="M150 84l50 20 50 -20 56 30 34 190 -42 8 -30 -120v150H132V192l-30 120 -42 -8 34 -190z" fill="{a}"/>'
        '<path d="M146 80q54 34 108 0l10 30q-64 36 -128 0z" fill="{b}"/>'
        '<path d="M200 116v226" stroke="{b}" stroke-width="7"/>'
        '<path d="M146 250h40v44h-40zM214 250h40v44h-40z" fill="{b}" fill-opacity=".6"/>'
    ),
    "coat": (
        '<path d="M150 60l50 20 50 -20 50 30 34 190 -40 8 -30 -120v188H136V168l-30 120 -40 -8 34 -190z" fill="{a}"/>'
        '<path d="M150 60l50 90 50 -90 -18 -6h-64z" fill="{b}"/>'
        '<path d="M200 150v204" stroke="{b}" stroke-width="6"/>'
        '<circle cx="216" cy="190" r="6" fill="{b}"/>'
        '<circle cx="216" cy="240" r="6" fill="{b}"/>'
    ),
    "vest": (
        '<path d="M150 84l50 20 50 -20 30 30 -14 60v168H134V174l-14 -60z" fill="{a}"/>'
        '<g stroke="{b}" stroke-width="6">'
        '<path d="M134 190h132M134 230h132M134 270h132M134 310h132M200 106v236"/>'
        "</g>"
    ),
    "sneaker": (
        '<path d="M60 250q10 -70 40 -100l70 20q30 70 130 80q44 6 44 50z" fill="{a}" stroke="#0000001a" stroke-width="3"/>'
        '<path d="M56 270h290q6 40 -16 40H70q-16 0 -14 -40z" fill="{b}"/>'
        '<g stroke="{b}" stroke-width="7">'
        '<path d="M150 190l40 -20M170 214l40 -20M194 234l38 -20"/>'
        "</g>"
        '<path d="M60 250q10 -70 40 -100l30 8q-20 50 -22 98z" fill="{b}" fill-opacity=".6"/>'
    ),
    "scarf": (
        '<path d="M90 90h220v220H90z" fill="{a}" transform="rotate(8 200 200)"/>'
        '<g transform="rotate(8 200 200)" fill="none" stroke="{b}" stroke-width="9">'
        '<path d="M100 160q50 -40 100 0t100 0M100 210q50 -40 100 0t100 0M100 260q50 -40 100 0t100 0"/>'
        '<rect x="90" y="90" width="220" height="220"/>'
        "</g>"
    ),
    "beanie": (
        '<path d="M100 270q-6 -160 100 -160t100 160z" fill="{a}"/>'
        '<rect x="90" y="256" width="220" height="70" rx="18" fill="{b}"/>'
        '<g stroke="{b}" stroke-opacity=".6" stroke-width="5">'
        '<path d="M140 140v116M170 118v138M200 112v144M230 118v138M260 140v116"/>'
        "</g>"
        '<g stroke="{a}" stroke-width="5">'
        '<path d="M120 262v58M150 262v58M180 262v58M210 262v58M240 262v58M270 262v58"/>'
        "</g>"
    ),
    "belt": (
        '<path d="M60 190q140 -60 280 0v50q-140 -60 -280 0z" fill="{a}"/>'
        '<path d="M60 190q140 -60 280 0M60 240q140 -60 280 0" fill="none" stroke="#00000033" stroke-width="3" stroke-dasharray="8 6"/>'
        '<rect x="166" y="140" width="76" height="90" rx="12" fill="none" stroke="{b}" stroke-width="14"/>'
        '<path d="M204 186h60" stroke="{b}" stroke-width="10"/>'
    ),
    "backpack": (
        '<path d="M160 90q0 -34 40 -34t40 34" fill="none" stroke="{a}" stroke-width="12"/>'
        '<rect x="106" y="84" width="188" height="266" rx="60" fill="{a}"/>'
        '<rect x="130" y="220" width="140" height="100" rx="18" fill="#00000026"/>'
        '<path d="M110 180h180" stroke="#00000033" stroke-width="6"/>'
        '<rect x="188" y="206" width="24" height="40" rx="5" fill="{b}"/>'
    ),
}
