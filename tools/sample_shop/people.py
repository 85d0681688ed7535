"""The shop's customers: the file of people in, records and the profile of the release's layout out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tools.sample_shop.catalogue import CHEAP, DEAR, Item

HERE = Path(__file__).resolve().parent
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
REFERENCES = {
    "Low": ("Seldom names products or brands", "Short mentions of the product only"),
    "Medium": (
        "Specific products and brands mentioned in reviews",
        "Specific products, Purchase history",
        "Brands bought before, Recommendations of friends",
    ),
    "High": (
        "Specific products, Purchase history, Recommendations",
        "Frequent references to brands and to earlier purchases",
    ),
}


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A customer. ``group`` says which makers are theirs, ``habit`` how they set their stops."""

    id: str
    gender: str
    age: str
    occupation: str
    group: int
    diversity: str
    interaction: str
    habit: str
    focus: tuple[str, ...]
    tone: str
    starts: tuple[str, ...]
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    pleased: str
    annoyed: str

    @property
    def price_sensitivity(self) -> str:
        """High, Medium or Low, as the paper's profiles have it."""
        return "High" if self.group in CHEAP else "Low" if self.group in DEAR else "Medium"


def read_people(seed: str, path: Path = HERE / "people.txt") -> list[Person]:
    """All customers in the order of the file."""
    people: list[Person] = []
    rng = random.Random(f"{seed}:people")
    blocks: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith(" "):
            blocks[-1].append(line.strip())
        else:
            blocks.append([line])
    for head, *lines in blocks:
        gender, age, occupation, group, diversity, interaction, habit, focus, tone, starts = head.split(" | ")
        marked = {line[0]: line[2:].strip() for line in lines}
        people.append(
            Person(
                id="A" + "".join(rng.choice(LETTERS) for _ in range(13)),
                gender=gender,
                age=age,
                occupation=occupation,
                group=int(group),
                diversity=diversity,
                interaction=interaction,
                habit=habit,
                focus=tuple(focus.split(", ")),
                tone=tone,
                starts=tuple(starts.split()),
                openers=tuple(marked[">"].split(" ; ")),
                closers=tuple(marked["<"].split(" ; ")),
                pleased=marked["+"],
                annoyed=marked["-"],
            )
        )
    return people


def profile(person: Person, bought: Sequence[Item], seed: str) -> dict[str, str]:
    """The eleven dimensions of the paper (figure 11), the interests and brands from what was bought."""
    rng = random.Random(f"{seed}:profile:{person.id}")
    leaves = Counter(item.kind.leaf[0] for item in bought)
    stores = Counter(item.store for item in bought)
    brands = [store for store, _ in stores.most_common(rng.randint(3, 7))]
    return {
        "Gender": person.gender,
        "Age": person.age,
        "Occupation": person.occupation,
        "Price Sensitivity": person.price_sensitivity,
        "Shopping Interest": ", ".join(leaf for leaf, _ in leaves.most_common(rng.randint(3, 4))),
        "Brand Preference": ", ".join(brands),
        "Diversity Preference": person.diversity,
        "Interaction Complexity": person.interaction,
        "Tone and Style": person.tone,
        "Item Reference": rng.choice(REFERENCES[person.interaction]),
        "Focus Aspect": ", ".join(person.focus),
    }
