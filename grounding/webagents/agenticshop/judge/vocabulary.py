"""Closed lists of plain words: colours, materials, sizes, units. Within such a list one word excludes another.

A page that says "blue" does not say "black"; a page that says "midnight" says neither, and no rule decides it.
"""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


COLOURS: dict[str, frozenset[str]] = {
    "black": frozenset({"black"}),
    "white": frozenset({"white"}),
    "grey": frozenset({"grey"}),
    "red": frozenset({"red"}),
    "blue": frozenset({"blue", "navy"}),
    "green": frozenset({"green", "olive"}),
    "yellow": frozenset({"yellow"}),
    "orange": frozenset({"orange"}),
    "brown": frozenset({"brown"}),
    "pink": frozenset({"pink"}),
    "purple": frozenset({"purple", "violet"}),
    "beige": frozenset({"beige"}),
    "gold": frozenset({"gold"}),
    "silver": frozenset({"silver"}),
    "turquoise": frozenset({"turquoise"}),
}
"""Colours by their plain name, each with the words that say so."""

MATERIALS: dict[str, frozenset[str]] = {
    "wood": frozenset(
        {
            "wood",
            "wooden",
            "oak",
            "pine",
            "beech",
            "walnut",
            "birch",
            "maple",
            "ash",
            "acacia",
            "teak",
            "cherry",
            "mahogany",
        }
    ),
    "metal": frozenset({"metal", "steel", "iron", "aluminium", "brass", "copper", "tin", "zinc", "titanium", "bronze"}),
    "plastic": frozenset(
        {"plastic", "polypropylene", "polyethylene", "polycarbonate", "pvc", "abs", "acrylic", "tritan"}
    ),
    "glass": frozenset({"glass", "borosilicate"}),
    "ceramic": frozenset({"ceramic", "porcelain", "stoneware", "earthenware"}),
    "cotton": frozenset({"cotton", "denim"}),
    "wool": frozenset({"wool", "merino", "cashmere"}),
    "linen": frozenset({"linen", "flax"}),
    "polyester": frozenset({"polyester"}),
    "nylon": frozenset({"nylon", "polyamide"}),
    "leather": frozenset({"leather", "suede"}),
    "silk": frozenset({"silk"}),
    "rubber": frozenset({"rubber"}),
    "silicone": frozenset({"silicone"}),
    "cork": frozenset({"cork"}),
    "bamboo": frozenset({"bamboo"}),
    "paper": frozenset({"paper", "cardboard"}),
    "stone": frozenset({"stone", "marble", "granite", "slate"}),
}
"""Materials by the name of their kind, each with words for it and for what is of that kind."""

SYNTHETIC = frozenset({"plastic", "rubber", "silicone", "nylon", "polyester"})
"""Kinds of material of which one may be called the other."""

EXCLUSIVE = (
    frozenset({"plain", "striped", "checked", "floral", "dotted", "printed"}),
    frozenset({"loose", "regular", "slim", "tight"}),
    frozenset({"mini", "midi", "maxi"}),
)
"""Other words of which one excludes another: patterns, fits, lengths."""

SIZES = word_set("xxs xs s m l xl xxl xxxl 2xl 3xl 4xl small medium large")

QUALIFIERS = word_set(
    "not no non faux fake imitation artificial look looking effect style like free without substitute replica "
    "simulated "
    "inspired vegan never nor"
)
"""Words beside a value that may turn it round: faux leather is no leather, and sugar free has no sugar."""

UNITS: dict[str, tuple[str, float]] = {
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "in": ("length", 0.0254),
    "inch": ("length", 0.0254),
    "inches": ("length", 0.0254),
    '"': ("length", 0.0254),
    "ft": ("length", 0.3048),
    "feet": ("length", 0.3048),
    "g": ("mass", 0.001),
    "grams": ("mass", 0.001),
    "gram": ("mass", 0.001),
    "kg": ("mass", 1.0),
    "oz": ("mass", 0.028349523125),
    "ounces": ("mass", 0.028349523125),
    "lb": ("mass", 0.45359237),
    "lbs": ("mass", 0.45359237),
    "pounds": ("mass", 0.45359237),
    "ml": ("volume", 0.001),
    "l": ("volume", 1.0),
    "litre": ("volume", 1.0),
    "litres": ("volume", 1.0),
    "liter": ("volume", 1.0),
    "liters": ("volume", 1.0),
    "%": ("share", 1.0),
    "w": ("power", 1.0),
    "watt": ("power", 1.0),
    "watts": ("power", 1.0),
    "kw": ("power", 1000.0),
    "v": ("voltage", 1.0),
    "volts": ("voltage", 1.0),
    "mah": ("charge", 1.0),
    "ah": ("charge", 1000.0),
    "wh": ("energy", 1.0),
    "mb": ("data", 0.001),
    "gb": ("data", 1.0),
    "tb": ("data", 1000.0),
    "hz": ("frequency", 1.0),
    "min": ("time", 1 / 60),
    "minutes": ("time", 1 / 60),
    "h": ("time", 1.0),
    "hours": ("time", 1.0),
    "hour": ("time", 1.0),
    "°": ("angle", 1.0),
    "degrees": ("angle", 1.0),
    "lm": ("light", 1.0),
    "lumens": ("light", 1.0),
    "dpi": ("density", 1.0),
}
"""Units as they are written, what they measure and how much of that measure's first unit one of them is."""

PIECES = word_set("piece pieces pcs pc count ct pack packs item items unit units bags bag")

_SPELLINGS = {
    "gray": "grey",
    "aluminum": "aluminium",
    "color": "colour",
    "colors": "colour",
    "colours": "colour",
    "flavor": "flavour",
    "liter": "litre",
    "liters": "litres",
    "pyjamas": "pajamas",
}
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_DOTTED = re.compile(r"\b(?:[a-z]\.){2,}", re.IGNORECASE)


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text in lower case and one spelling, without signs and articles.

    >>> tokens("Dishwasher-safe, 1.5 L (IP65)")
    ('dishwasher', 'safe', '1.5', 'l', 'ip65')
    """
    text = text.replace("\u00d7", "x")
    text = _DOTTED.sub(lambda found: found[0].replace(".", ""), text)
    words = _WORD.findall(
        text.lower().replace("'s", "s").replace("\u2019s", "s").replace("n't", " not").replace("n\u2019t", " not")
    )
    return tuple(_SPELLINGS.get(word, word) for word in words if word != "the")


def places(words: tuple[str, ...], sought: tuple[str, ...]) -> tuple[int, ...]:
    """Where a run of words begins in others."""
    length = len(sought)
    if not length:
        return ()
    return tuple(at for at in range(len(words) - length + 1) if words[at : at + length] == sought)


def kinds(words: tuple[str, ...], table: dict[str, frozenset[str]]) -> frozenset[str]:
    """The colours or materials that words name."""
    return frozenset(name for name, said in table.items() if said & set(words))
