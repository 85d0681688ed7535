"""From files of raw users to subjects: who is written about, from which reviews, and which item the query is made of.

The item is drawn from the user's history, as the paper says (section 3.3.4), by a hash of seed, domain and user, so
that a user's draw hangs on nobody else. Every review of that item is kept out of what the context is written from. The
release instead takes the item that its file names, and writes from the first reviews, with that item among them:
``official`` does the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.agenticshop.construction.records import Domain, Subject
from grounding.webagents.agenticshop.records import Scenario
from grounding.webagents.agenticshop.scenarios import ROWS
from grounding.webagents.rawusers import RawReview, RawUser, read_raw_users

OPEN_FILE = "open_curation"
REVIEWS = 10
"""So many reviews a context is written from; all of them in open exploration (protocol D2)."""

MIN_REVIEWS = 2
"""One for the query and one for the context."""


class Skipped(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A user who can't be written about, and why."""

    domain: str
    user: str
    why: str


class Subjects(Record, frozen=True, kw_only=True):
    """Who is written about, in the order of the files, and who is not."""

    subjects: tuple[Subject, ...]
    skipped: tuple[Skipped, ...] = ()


def domains() -> tuple[Domain, ...]:
    """Every file of the release, and what is made of it."""
    names: dict[str, list[Scenario]] = {}
    for row in ROWS:
        name = OPEN_FILE if row.scenario == "casual_browsing" else row.category
        names.setdefault(name, []).append(row.scenario)
    return tuple(Domain(name=name, scenarios=tuple(scenarios)) for name, scenarios in names.items())


def find_files(raw: Path, scenarios: Collection[Scenario] = ()) -> tuple[tuple[Domain, Path], ...]:
    """The files of a folder (or a single file) that scenarios can be made of.

    Raises:
        UserError: there is none.
    """
    known = {domain.name: domain for domain in domains()}
    paths = [raw] if raw.is_file() else sorted(raw.glob("*.json")) if raw.is_dir() else []
    found = [(known[path.stem], path) for path in paths if path.stem in known]
    wanted = [(domain, path) for domain, path in found if not scenarios or set(scenarios) & set(domain.scenarios)]
    if not wanted:
        of_them = f" that {', '.join(sorted(scenarios))} can be made of" if scenarios else ""
        raise UserError(
            f"--raw {raw}: no file of raw users{of_them}; expected one of {', '.join(f'{name}.json' for name in known)}"
        )
    order = list(known)
    return tuple(sorted(wanted, key=lambda one: order.index(one[0].name)))


def subjects_of(
    files: Sequence[tuple[Domain, Path]], *, seed: int, users: int | None, reviews: int, official: bool
) -> Subjects:
    """Everybody who is written about.

    Args:
        files: What to read.
        seed: Of the draw.
        users: Only so many of each file, the first ones, as the release takes them; None for all.
        reviews: So many a context is written from.
        official: As the release does it.

    Raises:
        UserError: a file is damaged, or nobody can be written about.
    """
    subjects: list[Subject] = []
    skipped: list[Skipped] = []
    for domain, path in files:
        for user in read_raw_users(path)[:users]:
            made = _open(domain, user) if domain.is_open else _closed(domain, user, seed, reviews, official)
            if isinstance(made, Subject):
                subjects.append(made)
            else:
                skipped.append(Skipped(domain=domain.name, user=user.id, why=made))
    if not subjects:
        why = f" ({skipped[0].why})" if skipped else ""
        raise UserError(f"{files[0][1]}: nobody in it can be written about{why}")
    return Subjects(subjects=tuple(subjects), skipped=tuple(skipped))


def _open(domain: Domain, user: RawUser) -> Subject | str:
    if not user.reviews:
        return "no reviews"
    return Subject(domain=domain.name, user=user.id, product_type="", history=user.reviews)


def _closed(domain: Domain, user: RawUser, seed: int, reviews: int, official: bool) -> Subject | str:
    if not user.main_category:
        return "no product type (stats.main_category)"
    if official:
        if user.target is None:
            return "no target"
        drawn, history = user.target, user.reviews
    else:
        if len({product_name(review) for review in user.reviews}) < MIN_REVIEWS:
            return f"reviews of fewer than {MIN_REVIEWS} products"
        drawn = draw(user.reviews, f"{seed}/{domain.name}/{user.id}")
        history = tuple(review for review in user.reviews if product_name(review) != product_name(drawn))
    return Subject(
        domain=domain.name,
        user=user.id,
        product_type=user.main_category,
        history=history[:reviews],
        seed=drawn,
        kept_out=len(user.reviews) - len(history),
    )


def draw(reviews: Sequence[RawReview], chance: str) -> RawReview:
    """One of the products reviewed, each as likely as any other, by a hash of a text."""
    first = {product_name(review): review for review in reversed(reviews)}
    return min(first.values(), key=lambda one: hashlib.sha256(f"{chance}/{product_name(one)}".encode()).digest())


def product_name(review: RawReview) -> str:
    """What tells products apart here, where they have no ids: the title, without regard to case and blanks."""
    return " ".join(review.product.title.casefold().split())


def seeds_in_history(subjects: Sequence[Subject]) -> int:
    """How many subjects have the item of their query among the reviews that their context is written from."""
    return sum(
        subject.seed is not None and product_name(subject.seed) in {product_name(one) for one in subject.history}
        for subject in subjects
    )
