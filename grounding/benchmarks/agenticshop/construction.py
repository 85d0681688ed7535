"""Users made of raw purchase histories, as the paper makes them (section 3.3), in the release's files.

A chat model writes for each user a context from the reviews, then situation, budget and four queries for one bought
item, then a checklist from context, situation and budget. That item is drawn from the history by a hash of seed, domain
and user, so that a draw hangs on nobody else, and every review of it is kept out of what the context is written from
(the release leaves it in).

The folder holds, beside the files of users: ``made-with.json`` (what they were made of and with, and what the check of
the queries found) and ``replies.jsonl`` (every reply), from which the same command goes on.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from grounding import __version__
from grounding.benchmarks import asking
from grounding.benchmarks.calls import Wording, fill, json_values, read_wording
from grounding.errors import UserError
from grounding.llm.budget import Budget, dollars
from grounding.records import Failure, Record

from .loader import RawReview, check_pairing, items_of, profile_of, read_raw_users, target_of
from .records import DIMENSIONS, ROWS, ChecklistItem, CurationTask, Scenario, UserContext
from .release import write_lists

OPEN_FILE = "open_curation"
REVIEWS = 10  # So many reviews a context is written from; all of them in open exploration.
MADE_WITH, REPLIES = "made-with.json", "replies.jsonl"


class Subject(Record, frozen=True, kw_only=True):
    """``seed`` is the review of the item that the query is made of: None in open exploration, ``product_type`` ""."""

    domain: str
    user: str
    product_type: str = ""
    history: tuple[RawReview, ...]
    seed: RawReview | None = None

    @property
    def id(self) -> str:
        return f"{self.domain}/{self.user}"


def subjects_of(
    raw: Path, scenarios: Collection[Scenario] = (), *, seed: int = 0, users: int | None = None
) -> tuple[tuple[Path, ...], tuple[Subject, ...], dict[str, str]]:
    """The files that are read, who of the first ``users`` of each is written about, and why others are not."""
    there = {path.stem: path for path in ([raw] if raw.is_file() else raw.glob("*.json"))}
    wanted = dict.fromkeys(row.raw for row in ROWS.values() if not scenarios or row.scenario in scenarios)
    files = {name: there[name] for name in wanted if name in there}
    if not files:
        names = ", ".join(f"{name}.json" for name in wanted)
        raise UserError(f"--raw {raw}: no file of raw users; expected one of {names}")
    subjects: list[Subject] = []
    skipped: dict[str, str] = {}
    for domain, user in ((name, user) for name, path in files.items() for user in read_raw_users(path)[:users]):
        products = {product_name(review): review for review in reversed(user.reviews)}
        if domain == OPEN_FILE and products:
            subjects.append(Subject(domain=domain, user=user.id, history=user.reviews))
        elif domain != OPEN_FILE and user.stats.get("main_category") and len(products) > 1:
            chance = f"{seed}/{domain}/{user.id}"
            drawn = min(products, key=lambda name: hashlib.sha256(f"{chance}/{name}".encode()).digest())
            history = tuple(one for one in user.reviews if product_name(one) != drawn)[:REVIEWS]
            about = {"domain": domain, "user": user.id, "product_type": str(user.stats["main_category"])}
            subjects.append(Subject(**about, history=history, seed=products[drawn]))
        else:
            typed = domain == OPEN_FILE or user.stats.get("main_category")
            skipped[f"{domain}/{user.id}"] = "reviews of fewer than 2 products" if typed else "no product type"
    if not subjects:
        raise UserError(f"--raw {raw}: nobody in it can be written about: {', '.join(set(skipped.values()))}")
    return tuple(files.values()), tuple(subjects), skipped


def product_name(review: RawReview) -> str:
    """What tells products apart here, where they have no ids: the title, without regard to case and blanks."""
    return " ".join(review.product.title.casefold().split())


class ConstructionPrompts(Wording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The release's wording; texts named ``…_system`` stand before the text of the same name."""

    context_system: str
    context: str
    open_context: str
    query_system: str
    query: str
    checklist_system: str
    checklist: str
    open_situation: str
    open_query: str


class Need(Record, frozen=True, kw_only=True):
    """Why a user shops, for how much, and the words for it in four degrees of specificity; "" in open exploration."""

    situation: str
    budget: str = ""
    explicit_title: str = ""
    attribute_specific: str = ""
    brand_categorical: str = ""
    categorical: str = ""


def questions_of(
    subjects: Sequence[Subject], prompts: ConstructionPrompts, part: str, known: asking.Known
) -> list[asking.Question]:
    """What is asked for a part of those whose earlier parts are ``known``; for a checklist the query is not told."""
    found = []
    for one in subjects:
        context, need = known["context"].get(one.id, Made()).context, known["need"].get(one.id, Made()).need
        told = "" if context is None else str(msgspec.structs.asdict(context))
        if part == "context":
            template = prompts.open_context if one.seed is None else prompts.context
            prompt = fill(template, purchase_history=str([_as_filed(review) for review in one.history]))
            system = prompts.context_system
        elif part == "need" and context and one.seed is not None:
            prompt = fill(prompts.query, user_context=told, seed_product_information=str(_as_filed(one.seed)))
            system = prompts.query_system
        elif part == "checklist" and context and need:
            words = {"user_situation": need.situation, "user_budget": need.budget or "None"}
            prompt, system = fill(prompts.checklist, user_context=told, **words), prompts.checklist_system
        else:
            continue
        asked: dict[str, Any] = {"id": f"{part}/{one.id}", "part": part, "subject": one.id}
        found.append(asking.Question(**asked, system=system, prompt=prompt, read=partial(read_part, part)))
    return found


def _as_filed(review: RawReview) -> dict[str, Any]:
    """A review as the file has it: lists for lists."""
    return dict(msgspec.json.decode(msgspec.json.encode(review)))


Paragraph = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=8_000)]
Line = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=600)]
# In one dimension; 1 to 5 are asked for, and released checklists have up to 6.
Items = Annotated[list[Line], msgspec.Meta(min_length=1, max_length=12)]
_QUERIES = msgspec.defstruct("_QUERIES", [(name, Line) for name in Need.__struct_fields__[2:]])
_FORMS: dict[str, Any] = {
    "context": msgspec.defstruct("_CONTEXT", [(name, Paragraph) for name in DIMENSIONS]),
    "need": msgspec.defstruct("_NEED", [("situation", Line), ("budget_range", Line), ("query", _QUERIES)]),
    "checklist": msgspec.defstruct("_CHECKLIST", [(name, Items) for name in DIMENSIONS]),
}  # What is written of a subject, in this order: each needs those before it.
OTHER_NAMES = {"performance_standards": "functional_requirements", "design_sensibility": "aesthetic_preferences"}
"""What the prompt of open exploration calls two of the dimensions."""


class Made(asking.StoredAnswer, frozen=True, kw_only=True):
    context: UserContext | None = None
    need: Need | None = None
    checklist: tuple[ChecklistItem, ...] = ()


def read_part(part: str, text: str) -> dict[str, Any] | Failure:
    """A part of a subject, under its name: of the last JSON object of a reply, or object in it, that has it all."""
    names = set(_FORMS[part].__struct_fields__)
    objects = [found for value in json_values(text) for found in _objects(value)]
    found: Any = next((one for one in reversed(objects) if len(names & one.keys()) >= len(names) - 1), None)
    if found is None:
        return Failure(kind="unparsed", message=f"the reply holds no JSON object with {', '.join(sorted(names))}")
    try:
        found = msgspec.to_builtins(msgspec.convert(found, _FORMS[part]))
    except msgspec.ValidationError as error:
        return Failure(kind="unparsed", message=str(error))
    if part == "context":
        return {part: UserContext(**found)}
    if part == "need":
        return {part: Need(situation=found["situation"], budget=found["budget_range"], **found["query"])}
    return {part: items_of(found)}


def _objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and depth <= 2:
        for said in value.values():
            yield from _objects(said, depth + 1)
        yield {OTHER_NAMES.get(str(name), str(name)): said for name, said in value.items()}


def construct(
    raw: Path,
    out: Path,
    writing: asking.Asking,
    *,
    queries: asking.Asking | None = None,
    scenarios: tuple[Scenario, ...] = (),
    users: int | None = None,
    seed: int = 0,
) -> tuple[list[str], str, bool]:
    """Make files of users, or go on where an earlier run stopped. Returns what to print, why it stopped before the end
    ("" where it did not), and whether nothing is left to be asked.
    """
    budget, prompts = Budget(writing.cost_limit), read_wording("agenticshop", "construction", ConstructionPrompts)
    progress = {part: asking.new_progress(writing.display, part) for part in _FORMS}
    files, subjects, skipped = subjects_of(raw, scenarios, seed=seed, users=users)
    writer = writing.opened(budget, progress["context"])
    asker = writer if queries is None else queries.opened(budget, progress["need"])
    recipe = {
        "files": {path.name: path.stat().st_size for path in files},
        "scenarios": list(scenarios),
        "users": users,
        "seed": seed,
        "writer": writer.label,
        "query_writer": asker.label,
        "prompts": prompts.label,
        "parameters": dict(writer.model.parameters),
    }
    parts = {part: asking.AskedPart(asker if part == "need" else writer, progress[part]) for part in _FORMS}
    open_need = Made(need=Need(situation=prompts.open_situation))
    needs = {one.id: open_need for one in subjects if one.seed is None}
    with asking.made_folder(out, {"recipe": recipe}, files=(MADE_WITH, REPLIES), what="users") as folder:
        questions = partial(questions_of, subjects, prompts)
        done = asking.ask_rounds(parts, questions, Made, out / REPLIES, budget, {"need": needs})
        tasks = _tasks(subjects, done.answers, scenarios, prompts.open_query)
        write_lists(out, "user_profile", tasks, profile_of)
        written, reports = Counter(task.scenario for task in tasks), check_pairing(tasks)
        doubts = [doubt for report in reports for doubt in report.doubts]
        cost, status = done.cost_usd, "complete" if done.complete else "partial"
        made: dict[str, Any] = {"status": status, "version": __version__, "recipe": recipe, "written": written}
        made |= {"skipped": skipped, "asked": done.tallies, "doubts": doubts, "cost_usd": cost}
        folder.replace_json(MADE_WITH, made)
    lines = [f"{out}: {len(tasks)} tasks"]
    lines += [f"  {ROWS[name].file('user_profile'):<48} {count:>4} users" for name, count in written.items()]
    lines += [f"left out      {len(skipped)} users: {', '.join(sorted(set(skipped.values())))}"] if skipped else []
    pairs = sum(report.queries for report in reports)
    lines += [f"pairing       {len(doubts)} of {pairs} queries look like another user's", *done.lines]
    lines.append(f"asked now     {done.made}" + ("" if cost is None else f" · {dollars(cost)} in all"))
    return [*lines, *([f"stopped: {done.stopped}"] if done.stopped else [])], done.stopped, done.complete


def _tasks(
    subjects: Sequence[Subject], known: asking.Known, scenarios: Collection[Scenario], open_query: str
) -> tuple[CurationTask, ...]:
    return tuple(
        CurationTask(
            id=f"{row.scenario}/{one.user}",
            user=one.user,
            scenario=row.scenario,
            situation=need.situation,
            query=open_query if one.seed is None else getattr(need, row.scenario, need.categorical),
            query_type=row.query_type,
            context=known["context"][one.id].context,
            checklist=checklist,
            product_type=one.product_type or None,
            budget=need.budget or None,
            target=None if one.seed is None else target_of(one.seed.product, one.product_type),
        )
        for one in subjects
        if (checklist := known["checklist"].get(one.id, Made()).checklist) and (need := known["need"][one.id].need)
        for row in ROWS.values()
        if row.raw == one.domain and (not scenarios or row.scenario in scenarios)
    )
