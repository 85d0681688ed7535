"""AgenticShop's release on disk: a folder in; users with needs and their shops out, or everything that is wrong.

The files ``KEY_user_profile.json`` may lie at any depth up to three below the folder that is given; which of the seven
there are doesn't matter, as long as there is one. A folder ``shops`` beside them makes a mall of its own, which is
served on this machine; without one the users shop on the open web. A file is a list of::

    {"user": "AH7...", "seed_product_type": "Lids" | null, "situation": "...", "budget_range": "..." | null,
     "query_type": "categorical", "user_query": "...",
     "user_context": {DIMENSION: "a paragraph", ...}, "check_list": {DIMENSION: ["an item", ...], ...},
     "target": {"title": "...", "brand": "...", "product_type": "..."}}

``target`` is ours and may be left out, as may all but user, context and checklist, and the query where the scenario is
not open exploration. Fields that are not known are passed over, but for names of dimensions.
"""

from __future__ import annotations

import hashlib
import re
from collections import ChainMap, Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import asdict, astuple, replace

from grounding.data.fields import DatasetProblems, Problem, read_json_list, shorten
from grounding.data.registry import ExpectedCounts, Inspection, departures, differences, locate
from grounding.errors import UserError
from grounding.records import Record

from .records import (
    DIMENSIONS,
    ROWS,
    SCENARIOS,
    ChecklistItem,
    CurationDataset,
    CurationTask,
    Scenario,
    Site,
    Target,
    UserContext,
    files_in,
)
from .scores import words

NAME = "agenticshop"
PREFERRED = "user_profiles"
SHOPS, PICTURES = "shops", "pictures"  # The folders of a mall that its pages are made of.
DEPTH, MAX_FILE_BYTES, MAX_TEXT_CHARS, MAX_ITEMS = 3, 64 << 20, 20_000, 200
"""Far more than the release has: 50 users a file, texts of 1,300 characters, 6 items in a dimension."""


def load_curation(
    dataset: str, data_dir: Path | None = None, *, scenarios: Collection[Scenario] = ()
) -> CurationDataset:
    """A data set by the name or path of its card, or by the layout's name and the folder of its files. Raises
    DatasetProblems with every problem; a UserError where there are no such files, or none of a wanted scenario.
    """
    place = locate(dataset, data_dir)
    if place.layout != NAME:
        raise UserError(f"the data set {place.name!r} holds no users with needs: its layout is {place.layout}")
    found = read_curation(place.folder, name=place.name, scenarios=scenarios)
    departs = () if scenarios else departures(count_curation(found), place.expected)
    return replace(found, departs=departs)


def count_curation(dataset: CurationDataset) -> ExpectedCounts:
    users, tasks = len({task.user for task in dataset.tasks}), len(dataset.tasks)
    groups = {"scenario": dict(Counter[str](task.scenario for task in dataset.tasks))}
    return ExpectedCounts(participants=users, tasks=tasks, instructions=tasks, groups=groups)


def read_curation(folder: Path, *, name: str = NAME, scenarios: Collection[Scenario] = ()) -> CurationDataset:
    """Read the release's layout from a folder; raises as :func:`load_curation`."""
    place, files = _find_profiles(folder)
    missing = [scenario for scenario in SCENARIOS if scenario in scenarios and scenario not in files]
    if missing:
        raise UserError(f"{place}: no users of {', '.join(missing)}; there are those of: {', '.join(files)}")
    problems: list[Problem] = []
    chosen = ((one, path) for one, path in files.items() if not scenarios or one in scenarios)
    tasks = [task for scenario, path in chosen for task in _read_file(path, scenario, problems)]
    if problems:
        raise DatasetProblems(problems)
    sites: tuple[Site, ...] = ()
    if (place / SHOPS).is_dir():
        from .mall.shops import read_shops

        sites = tuple(Site(name=shop.name, home_url=shop.address("/")) for shop in read_shops(place))
    return CurationDataset(
        name=name,
        # Targets are seen by no agent and no judge: with and without the raw file it is the same data.
        fingerprint=curation_fingerprint(tasks, sites, place if sites else None),
        folder=str(place),
        tasks=_with_targets(tasks, place),
        sites=sites,
    )


def _find_profiles(folder: Path) -> tuple[Path, dict[Scenario, Path]]:
    names = [row.file("user_profile") for row in ROWS.values()]
    found = nearest(folder, names)
    if not found:
        raise UserError(f"{folder}: none of {', '.join(names)} in it, or up to {DEPTH} folders deeper; see --data-dir")
    chosen = next((one for one in found if one.name == PREFERRED), found[0])
    if len(found) > 1 and chosen.name != PREFERRED:
        several = ", ".join(sorted(one.name for one in found))
        raise UserError(f"{folder}: users in several folders ({several}); give one of them with --data-dir")
    return chosen, files_in(chosen, "user_profile")


def nearest(folder: Path, names: Iterable[str]) -> list[Path]:
    """The folders that hold something of these names: of those up to ``DEPTH`` below the folder the least deep ones."""
    depths = ("*/" * depth for depth in range(DEPTH + 1))
    found = (sorted({path.parent for name in names for path in folder.glob(depth + name)}) for depth in depths)
    return next(filter(None, found), [])


Text = Annotated[str, Meta(max_length=MAX_TEXT_CHARS)]
Items = Annotated[list[Annotated[str, Meta(max_length=MAX_TEXT_CHARS, pattern=r"\S")]], Meta(max_length=MAX_ITEMS)]
_Context, _Checklist = (
    msgspec.defstruct("_Form", [(name, kind | None, None) for name in DIMENSIONS], forbid_unknown_fields=True)
    for kind in (Text, Items)
)
_Target = msgspec.defstruct("_Target", [(name, Text | None, None) for name in Target.__struct_fields__])


class _Profile(msgspec.Struct):
    user: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}$")]
    user_context: _Context  # type: ignore[valid-type]
    check_list: _Checklist  # type: ignore[valid-type]
    seed_product_type: Text | None = None
    situation: Text | None = None
    budget_range: Text | None = None
    query_type: Text | None = None
    user_query: Text | None = None
    target: _Target | None = None  # type: ignore[valid-type]


def _read_file(path: Path, scenario: Scenario, problems: list[Problem]) -> Iterator[CurationTask]:
    if (size := path.stat().st_size) > MAX_FILE_BYTES:
        fix = "split the data set, or take out what isn't the layout's"
        problems.append(Problem(file=str(path), what=f"has {size:,} bytes; at most {MAX_FILE_BYTES:,}", fix=fix))
        return
    first: dict[str, int] = {}
    for item, values in enumerate(read_json_list(path, problems) or ()):
        try:
            task = _read_user(values, scenario)
            if first.setdefault(task.user, item) != item:
                raise ValueError(f"{task.user} is that of item {first[task.user]} already - at `$.user`")
            yield task
        except ValueError as error:
            what, _, where = str(error).partition(" - at `$.")
            field, fix = where.rstrip("`"), "put it right, or take the user out"
            problems.append(Problem(file=str(path), item=item, what=what, field=field, fix=fix))


def _read_user(values: object, scenario: Scenario) -> CurationTask:
    found = msgspec.convert(values, _Profile)
    query = found.user_query or ""
    if not query.strip() and ROWS[scenario].intent != "open_exploration":
        raise ValueError("Expected what the user says - at `$.user_query`")
    checklist = items_of(asdict(found.check_list))
    if not checklist:
        raise ValueError("Expected items, without which nobody can be scored - at `$.check_list`")
    target = Target() if found.target is None else Target(**_stripped(found.target))
    return CurationTask(
        id=f"{scenario}/{found.user}",
        user=found.user,
        scenario=scenario,
        situation=(found.situation or "").strip(),
        query=query if query.strip() else "",
        query_type=(found.query_type or "").strip(),
        product_type=(found.seed_product_type or "").strip() or None,
        budget=(found.budget_range or "").strip() or None,
        context=UserContext(**_stripped(found.user_context)),
        checklist=checklist,
        target=None if target == Target() else target,
    )


def _stripped(said: msgspec.Struct) -> dict[str, str]:
    return {name: (text or "").strip() for name, text in asdict(said).items()}


def profile_of(task: CurationTask) -> dict[str, Any]:
    """A task as the release writes it, in the order of its fields; with ``target`` where the task has one."""
    profile: dict[str, Any] = {
        "user": task.user,
        "seed_product_type": task.product_type,
        "situation": task.situation,
        "budget_range": task.budget,
        "query_type": task.query_type,
        "user_query": task.query,
        "user_context": asdict(task.context),
        "check_list": checklist_of(task.checklist),
    }
    return profile if task.target is None else profile | {"target": asdict(task.target)}


def checklist_of(items: Iterable[ChecklistItem]) -> dict[str, list[str]]:
    """A checklist as the release writes it: a list of texts for each of the six dimensions, in order of the numbers."""
    ordered = sorted(items, key=lambda one: one.number)
    return {dimension: [one.text for one in ordered if one.dimension == dimension] for dimension in DIMENSIONS}


def items_of(checklist: Mapping[str, Sequence[str] | None]) -> tuple[ChecklistItem, ...]:
    """What :func:`checklist_of` wrote, or somebody else, with None for no items of a dimension."""
    return tuple(
        ChecklistItem(dimension=dimension, number=number, text=text)
        for dimension in DIMENSIONS
        for number, text in enumerate(checklist[dimension] or ())
    )


def _with_targets(tasks: Iterable[CurationTask], folder: Path) -> tuple[CurationTask, ...]:
    """Tasks with the product that their query was made of, where ``user_raw`` in or beside the folder tells it."""

    @cache
    def bought(raw: str) -> dict[str, RawProduct]:
        places = [one / "user_raw" / f"{raw}.json" for one in (folder.parent, folder)]
        users = [one for path in places if path.is_file() for one in read_raw_users(path)]
        return {one.id: one.target.product for one in users if one.target is not None}

    def with_target(task: CurationTask) -> CurationTask:
        row = ROWS[task.scenario]
        wanted = task.target is None and row.intent == "target_finding"
        product = bought(row.raw).get(task.user) if wanted else None
        return task if product is None else replace(task, target=target_of(product, task.product_type))

    return tuple(map(with_target, tasks))


def target_of(product: RawProduct, product_type: str | None) -> Target:
    """A raw product as what a query was made of: its brand is that of the details, else the store."""
    kind = product_type or (product.categories[-1] if product.categories else "")
    brand = details_of(product).get("Brand") or product.store or ""
    return Target(title=product.title, brand=brand, product_type=kind)


def curation_fingerprint(tasks: Sequence[CurationTask], sites: Sequence[Site] = (), folder: Path | None = None) -> str:
    """SHA-256 in hex of tasks and shops; neither the data set's name and place nor the order of the users count."""
    files = []
    for path in () if folder is None else (one for part in (SHOPS, PICTURES) for one in (folder / part).rglob("*")):
        name = path.relative_to(folder or "")
        hidden = any(part.startswith(".") or part == "__pycache__" for part in name.parts)
        if not hidden and not path.is_symlink() and path.is_file():
            files.append({"path": name.as_posix(), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
    files.sort(key=lambda one: one["path"])
    digest = hashlib.sha256(b"grounding-curation-1\n")
    for line in (*sorted(tasks, key=lambda task: task.id), *sites, *files):
        digest.update(msgspec.json.encode(line) + b"\n")
    return digest.hexdigest()


def inspect_curation(dataset: str, data_dir: Path | None = None) -> Inspection:
    """Read a data set whole and say what is wrong or odd; raises a UserError where it or its files are not there."""
    try:
        found = load_curation(dataset, data_dir)
    except DatasetProblems as problems:
        return Inspection(problems=problems.problems)
    expected, counts = locate(dataset, data_dir).expected, count_curation(found)
    odd = differences(counts, replace(expected, groups={}))
    parts = ", ".join(_counts(one, tasks) for one in SCENARIOS if (tasks := _of(found.tasks, one)))
    checklists = {(task.user, task.checklist) for task in found.tasks}
    summary = (
        f"{counts.participants:,} users, {counts.tasks:,} tasks ({parts}), {len(checklists):,} checklists with "
        f"{sum(len(items) for _, items in checklists):,} items; "
        + (f"{len(found.sites)} shops of its own" if found.sites else "the open web")
    )
    return Inspection(warnings=(*_pairing(found.tasks), *odd), summary=summary)


def _of(tasks: Iterable[CurationTask], scenario: Scenario) -> list[CurationTask]:
    return [task for task in tasks if task.scenario == scenario]


def _counts(scenario: Scenario, tasks: Sequence[CurationTask]) -> str:
    """A row of the paper's table 8; who explores has no product in mind."""
    products = {task.product_type for task in tasks if task.product_type}
    sought = f" for {len(products)} products" if products else ""
    return f"{len(tasks)} {scenario}{sought} of {sum(len(one.checklist) for one in tasks) / len(tasks):.1f} items"


def _pairing(tasks: Sequence[CurationTask]) -> Iterator[str]:
    known = {task.id: task for task in tasks}
    for report in check_pairing(tasks):
        if report.doubts:
            found = f"{len(report.doubts)} of {report.queries} queries look like another user's"
            yield f"{report.scenario}: {found}; scores of these users say little"
        for doubt in report.doubts:
            mine, other = known[doubt.task_id], known[doubt.like]
            about, theirs = (shorten(one.product_type or one.situation or one.scenario) for one in (mine, other))
            like = f"the query {shorten(mine.query)} looks like that of {other.user} ({theirs})"
            yield f"{mine.id} ({about}): {like}: fits {doubt.fit:.2f} there, {doubt.own:.2f} here"


class RawProduct(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A product as a review has it, in the order of the file's fields. ``price`` is often the text ``None``."""

    description: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    main_category: str | None = None
    store: str | None = None
    details: str | dict[str, Any] | None = None
    title: str
    average_rating: float | None = None
    features: tuple[str, ...] = ()
    price: float | str | None = None
    rating_number: int | None = None


class RawReview(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a user wrote of a product. ``domain`` is unset where the file is of one domain."""

    user_review_title: str | None = None
    user_rating: float | None = None
    user_review: str | None = None
    product: RawProduct
    domain: str | msgspec.UnsetType = msgspec.UNSET


class RawUser(Record, frozen=True, kw_only=True, rename={"reviews": "review"}):
    """``stats.main_category`` is "" for open users, whose ``target`` (the release's choice) is None."""

    id: str
    stats: dict[str, Any] = msgspec.field(default_factory=dict)
    target: RawReview | None = None
    reviews: tuple[RawReview, ...] = ()


def read_raw_users(path: Path) -> tuple[RawUser, ...]:
    """All users of a file, in its order; a UserError where it can't be read, or is no such file."""
    try:
        users = msgspec.json.decode(path.read_bytes(), type=dict[str, list[dict[str, Any]]])
        # What is said of a user lies in several objects.
        said = [dict(ChainMap({"id": user}, *entries)) for user, entries in users.items()]
        return msgspec.convert(said, tuple[RawUser, ...])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a file of AgenticShop's raw users: {error}") from None


def details_of(product: RawProduct) -> dict[str, Any]:
    """A product's details as names and values; empty where there are none, or they can't be read."""
    details: Any = product.details
    with suppress(msgspec.DecodeError):
        details = msgspec.json.decode(details) if isinstance(details, str) else details
    return details if isinstance(details, dict) else {}


MIN_GAIN, MIN_LOSS = 0.12, 0.03
"""A query that is moved only to make room for another is no doubt: it must itself fit better where it goes.

Both were set on the release: its nine exchanged queries would move with average gains of 0.24 to 0.53, no other one;
queries made of titles of the 50 raw grocery histories, none exchanged, with gains of 0.09 at most.
"""

SHARED_BY = 3
"""A query that so many users share, as all do in open exploration, says nothing of anybody and is not looked at."""


class PairingDoubt(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``like`` is the task whose user it fits, ``fit`` and ``own`` how well, ``gain`` what the exchange brings each."""

    task_id: str
    like: str
    own: float
    fit: float
    gain: float


class PairingReport(Record, frozen=True, kw_only=True):
    """``queries`` is how many were looked at: those that are their users' own."""

    scenario: Scenario
    queries: int = 0
    doubts: tuple[PairingDoubt, ...] = ()


def check_pairing(tasks: Sequence[CurationTask]) -> tuple[PairingReport, ...]:
    """Look for queries that belong to another user, scenario by scenario. Asks no model."""
    return tuple(_check(one, _of(tasks, one)) for one in dict.fromkeys(task.scenario for task in tasks))


def _check(scenario: Scenario, tasks: list[CurationTask]) -> PairingReport:
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    said = [" ".join(task.query.casefold().split()) for task in tasks]
    own = [task for task, query in zip(tasks, said, strict=True) if said.count(query) < SHARED_BY and _asked(query)]
    if len(own) < 2:
        return PairingReport(scenario=scenario)
    fit = _fit(own)
    # Ties between equal sums are broken in favour of the diagonal, by less than any difference that is looked at.
    users, queries = linear_sum_assignment(-fit - np.eye(len(fit)) * 1e-9)
    # Users who exchange queries with each other are a component of the graph of who gets whose.
    _, groups = connected_components(coo_array((np.ones(len(users)), (users, queries))))
    gained = fit[users, queries] - fit.diagonal()
    doubts = []
    for query, user in sorted(zip(queries.tolist(), users.tolist(), strict=True)):
        shares = {"own": fit[query, query], "fit": fit[user, query], "gain": gained[groups == groups[user]].mean()}
        if user != query and shares["gain"] >= MIN_GAIN and shares["fit"] - shares["own"] >= MIN_LOSS:
            rounded = {name: round(float(share), 4) for name, share in shares.items()}
            doubts.append(PairingDoubt(task_id=own[query].id, like=own[user].id, **rounded))
    return PairingReport(scenario=scenario, queries=len(own), doubts=tuple(doubts))


def _fit(tasks: Sequence[CurationTask]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How well the query of column j fits the user of row i, 0 to 1: by its words, which count twice in a user's
    product type or situation, the less the more users and queries have them.
    """
    asked, heads, told = [], [], []
    for task in tasks:
        asked.append(_asked(task.query))
        heads.append(set(words(f"{task.product_type or ''} {task.situation}")))
        texts = (*astuple(task.context), *(item.text for item in task.checklist))
        told.append(heads[-1].union(words(" ".join(texts))))
    every, count = sorted(set().union(*asked)), len(tasks)
    # A row for each task, a column for each word of any query.
    in_query, in_head, in_all = (
        np.array([[word in one for word in every] for one in of]) for of in (asked, heads, told)
    )
    rare = np.log((count + 1) / (in_all.sum(axis=0) + 0.5)) * (1 - (in_query.sum(axis=0) - 1) / count)
    wanted = in_query * rare
    total = 2 * wanted.sum(axis=1, keepdims=True)
    shares = np.divide(wanted, total, out=np.zeros_like(wanted), where=total > 0)
    table: np.ndarray[Any, np.dtype[np.float64]] = (in_all + in_head.astype(int)) @ shares.T
    return table


_ASKING = re.compile(
    r"\b(?:a|about|an|and|any|are|as|at|be|but|buy|by|can|check|checking|for|find|from|get|getting|good|has|have|i|in|into|"
    r"is|it|looking|my|need|new|nice|of|on|or|out|purchase|searching|shopping|so|some|that|the|thinking|this|to|up|want|"
    r"wants|with)\b"
)  # What one says to ask for a thing, whatever it is.


def _asked(query: str) -> set[str]:
    return set(words(_ASKING.sub(" ", query.casefold())))
