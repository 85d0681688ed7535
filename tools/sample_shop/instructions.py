"""What somebody asks of the shop: a person and a purchase in, one of the three types of instruction out.

As in the paper (figures 12 to 14): a search is vague and never names the product, a recommendation leaves more open,
and a request for a review says the feelings in other words. Length and manner follow the profile.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tools.sample_shop.catalogue import Item
from tools.sample_shop.grammar import say
from tools.sample_shop.histories import Purchase
from tools.sample_shop.people import Person
from tools.sample_shop.reviews import Said
from tools.sample_shop.voices import join, styled, words_for

HINTS = {"Low": (0, 1), "Medium": (1, 2), "High": (2, 3)}
"""How many hints a search gives besides what is needed, at least and at most."""


class Asker:
    """Words one person's instructions."""

    def __init__(self, person: Person, phrases: dict[str, tuple[str, ...]], seed: str) -> None:
        self._person = person
        self._phrases = phrases
        self._seed = seed

    def search(self, purchase: Purchase) -> str:
        """A search for the purchase, without its name."""
        rng = self._rng("search", purchase)
        words = words_for(purchase.item, rng)
        short = self._person.interaction == "Low" and rng.random() < 0.6
        ask = self._one("ask search short" if short else "ask search", words, rng)
        low, high = HINTS[self._person.interaction]
        hints = self._hints(purchase.item, rng.randint(low, high), words, rng)
        story = []
        if purchase.before is not None and rng.random() < self._odds(0.0, 0.15, 0.45):
            before = {
                "before": purchase.before.kind.nouns[0],
                "beforea": purchase.before.kind.article,
                "beforestore": purchase.before.store,
            }
            story = [self._one("story search", {**words, **before}, rng)]
        return self._told([*story, ask, *hints] if rng.random() < 0.6 else [ask, *story, *hints], rng)

    def recommend(self, purchase: Purchase) -> str:
        """A request for ideas around what the purchase is for."""
        rng = self._rng("recommend", purchase)
        words = words_for(purchase.item, rng)
        short = self._person.interaction == "Low" and rng.random() < 0.6
        ask = self._one("ask recommend short" if short else "ask recommend", words, rng)
        openness = []
        if rng.random() < self._odds(0.25, 0.55, 0.85):
            openness = [self._one(f"open {self._person.diversity}", words, rng)]
        focus = []
        if rng.random() < self._odds(0.1, 0.35, 0.6):
            focus = self._focus(words, rng, without=("Material", "Size", "Weight", "Store", "Brand"))
        return self._told([ask, *openness, *focus[:1]], rng)

    def review(self, purchase: Purchase, said: Said) -> str:
        """A request to write the review, with what was felt in other words."""
        rng = self._rng("review", purchase)
        words = words_for(purchase.item, rng)
        level, stars = self._person.interaction, int(purchase.rating)
        short = level == "Low" and rng.random() < 0.5
        ask = self._one("ask review short" if short else "ask review", words, rng)
        feel = [self._one(f"feel {stars}", words, rng)]
        good, bad = list(said.good), list(said.bad)
        if level == "Low":
            good, bad = good[:1], bad[:1]
        points = []
        if good:
            points.append(self._one("mention", {**words, "good": _listed(good)}, rng))
        if bad:
            about = all(not gist.startswith("that ") for gist in bad) and rng.random() < 0.5
            block = "complain about" if about else "complain" if good else "mention"
            points.append(self._one(block, {**words, "bad": _listed(bad), "good": _listed(bad)}, rng))
        style = [self._one(f"style {level}", words, rng)] if rng.random() < 0.5 else []
        if rng.random() < self._odds(0.1, 0.25, 0.4):
            tone = self._person.tone.lower().replace(", ", " and ", 1).split(",")[0]
            style.append(self._one("sound", {**words, "tone": tone}, rng))
        return self._told([ask, *feel, *points, *style], rng)

    def _hints(self, item: Item, count: int, words: dict[str, str], rng: random.Random) -> list[str]:
        own = [
            self._one(f"hint {axis}", {**words, "value": _plain_value(axis, value)}, rng)
            for axis, value in item.choices.items()
        ]
        found = [*own[: 1 + (rng.random() < 0.3)], *self._focus(words, rng, without=tuple(item.choices))]
        rng.shuffle(found)
        if rng.random() < 0.2 and self._person.price_sensitivity != "Medium":
            found.insert(
                0, self._one("hint cheap" if self._person.price_sensitivity == "High" else "hint dear", words, rng)
            )
        return found[:count]

    def _focus(self, words: dict[str, str], rng: random.Random, *, without: Sequence[str]) -> list[str]:
        aspects = [aspect for aspect in self._person.focus if aspect not in ("Material", "Size", *without)]
        if "Price" in aspects and self._person.price_sensitivity == "Low":
            aspects.remove("Price")
        return [self._one(f"hint {aspect}", words, rng) for aspect in rng.sample(aspects, len(aspects))]

    def _told(self, sentences: Sequence[str], rng: random.Random) -> str:
        level = self._person.interaction
        greet = [self._one("greet", {}, rng)] if rng.random() < self._odds(0.03, 0.25, 0.45) else []
        thanks = [self._one("thanks", {}, rng)] if rng.random() < self._odds(0.05, 0.25, 0.4) else []
        opener = [rng.choice(self._person.openers)] if not greet and rng.random() < 0.12 and level != "Low" else []
        return styled(join([*greet, *opener, *sentences, *thanks]), self._person, rng)

    def _one(self, block: str, words: dict[str, str], rng: random.Random) -> str:
        return say(rng.choice(self._phrases[block]), rng, words)

    def _odds(self, low: float, medium: float, high: float) -> float:
        return {"Low": low, "Medium": medium, "High": high}[self._person.interaction]

    def _rng(self, what: str, purchase: Purchase) -> random.Random:
        return random.Random(f"{self._seed}:{what}:{self._person.id}:{purchase.item.asin}")


def _listed(parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _plain_value(axis: str, value: str) -> str:
    return value.lower() if axis in ("Color", "Flavor", "Scent", "Roast", "Material", "Feature", "Style") else value
