"""The shop's range: kinds of things and makers in, products in the release's layout out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tools.sample_shop.grammar import say

HERE = Path(__file__).resolve().parent
GROUPS = 8
CHEAP, DEAR = (0, 1, 2), (6, 7)
LETTERS = "0123456789BCDFGHJKLMNPQRSTVWXYZ"
PRICE_OF_GROUP = (0.05, 0.1, 0.2, 0.35, 0.45, 0.55, 0.8, 1.0)
"""Where in a kind's range of prices each group's maker stands."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of thing that all makers of its category sell.

    ``weight_g`` is None where the size says it. ``next`` are the kinds that are often bought after it. ``good``,
    ``quibbles`` and ``faults`` are what may be said of one: a sentence, and the same in a few words.
    """

    name: str
    category: str
    nouns: tuple[str, ...]
    article: str
    leaf: tuple[str, ...]
    title: str
    price_usd: tuple[int, int]
    weight_g: tuple[int, int] | None
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    next: tuple[str, ...]
    is_plural: bool
    themes: tuple[str, ...]
    needs: tuple[str, ...]
    features: tuple[str, ...]
    about: tuple[str, ...]
    good: tuple[tuple[str, str], ...]
    quibbles: tuple[tuple[str, str], ...]
    faults: tuple[tuple[str, str], ...]

    @property
    def is_eaten_up(self) -> bool:
        """Whether it is used up, so that the same maker is worth two varieties."""
        grocery = self.category.startswith("Grocery")
        return grocery or self.name in ("multivitamin", "magnesium", "floss", "handsoap", "laundry", "bathsalts")


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A product: what the release's files say of it (``info``), and what it was made from. ``quality`` is 1 to 5."""

    kind: Kind
    group: int
    quality: float
    choices: dict[str, str]
    info: dict[str, Any]

    @property
    def asin(self) -> str:
        """Its id."""
        return str(self.info["parent_asin"])

    @property
    def store(self) -> str:
        """Its maker."""
        return str(self.info["store"])


def read_kinds(folder: Path = HERE / "kinds") -> dict[str, Kind]:
    """All kinds by name, in the order of the files.

    Raises:
        ValueError: a line can't be understood, or a kind follows one that is not there.
    """
    kinds: dict[str, Kind] = {}
    for path in sorted(folder.glob("*.txt")):
        category, *blocks = path.read_text(encoding="utf-8").split("\n== ")
        for block in blocks:
            kind = _read_kind(block, category.strip().removeprefix("category: "), path)
            kinds[kind.name] = kind
    for kind in kinds.values():
        if lost := set(kind.next) - set(kinds):
            raise ValueError(f"{kind.name}: next names {', '.join(sorted(lost))}, which is no kind")
    return kinds


def _read_kind(block: str, category: str, path: Path) -> Kind:
    name, *lines = block.strip().splitlines()
    fields: dict[str, str] = {"plural": "no"}
    axes: list[tuple[str, tuple[str, ...]]] = []
    marked: dict[str, list[str]] = {mark: [] for mark in "~?*>+-!"}
    for line in lines:
        if line[:2].strip() in marked and line[1:2] == " ":
            marked[line[0]].append(line[2:].strip())
        elif line.startswith("axis "):
            axis, _, values = line.removeprefix("axis ").partition(": ")
            axes.append((axis, tuple(value.strip() for value in values.split(";"))))
        elif ": " in line:
            field, _, value = line.partition(": ")
            fields[field] = value.strip()
        else:
            raise ValueError(f"{path}: {name}: can't understand {line!r}")
    return Kind(
        name=name,
        category=category,
        nouns=tuple(noun.strip() for noun in fields["noun"].split(";")),
        article=fields["a"],
        leaf=tuple(part.strip() for part in fields["leaf"].split(">")),
        title=fields["title"],
        price_usd=_range(fields["price"]),
        weight_g=_range(fields["weight"]) if "weight" in fields else None,
        axes=tuple(axes),
        next=tuple(fields["next"].split()),
        is_plural=fields["plural"] == "yes",
        themes=tuple(marked["~"]),
        needs=tuple(marked["?"]),
        features=tuple(marked["*"]),
        about=tuple(marked[">"]),
        good=tuple(_point(line) for line in marked["+"]),
        quibbles=tuple(_point(line) for line in marked["-"]),
        faults=tuple(_point(line) for line in marked["!"]),
    )


def _range(text: str) -> tuple[int, int]:
    low, high = text.split("-")
    return int(low), int(high)


def _point(line: str) -> tuple[str, str]:
    said, _, gist = line.partition(" :: ")
    return said.strip(), gist.strip()


def read_makers(path: Path = HERE / "brands.txt") -> dict[str, tuple[str, ...]]:
    """The makers of each category in the order of the groups; the models' names under ``lines``."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            category, _, names = line.partition(": ")
            found[category] = tuple(name.strip() for name in names.split(";"))
    return found


def make_items(kinds: dict[str, Kind], makers: dict[str, tuple[str, ...]], seed: str) -> list[Item]:
    """One product of each kind by each of its category's makers; of what is eaten up, two makers have a second."""
    items: list[Item] = []
    taken: set[str] = set()
    for place, kind in enumerate(kinds.values()):
        rng = random.Random(f"{seed}:kind:{kind.name}")
        twice = {(place * 3) % GROUPS, (place * 3 + 4) % GROUPS} if kind.is_eaten_up else set()
        orders = {axis: rng.sample(values, len(values)) for axis, values in kind.axes}
        lines = rng.sample(makers["lines"], GROUPS)
        for group in range(GROUPS):
            for variety in range(2 if group in twice else 1):
                chosen = {axis: order[(group + 5 * variety) % len(order)] for axis, order in orders.items()}
                items.append(
                    _item(kind, makers[kind.category][group], lines[group], group, chosen, _new_asin(rng, taken), rng)
                )
    return items


def _new_asin(rng: random.Random, taken: set[str]) -> str:
    while (asin := "S0" + "".join(rng.choice(LETTERS) for _ in range(8))) in taken:
        pass
    taken.add(asin)
    return asin


def _item(kind: Kind, maker: str, line: str, group: int, chosen: dict[str, str], asin: str, rng: random.Random) -> Item:
    quality = round(min(4.8, max(2.9, rng.gauss(4.05 + 0.06 * group, 0.35))), 1)
    low, high = kind.price_usd
    price = low + (high - low) * min(1.0, max(0.0, PRICE_OF_GROUP[group] + rng.uniform(-0.08, 0.08)))
    details = {"Brand": maker, **chosen}
    if kind.weight_g is not None:
        details["Item Weight"] = f"{rng.randint(*kind.weight_g)} Grams"
    info: dict[str, Any] = {
        "main_category": kind.category,
        "title": f"{maker} {line} {kind.title}, {', '.join(chosen.values())}",
        "average_rating": quality,
        "rating_number": int(rng.lognormvariate(5.6, 1.2)) + 4,
        "features": [say(text, rng) for text in _some(kind.features, 3, rng)],
        "description": [say(text, rng) for text in _some(kind.about, rng.choice((0, 1, 1, 1, 2)), rng)],
        "price": None if rng.random() < 0.06 else int(price) + rng.choice((0.99, 0.49, 0.95)),
        "store": maker,
        "categories": [kind.category, *kind.leaf],
        "details": details,
        "parent_asin": asin,
    }
    return Item(kind=kind, group=group, quality=quality, choices=chosen, info=info)


def _some(texts: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """So many of the texts, in their order."""
    kept = sorted(rng.sample(range(len(texts)), min(count, len(texts))))
    return [texts[place] for place in kept]
