"""Packs of food and helpers. ``{a}`` and ``{b}`` stand for the colours, ``{t}`` for the label."""

SHAPES = {
    "tin": (
        '<rect x="120" y="110" width="160" height="240" rx="10" fill="{a}"/>'
        '<rect x="112" y="82" width="176" height="44" rx="8" fill="{b}"/>'
        '<rect x="120" y="180" width="160" height="100" fill="{b}"/>{t}'
        '<rect x="136" y="126" width="14" height="224" fill="#ffffff30"/>'
    ),
    "box": (
        '<path d="M110 120h150v230H110z" fill="{a}"/>'
        '<path d="M260 120l40 -26v230l-40 26z" fill="{a}" fill-opacity=".75"/>'
        '<path d="M110 120l40 -26h150l-40 26z" fill="{b}"/><rect x="122" y="170" width="126" height="90" rx="6" fill="{b}"/>'
        '{t}<circle cx="185" cy="306" r="20" fill="{b}"/>'
    ),
    "bag": (
        '<path d="M118 100h164l14 250H104z" fill="{a}"/><path d="M118 100h164l-6 -26H124z" fill="{b}"/>'
        '<rect x="124" y="170" width="152" height="110" rx="40" fill="{b}"/>{t}'
    ),
    "bottle": (
        '<path d="M178 60h44v70q38 20 38 70v150H140V200q0 -50 38 -70z" fill="{a}"/>'
        '<rect x="174" y="46" width="52" height="30" rx="5" fill="{b}"/>'
        '<rect x="140" y="220" width="120" height="90" fill="{b}"/>{t}'
        '<path d="M154 200q4 -40 28 -56v70h-28z" fill="#ffffff26"/>'
    ),
    "bar": (
        "".join(
            f'<rect x="{118 + 56 * column}" y="{70 + 46 * row}" width="52" height="42" rx="4" fill="{{a}}"/>'
            for row in range(2)
            for column in range(3)
        )
        + '<rect x="106" y="150" width="188" height="200" rx="6" fill="{b}"/>'
        '<rect x="106" y="200" width="188" height="84" fill="{a}"/>{t}'
    ),
    "jar": (
        '<rect x="120" y="120" width="160" height="230" rx="26" fill="{a}"/>'
        '<rect x="132" y="84" width="136" height="40" rx="6" fill="{b}"/>'
        '<rect x="130" y="190" width="140" height="90" rx="4" fill="#fffdf5"/>{t}'
        '<rect x="124" y="140" width="8" height="190" rx="4" fill="#ffffff50"/>'
    ),
    "teapot": (
        '<path d="M285 200q70 -20 50 60q-12 50 -62 46" fill="none" stroke="{b}" stroke-width="16"/>'
        '<path d="M110 220l-66 -50 22 -12 70 40z" fill="{a}"/><ellipse cx="200" cy="260" rx="104" ry="88" fill="{a}"/>'
        '<ellipse cx="200" cy="284" rx="86" ry="56" fill="{b}" fill-opacity=".55"/>'
        '<ellipse cx="200" cy="176" rx="56" ry="14" fill="{b}"/><circle cx="200" cy="156" r="14" fill="{b}"/>'
    ),
    "grinder": (
        '<rect x="150" y="130" width="100" height="220" rx="14" fill="{a}"/><rect x="146" y="210" width="108" height="60" fill="{b}"/>'
        '<path d="M200 130v-40h90" fill="none" stroke="{a}" stroke-width="12"/><circle cx="296" cy="82" r="20" fill="{b}"/>{t}'
    ),
    "tote": (
        '<path d="M150 150q0 -90 50 -90t50 90" fill="none" stroke="{b}" stroke-width="12"/>'
        '<path d="M100 140h200l-10 212H110z" fill="{a}"/><circle cx="200" cy="240" r="56" fill="{b}"/>{t}'
    ),
}
