"""What somebody says of a purchase: a person, a purchase and what was bought before in, title, text and points out."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache

import msgspec

from tools.sample_shop.grammar import say, start_lower, start_upper
from tools.sample_shop.histories import Purchase
from tools.sample_shop.people import Person
from tools.sample_shop.voices import fits, join, styled, words_for

NTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
GOOD_BAD = {5: (3, 0), 4: (2, 1), 3: (1, 1), 2: (1, 2), 1: (0, 2)}
"""How many good and bad points a review of medium length makes, by stars."""

_WORD = re.compile(r"[a-z]{4,}")
_SAID_OF_ANYTHING = (
    "about actual after alone already another anymore arrives back bought come comes does doesn down each enough even "
    "ever every finally first from good hardly have into just keep keeps last less like little long look made make "
    "more most much never nice nothing once only over perfect really right same single some still than that "
    "their them then they thing this time took turn under until used very wants week weeks well were what when which "
    "while whole with without work works year your"
)
_COMMON = {word[:5] for word in _SAID_OF_ANYTHING.split()}
_MATTERS = {
    "heat": ("warm", "heat", "cool", "cold"),
    "neck": ("collar", "neck"),
    "shine": ("shiny", "shine", "plating", "tarnish", "tarnished", "gold", "bright"),
    "feel": (
        "soft",
        "softness",
        "scratchy",
        "itchy",
        "itch",
        "itches",
        "buttery",
        "pilled",
        "pilling",
        "bobbled",
        "fluffy",
    ),
    "size": ("small", "tiny", "slim", "compact", "length", "short", "shorter", "smaller", "size", "huge"),
    "sound": ("quiet", "silent", "noise", "louder", "sound", "bass", "tinny", "muddy", "buzzes", "buzzing"),
    "taste": ("taste", "tastes", "aftertaste", "flavour", "bland", "bitter", "sweet", "sweetness", "burnt", "smooth"),
    "age": ("fresh", "stale", "rancid", "roast"),
    "battery": ("charge", "charges", "battery", "charging"),
    "strength": ("strong", "weak", "weaker", "strength", "paler"),
    "wear": ("holes", "hole", "wear", "threads", "thread", "solid", "outlive", "tough", "frayed", "fraying"),
    "hold": (
        "steady",
        "solid",
        "wobbles",
        "wobble",
        "slides",
        "slide",
        "snug",
        "stay",
        "stays",
        "slip",
        "slips",
        "fall",
        "roll",
    ),
    "link": ("pair", "pairs", "pairing", "connection", "drops", "disconnects", "switch", "switches", "switching"),
    "balance": ("balance", "unbalanced", "comfortable", "slippery"),
    "edge": ("sharp", "blunt", "dulled"),
    "dry": ("absorbent", "absorb", "soak", "water"),
    "clean": ("stain", "stained", "stains", "staining", "streaks", "marks"),
}


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A review, and in a few words each the points that it makes."""

    title: str
    text: str
    good: tuple[str, ...]
    bad: tuple[str, ...]


class Reviewer:
    """Writes one person's reviews, oldest first, without making the same point of a kind twice in a row."""

    def __init__(self, person: Person, phrases: dict[str, tuple[str, ...]], seed: str) -> None:
        self._person = person
        self._phrases = phrases
        self._seed = seed
        self._used: list[str] = []

    def write(self, purchase: Purchase, earlier: Sequence[Purchase]) -> Said:
        """The review of a purchase, after the ``earlier`` ones."""
        rng = random.Random(f"{self._seed}:review:{self._person.id}:{purchase.item.asin}")
        person, item, stars = self._person, purchase.item, int(purchase.rating)
        words = words_for(item, rng)
        good_count, bad_count = GOOD_BAD[stars]
        if person.interaction == "Low":
            good_count, bad_count = min(good_count, 1 + (rng.random() < 0.3)), min(bad_count, 1)
        elif person.interaction == "High" and stars >= 3:
            good_count += 1
        good = rng.sample(item.kind.good, good_count)
        complaints = item.kind.quibbles if stars >= 4 else item.kind.quibbles + item.kind.faults
        open_to_doubt = [one for one in complaints if not any(_same_matter(one, other) for other in good)]
        bad = rng.sample(open_to_doubt, min(bad_count, len(open_to_doubt)))
        text = join(self._sentences(purchase, earlier, good, bad, words, rng))
        title = self._title(stars, good, bad, words, rng)
        return Said(
            title=styled(title, person, rng),
            text=styled(text, person, rng),
            good=tuple(gist for _, gist in good),
            bad=tuple(gist for _, gist in bad),
        )

    def _sentences(
        self,
        purchase: Purchase,
        earlier: Sequence[Purchase],
        good: Sequence[tuple[str, str]],
        bad: Sequence[tuple[str, str]],
        words: dict[str, str],
        rng: random.Random,
    ) -> list[str]:
        person, item, stars = self._person, purchase.item, int(purchase.rating)
        level = person.interaction
        opener = [rng.choice(person.openers)] if rng.random() < (0.55 if level == "Low" else 0.75) else []
        verdict = [self._fresh(f"verdict {stars}", words, rng)]
        because = [self._fresh("because", words, rng)] if rng.random() < _odds(level, 0.0, 0.35, 0.85) else []
        used = [self._fresh("used", words, rng)] if rng.random() < _odds(level, 0.0, 0.25, 0.6) else []
        points = self._points(good, bad, stars, words, rng)
        more = self._more(purchase, earlier, words, rng)
        life = []
        line = person.pleased if stars >= 4 else person.annoyed if stars <= 2 else ""
        if line and fits(line, item) and rng.random() < _odds(level, 0.15, 0.3, 0.4):
            life = [line]
        closer = [rng.choice(person.closers)] if rng.random() < _odds(level, 0.3, 0.5, 0.75) and stars != 2 else []
        core = [*verdict, *points] if rng.random() < 0.65 or not points else [points[0], *verdict, *points[1:]]
        return [*opener, *because, *used, *core, *more, *life, *closer]

    def _points(
        self,
        good: Sequence[tuple[str, str]],
        bad: Sequence[tuple[str, str]],
        stars: int,
        words: dict[str, str],
        rng: random.Random,
    ) -> list[str]:
        pros = [say(text, rng, words) for text, _ in good]
        cons = [say(text, rng, words) for text, _ in bad]
        if len(pros) > 1 and rng.random() < 0.45:
            pros[-1] = say(rng.choice(self._phrases["also good"]), rng, {"point": start_lower(pros[-1])})
        if pros and cons and stars >= 3 and rng.random() < 0.7:
            cons[0] = say(rng.choice(self._phrases["but"]), rng, {"point": start_lower(cons[0])})
        if pros and stars < 3:
            pros[0] = say(rng.choice(self._phrases["at least"]), rng, {"point": start_lower(pros[0])})
        return [*pros, *cons] if stars >= 3 else [*cons, *pros]

    def _more(
        self, purchase: Purchase, earlier: Sequence[Purchase], words: dict[str, str], rng: random.Random
    ) -> list[str]:
        person, item, stars = self._person, purchase.item, int(purchase.rating)
        found = []
        same = sum(one.item.store == item.store for one in earlier)
        if 1 <= same < len(NTH) and rng.random() < _odds(person.interaction, 0.05, 0.25, 0.5):
            block = "brand again" if stars >= 3 else "brand again bad"
            found.append(self._fresh(block, {**words, "nth": NTH[same]}, rng))
        if purchase.before is not None and stars >= 4 and rng.random() < _odds(person.interaction, 0.0, 0.2, 0.4):
            found.append(self._fresh("goes with", {**words, "before": purchase.before.kind.nouns[0]}, rng))
        if stars >= 4 and person.price_sensitivity != "Medium" and rng.random() < 0.25:
            found.append(self._fresh(f"value {person.price_sensitivity}", words, rng))
        return found

    def _title(
        self,
        stars: int,
        good: Sequence[tuple[str, str]],
        bad: Sequence[tuple[str, str]],
        words: dict[str, str],
        rng: random.Random,
    ) -> str:
        gists = [gist.removeprefix("the ") for _, gist in (good if stars >= 4 else bad) if gist.startswith("the ")]
        choices = [one for one in self._phrases[f"title {stars}"] if gists or "$gist" not in one]
        return start_upper(say(rng.choice(choices), rng, {**words, "gist": gists[0] if gists else ""}))

    def _fresh(self, block: str, words: dict[str, str], rng: random.Random) -> str:
        """A phrase of the block that this person has not used in the last reviews, where there is one."""
        choices = self._phrases[block]
        unused = [one for one in choices if one not in self._used[-24:]] or list(choices)
        chosen = rng.choice(unused)
        self._used.append(chosen)
        return say(chosen, rng, words)


def _same_matter(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two points are about the same thing, so that a review that makes both would contradict itself."""
    return bool(_matters(one) & _matters(other))


@cache
def _matters(point: tuple[str, str]) -> frozenset[str]:
    words = {word[:5] for word in _WORD.findall(" ".join(point).lower())} - _COMMON
    return frozenset(words) | {
        group for group, members in _MATTERS.items() if words & {member[:5] for member in members}
    }


def _odds(level: str, low: float, medium: float, high: float) -> float:
    return {"Low": low, "Medium": medium, "High": high}[level]
