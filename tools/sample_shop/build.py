"""Makes the bundled shop: invents products, people, purchases, reviews and instructions, and trains the recommender.

``python -m tools.sample_shop.build``, from the root of the repository, writes datasets/sample-shop. It needs torch for
the recommender, and no network. The same sources give the same JSON to the byte; ``--skip-checkpoint`` leaves the
recommender as it is.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from tools.sample_shop import recommender
from tools.sample_shop.catalogue import HERE, Item, make_items, read_kinds, read_makers
from tools.sample_shop.describe import write_readme, write_versions
from tools.sample_shop.grammar import read_phrases
from tools.sample_shop.histories import LAST_MS, Purchase, buy, lengths
from tools.sample_shop.instructions import Asker
from tools.sample_shop.people import Person, profile, read_people
from tools.sample_shop.reviews import Reviewer, Said

ROOT = Path(__file__).resolve().parents[2]
SEED = "sample-shop-1"
PARTS = 2
TYPES = ("search", "recommend", "review")
SAME_WORDS = {
    "search": "I need something good, you know my taste.",
    "recommend": "What would you recommend for me?",
    "review": "Write a review for me, please.",
}  # Instructions that several people give in the same words: ids have to keep them apart.


class Shop:
    """Everything that is invented, before it is written."""

    def __init__(self, seed: str = SEED) -> None:
        self.seed = seed
        self.kinds = read_kinds()
        self.phrases = read_phrases(HERE / "phrases.txt")
        self.items = make_items(self.kinds, read_makers(), seed)
        self.people = read_people(seed)
        counts = lengths(self.people, seed)
        self.bought: dict[str, list[Purchase]] = {}
        self.said: dict[tuple[str, str], Said] = {}
        for person in self.people:
            purchases = buy(person, counts[person.id], self.kinds, self.items, seed)
            reviewer = Reviewer(person, self.phrases, seed)
            for place, purchase in enumerate(purchases):
                self.said[person.id, purchase.item.asin] = reviewer.write(purchase, purchases[:place])
            self.bought[person.id] = purchases
        self.askers = {person.id: Asker(person, self.phrases, seed) for person in self.people}

    def products(self) -> dict[str, dict[str, Any]]:
        """All products in an order of no meaning, as the release's."""
        shuffled = random.Random(f"{self.seed}:order").sample(self.items, len(self.items))
        return {item.asin: item.info for item in shuffled}

    def histories(self) -> dict[str, list[dict[str, Any]]]:
        """The histories of all people; the one who has bought nothing is not in them."""
        return {
            person.id: [
                {"product_info": one.item.info, "review": self._review(person, one), "split": one.split}
                for one in self.bought[person.id]
            ]
            for person in self.people
            if self.bought[person.id]
        }

    def profiles(self) -> dict[str, dict[str, dict[str, str]]]:
        """The profiles of all people; interests and brands of the one without purchases are guessed from the makers."""
        found = {}
        for person in self.people:
            items = [one.item for one in self.bought[person.id]] or self._liked(person)
            found[person.id] = {"user_profile": profile(person, items, self.seed)}
        return found

    def instructions(self) -> dict[str, list[dict[str, Any]]]:
        """The instructions by split, in an order of no meaning."""
        found: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
        turn = 0
        for person in self.people:
            asked = [one for one in self.bought[person.id] if one.split != "history"]
            for one in asked or [self._first(person)]:
                split = "test" if one.split == "test" else "train"
                # Two of the three types for each purchase, in turn, so that each type has its third.
                for _ in range(2 if asked else 3):
                    found[split].append(self._instruction(person, one, TYPES[turn % 3]))
                    turn += 1
        for split, instructions in found.items():
            random.Random(f"{self.seed}:order:{split}").shuffle(instructions)
            _repeat_words(instructions)
        return found

    def _instruction(self, person: Person, purchase: Purchase, kind: str) -> dict[str, Any]:
        asker = self.askers[person.id]
        review = self._review(person, purchase)
        match kind:
            case "search":
                text = asker.search(purchase)
            case "recommend":
                text = asker.recommend(purchase)
            case _:
                text = asker.review(purchase, self.said[person.id, purchase.item.asin])
        return {
            "user_id": person.id,
            "task": text,
            "type": kind,
            "timestamp": purchase.timestamp_ms,
            "target": {"product_info": purchase.item.info, "review": review},
        }

    def _review(self, person: Person, purchase: Purchase) -> dict[str, Any]:
        said = self.said[person.id, purchase.item.asin]
        return {
            "rating": purchase.rating,
            "title": said.title,
            "text": said.text,
            "parent_asin": purchase.item.asin,
            "timestamp": purchase.timestamp_ms,
        }

    def _liked(self, person: Person) -> list[Item]:
        return [one for one in self.items if one.kind.name in person.starts and one.group == person.group]

    def _first(self, person: Person) -> Purchase:
        """What somebody whose past is too short to be cut asks about: a purchase that is in no history."""
        earlier = self.bought[person.id]
        owned = {one.item.asin for one in earlier}
        item = next(one for one in self._liked(person) if one.asin not in owned)
        purchase = Purchase(item=item, timestamp_ms=LAST_MS + 86_400_000, rating=5.0, split="test")
        self.said[person.id, item.asin] = Reviewer(person, self.phrases, self.seed).write(purchase, earlier)
        return purchase


def _repeat_words(instructions: list[dict[str, Any]]) -> None:
    """Put the same words into every twenty-fifth instruction of a type, and twice those of one person."""
    for kind, words in SAME_WORDS.items():
        of_kind = [one for one in instructions if one["type"] == kind]
        for one in of_kind[::25]:
            one["task"] = words
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for one in instructions:
        first = seen.setdefault((one["user_id"], one["type"]), one)
        if first is not one and one["type"] == "recommend":
            one["task"] = first["task"]
            return


def numbered(shop: Shop) -> dict[str, int]:
    """Numbers for the products that are bought in a history; the others are cold and can't be recommended."""
    warm = {one.item.asin for bought in shop.bought.values() for one in bought if one.split == "history"}
    return {asin: number for number, asin in enumerate((asin for asin in shop.products() if asin in warm), start=1)}


def sequences(shop: Shop, numbers: dict[str, int], splits: tuple[str, ...]) -> dict[str, list[int]]:
    """The numbers of what each has bought in these splits, oldest first."""
    return {
        user: [numbers[one.item.asin] for one in bought if one.split in splits and one.item.asin in numbers]
        for user, bought in shop.bought.items()
    }


def write_json(path: Path, content: object) -> None:
    """One line of compact JSON."""
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def write_parts(out: Path, stem: str, content: dict[str, Any]) -> None:
    """The entries of an object in parts, in their order."""
    keys = list(content)
    size = -(-len(keys) // PARTS)
    for part in range(PARTS):
        kept = keys[part * size : (part + 1) * size]
        write_json(out / f"{stem}_part_{part + 1}.json", {key: content[key] for key in kept})


def build(out: Path, *, checkpoint: bool = True) -> Shop:
    """Write everything into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    shop = Shop()
    write_parts(out, "all_products", shop.products())
    write_parts(out, "user_history", shop.histories())
    write_json(out / "user_profiles.json", shop.profiles())
    write_json(out / "user_instructions.json", shop.instructions())
    numbers = numbered(shop)
    write_json(out / "sample_ids.json", numbers)
    if checkpoint:
        history = sequences(shop, numbers, ("history",))
        recommender.train(list(history.values()), max(numbers.values()), out / "sasrec.pth")
        write_versions(out)
    if (out / "sasrec.pth").is_file():
        later = sequences(shop, numbers, ("train", "test"))
        ranked = recommender.evaluate(out / "sasrec.pth", sequences(shop, numbers, ("history",)), later)
        write_readme(out, ranked)
    return shop


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "datasets" / "sample-shop")
    parser.add_argument("--skip-checkpoint", action="store_true")
    given = parser.parse_args()
    build(given.out, checkpoint=not given.skip_checkpoint)


if __name__ == "__main__":
    main()
