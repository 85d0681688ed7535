"""Pairs of products that one user rated differently, told by query, history, context or checklist.

For each user one product of the lowest and one of the highest rating is drawn; then a chat model is asked by each
description of the user which of the two the user rated higher (paper, section 4.1.1 and table 2), in both orders of
presentation.
"""

import hashlib
import html
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from grounding.benchmarks.asking import AskedFigures, Asking, Rounds, StoredAnswer, ask_and_figure
from grounding.benchmarks.calls import Wording, fill, read_wording
from grounding.console import wide_console
from grounding.errors import UserError
from grounding.records import Failure, Record
from grounding.report.html.content import SummaryTable
from grounding.report.table import drawn, print_named
from grounding.scoring.intervals import Interval, drawn_interval, resampled_sums

from .agreement import in_paper, told
from .loader import RawProduct, RawReview, RawUser, details_of, read_curation, read_raw_users
from .records import DIMENSIONS, ROWS, CurationTask
from .rows import NOTHING

Representation = Literal["query", "history", "context", "checklist"]
"""What stands for the user, in the order of the paper's table 2."""

Side = Literal["lower", "higher"]
RAW_FILES = {row.domain: f"{row.raw}.json" for row in ROWS.values()}  # Of raw users, by the paper's domains.
AVERAGE = "average"
MOST_REVIEWS, MOST_REVIEW_CHARS, MOST_FIELD_CHARS = 20, 300, 1_500
_NUMBER = re.compile(r"(?<![\w.])([12])(?![\w]|\.\d)")


class PairQuestion(Record, frozen=True, kw_only=True):
    """One question: which of two products fits a description of the user better? ``order`` is which is shown first."""

    domain: str
    user: str
    representation: Representation
    variant: int
    text: str
    lower: RawReview
    higher: RawReview
    order: Side

    @property
    def id(self) -> str:
        return f"{self.domain}/{self.user}/{self.representation}.{self.variant}/{self.order}-first"


class Choice(StoredAnswer, frozen=True, kw_only=True):
    chosen: Side | None = None


def read_histories(raw: Path) -> dict[str, dict[str, RawUser]]:
    """Raw users by the paper's domain and their id; a UserError where there is no file, or one is damaged."""
    files = {domain: raw / name for domain, name in RAW_FILES.items() if (raw / name).is_file()}
    if not files:
        raise UserError(f"--raw {raw}: none of {', '.join(RAW_FILES.values())} in it; give the folder of raw users")
    return {domain: {user.id: user for user in read_raw_users(path)} for domain, path in files.items()}


def make_comparisons(
    tasks: Sequence[CurationTask], histories: Mapping[str, Mapping[str, RawUser]], *, seed: int = 0
) -> tuple[tuple[PairQuestion, ...], Counter[str]]:
    """A pair for each user by each description, in both orders; and how many users there is none of, by why."""
    of_user: dict[tuple[str, str], list[CurationTask]] = {}
    for task in tasks:
        of_user.setdefault((ROWS[task.scenario].domain, task.user), []).append(task)
    found: list[PairQuestion] = []
    left = Counter[str]()
    for (domain, user), mine in of_user.items():
        history = histories.get(domain, {}).get(user)
        if history is None:
            left["without reviews in --raw"] += 1
            continue
        target = "" if history.target is None else history.target.product.title
        rated = [one for one in history.reviews if one.user_rating is not None and one.product.title != target]
        first = list({one.product.title: one for one in reversed(rated)}.values())[::-1]
        ratings = [one.user_rating or 0.0 for one in first]
        if len(set(ratings)) < 2:
            left["with fewer than two products" if len(ratings) < 2 else "who rated everything alike"] += 1
            continue
        digest = hashlib.sha256(f"alignment/{seed}/{domain}/{user}".encode()).digest()
        chance = random.Random(int.from_bytes(digest[:8], "big"))
        ends = (min(ratings), max(ratings))
        lower, higher = (chance.choice([one for one in first if one.user_rating == end]) for end in ends)
        pair: dict[str, Any] = {"domain": domain, "user": user, "lower": lower, "higher": higher}
        for kind, texts in _described(mine, history, (lower, higher)).items():
            for variant, text in enumerate(dict.fromkeys(filter(None, texts))):
                asked = PairQuestion(representation=kind, variant=variant, text=text, order="lower", **pair)
                found += [asked, msgspec.structs.replace(asked, order="higher")]
    return tuple(found), left


def _described(
    tasks: Sequence[CurationTask], user: RawUser, pair: Sequence[RawReview]
) -> dict[Representation, list[str]]:
    hidden = {one.product.title for one in pair}
    history = [
        fill(
            alignment_prompts().review,
            rating="?" if review.user_rating is None else f"{review.user_rating:g}",
            title=_plain(review.product.title, MOST_REVIEW_CHARS),
            text=_plain(f"{review.user_review_title or ''}. {review.user_review or ''}", MOST_REVIEW_CHARS),
        )
        for review in [one for one in user.reviews if one.product.title not in hidden][:MOST_REVIEWS]
    ]
    contexts = [{name.replace("_", " "): getattr(task.context, name) for name in DIMENSIONS} for task in tasks]
    return {
        "query": [task.query for task in tasks],
        "history": ["\n".join(history)],
        "context": ["\n".join(f"{name}: {text}" for name, text in one.items() if text) for one in contexts],
        "checklist": ["\n".join(f"- {item.text}" for item in task.checklist) for task in tasks],
    }


class AlignmentPrompts(Wording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    question: str
    what: dict[Representation, str]
    review: str
    product: str


@cache
def alignment_prompts() -> AlignmentPrompts:
    return read_wording("agenticshop", "alignment", AlignmentPrompts)


def _product_text(one: RawProduct) -> str:
    """What is known of a product: never the user's rating or review, nor other people's ratings."""
    said = {
        "title": one.title,
        "store": one.store or "unknown",
        "price": "unknown" if one.price in (None, "None", "") else str(one.price),
        "categories": " > ".join(one.categories),
        "features": "; ".join(one.features),
        "description": " ".join(one.description),
        "details": "; ".join(f"{name}: {value}" for name, value in details_of(one).items()),
    }
    return fill(alignment_prompts().product, **{name: _plain(text) for name, text in said.items()})


def question_text(comparison: PairQuestion) -> str:
    """A comparison as a chat model is asked; nothing in a text can be taken for the end of its fence."""
    prompts = alignment_prompts()
    products = [_product_text(one.product) for one in (comparison.lower, comparison.higher)]
    first, second = products if comparison.order == "lower" else products[::-1]
    texts = {"shopper": comparison.text, "first": first, "second": second}
    fenced = {name: re.sub(r"={3,}", "==", text) for name, text in texts.items()}
    return fill(prompts.question, what=prompts.what[comparison.representation], **fenced)


def _plain(text: str, most: int = MOST_FIELD_CHARS) -> str:
    return " ".join(html.unescape(re.sub(r"<[^<>]{0,80}>", " ", text)).split())[:most]


def read_choice(comparison: PairQuestion, text: str) -> dict[str, Any] | Failure:
    """Which product a reply names by 1 or 2, the only number of its kind in it."""
    named = set(_NUMBER.findall(text))
    if len(named) != 1:
        return Failure(kind="unparsed", message="expected 1 or 2 and nothing else")
    other = "higher" if comparison.order == "lower" else "lower"
    return {"chosen": comparison.order if named == {"1"} else other}


class AlignmentFigure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``unparsed`` counts replies, which are wrong. A user is worth the mean over the user's answers."""

    representation: Representation
    domain: str
    accuracy: float | None
    interval: Interval | None
    users: int
    unparsed: int


def alignment_figures(
    comparisons: Sequence[PairQuestion], choices: Mapping[str, Choice], *, seed: int = 0
) -> tuple[AlignmentFigure, ...]:
    """A cell for every representation and domain that there are comparisons of, and the averages over domains."""
    said: dict[tuple[str, str], dict[str, list[Choice]]] = {}
    for one in comparisons:
        choice = choices.get(one.id)
        if choice is not None and (choice.failure is None or choice.failure.kind == "unparsed"):
            said.setdefault((one.representation, one.domain), {}).setdefault(one.user, []).append(choice)
    domains = list(dict.fromkeys(one.domain for one in comparisons))
    groups = [*((one, [one]) for one in domains), (AVERAGE, domains)]
    figures = []
    for kind, (name, names) in product(get_args(Representation), groups):
        cells = [list(of_domain.values()) for one in names if (of_domain := said.get((kind, one)))]
        worth = [np.array([np.mean([one.chosen == "higher" for one in of_user]) for of_user in cell]) for cell in cells]
        # The mean over domains of means over users, who are drawn within each domain.
        draws = [resampled_sums(one[:, np.newaxis], seed + n)[:, 0] / len(one) for n, one in enumerate(worth)]
        users = sum(map(len, worth))
        figure = AlignmentFigure(
            representation=kind,
            domain=name,
            accuracy=float(np.mean([one.mean() for one in worth])) if users else None,
            interval=drawn_interval(np.mean(draws, axis=0), users, most=1.0) if users else None,
            users=users,
            unparsed=sum(one.failure is not None for cell in cells for of_user in cell for one in of_user),
        )
        figures.append(figure)
    return tuple(figures)


class Alignment(AskedFigures, frozen=True, kw_only=True, omit_defaults=False):
    left: dict[str, int]
    figures: tuple[AlignmentFigure, ...]


def align(raw: Path, profiles: Path, asking: Asking, *, out: Path, seed: int = 0) -> tuple[Alignment, Rounds]:
    """Draw pairs, have them compared, and work the figures out. Raises UserError; what was answered is kept."""
    dataset = read_curation(profiles)
    comparisons, left = make_comparisons(dataset.tasks, read_histories(raw), seed=seed)
    if not comparisons:
        raise UserError(f"--raw {raw}: no pair: {', '.join(f'{count} users {why}' for why, count in left.items())}")
    about: dict[str, Any] = {"dataset": str(profiles), "fingerprint": dataset.fingerprint, "seed": seed, "left": left}
    return ask_and_figure(
        asking,
        comparisons,
        out=out,
        names=("alignment.json", "choices.jsonl"),
        unit="comparisons",
        kept=Choice,
        question=question_text,
        read=read_choice,
        figures=partial(alignment_figures, comparisons, seed=seed),
        made=partial(Alignment, prompts=alignment_prompts().label, **about),
    )


def print_alignment(found: Alignment, answers: Rounds) -> None:
    cells = {(one.representation, one.domain): one for one in found.figures}
    domains = [name for name in (*RAW_FILES, AVERAGE) if ("query", name) in cells]
    kinds = get_args(Representation)
    shown = [(kind, [cells[kind, name] for name in domains]) for kind in kinds]
    rows = [(kind, *(told(cell.accuracy, cell.interval) for cell in row)) for kind, row in shown]
    # Table 2 has the descriptions in their order.
    for kind, printed in zip(kinds, in_paper("2", 2).values(), strict=True):
        rows.append((f"paper: {kind}", *(printed.get(name.lower(), NOTHING) for name in domains)))
    title = f"prefers the product that its user rated higher · by {found.by}"
    console = wide_console(120)
    console.print(drawn(SummaryTable(title=title, heads=("told by", *domains), rows=tuple(rows))))
    users = " · ".join(f"{name} {cells['query', name].users}" for name in domains[:-1])
    lines = [("users", f"{users}, the paper's are 50 a domain; chance is 0.50 (seed {found.seed})")]
    lines += [("left out", f"{count} users {why}") for why, count in found.left.items()]
    leak = "the release wrote context and checklist from a user's first reviews, of which the pair may be"
    print_named(console, [*lines, ("leak", leak), *(("", line) for line in answers.below_figures)])
