"""Amazon-Reviews-2023 in, a shop's folder out: users drawn, profiles and instructions written, a recommender trained.

As in the paper (section 3.2). The folder holds, beside the files of the shop, ``made-with.json`` (of what it was made,
with what, how far it is) and ``work/`` (the drawn users and every reply), from which the same command goes on.
"""

import gzip
import hashlib
import heapq
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grounding import __version__
from grounding.atomic import atomic_write
from grounding.benchmarks.asking import (
    AskedPart,
    Asking,
    Known,
    Question,
    StoredAnswer,
    Tally,
    ask_rounds,
    made_folder,
    new_progress,
)
from grounding.benchmarks.calls import fill, json_values
from grounding.benchmarks.personalwab import records
from grounding.benchmarks.personalwab.embeddings import needs
from grounding.benchmarks.personalwab.loader import INSTRUCTIONS, NUMBERS_FILE, PROFILES, read_product, read_review
from grounding.benchmarks.personalwab.prompts import product_text, wording
from grounding.benchmarks.personalwab.records import PROFILE_FIELDS, Behaviour, Product, Profile, ShopUser
from grounding.errors import UserError
from grounding.llm.budget import Budget, dollars
from grounding.records import Failure, Record
from grounding.run.lock import LockedFolder

MADE_WITH = "made-with.json"
WORK = "work"
BY_MODEL = "a chat model"


class SourceFile(Record, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    size_bytes: int


CATEGORIES = (
    *("Electronics", "Home_and_Kitchen", "Grocery_and_Gourmet_Food", "Clothing_Shoes_and_Jewelry"),
    "Health_and_Household",
)  # The five of the paper (section 3.2.1), by their names in Amazon-Reviews-2023.
# How much a user must have done and may have done to be drawn; the paper doesn't say.
MIN_BEHAVIOURS, MAX_BEHAVIOURS = 5, 500
CANDIDATES = 1_000_000  # So many users are counted at a time, at most twice as many, of tens of millions.

T = TypeVar("T")


class _Writer(msgspec.Struct):
    user_id: str


class _Named(msgspec.Struct):
    parent_asin: str
    title: str | None = None


_writer, _named = msgspec.json.Decoder(_Writer).decode, msgspec.json.Decoder(_Named).decode


class Selection(Record, frozen=True, kw_only=True):
    users: tuple[ShopUser, ...]
    products: dict[str, Product]


def chance_rank(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, key=str(seed).encode()).digest())


def find_categories(folder: Path, categories: Sequence[str] = CATEGORIES) -> tuple[tuple[Path, Path], ...]:
    names = [name for category in categories for name in (category, f"meta_{category}")]
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.jsonl*"), key=lambda path: (len(path.parts), path)):
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            found.setdefault(path.name.partition(".")[0], path)
    missing = [f"{name}.jsonl[.gz]" for name in names if name not in found]
    if missing:
        raise UserError(
            f"--reviews {folder}: no {', no '.join(missing)} in it; fetch them from Amazon-Reviews-2023 "
            "(raw/review_categories and raw/meta_categories), or name the categories that are there with --category"
        )
    return tuple((found[category], found[f"meta_{category}"]) for category in categories)


def _lines(path: Path, read: Callable[[bytes], T]) -> Iterator[T]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for line in lines:
                number += 1
                if line.strip():
                    yield read(line)
    except ValueError as error:
        raise UserError(f"{path}, line {number}: {error}; expected one JSON object a line, as published") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: can't be read to its end: {error}; fetch it again") from None


def count_candidates(names: Iterable[str], seed: int, capacity: int = CANDIDATES) -> Counter[str]:
    """How often each of the first ``capacity`` users of the queue is named; at most twice as many are held."""
    counts: Counter[str] = Counter()
    bound = 1 << 64
    for name in names:
        if name in counts or chance_rank(seed, name) < bound:
            counts[name] += 1
        if len(counts) > 2 * capacity:
            kept = heapq.nsmallest(capacity, counts, key=lambda one: chance_rank(seed, one))
            bound = chance_rank(seed, kept[-1]) + 1
            counts = Counter({one: counts[one] for one in kept})
    return counts


def draw_users(files: Sequence[tuple[Path, Path]], wanted: int, seed: int) -> Selection:
    """Draw users. Raises UserError where a file can't be read, a line is damaged, or nobody has enough behaviours."""

    def review(line: bytes) -> tuple[str, records.Review] | None:
        user = _writer(line).user_id
        return (user, read_review(msgspec.json.decode(line))) if user in written else None

    def product(line: bytes) -> Product | None:
        named = _named(line)
        there = named.parent_asin in needed and (named.title or "").strip()
        return read_product(msgspec.json.decode(line)) if there else None

    counts = count_candidates((one.user_id for path, _ in files for one in _lines(path, _writer)), seed)
    eligible = [name for name, count in counts.items() if MIN_BEHAVIOURS <= count <= MAX_BEHAVIOURS]
    # Some lose reviews whose product nothing is known of, so that more are drawn than are wanted.
    queue = sorted(eligible, key=lambda name: chance_rank(seed, name))[: wanted + wanted // 4 + 20]
    written: dict[str, list[records.Review]] = {name: [] for name in queue}
    for user, said in filter(None, (one for path, _ in files for one in _lines(path, review))):
        written[user].append(said)
    needed = {said.asin for reviews in written.values() for said in reviews}
    products: dict[str, Product] = {}
    for sold in filter(None, (one for _, path in files for one in _lines(path, product))):
        products.setdefault(sold.asin, sold)
    users: list[ShopUser] = []
    for name, reviews in written.items():
        known = [said for said in dict.fromkeys(reviews) if said.asin in products]
        if len(known) >= MIN_BEHAVIOURS and (behaviours := cut_time_line(known)) and len(users) < wanted:
            users.append(ShopUser(id=name, behaviours=behaviours))
    if not users:
        raise UserError(f"no user has {MIN_BEHAVIOURS} to {MAX_BEHAVIOURS} behaviours with known products")
    bought = {one.asin for user in users for one in user.behaviours}
    return Selection(users=tuple(users), products={asin: products[asin] for asin in sorted(bought)})


def cut_time_line(reviews: Sequence[records.Review]) -> tuple[Behaviour, ...]:
    """The behaviours, oldest first, each with its part; empty where nothing would be left as history. Equal times are
    one moment, which lies in one part; within it the order is by product and words.
    """
    ordered = sorted(reviews, key=lambda one: (one.timestamp_ms, one.asin, one.title, one.text))
    moments = [tuple(group) for _, group in itertools.groupby(ordered, key=lambda one: one.timestamp_ms)]
    tenth = len(ordered) // 10
    left: dict[records.Split, int] = {"test": max(1, tenth), "train": tenth}
    cut: list[Behaviour] = []
    for moment in reversed(moments):
        split: records.Split = next((name for name, wanted in left.items() if wanted > 0), "history")
        cut += [Behaviour(asin=one.asin, review=one, split=split) for one in reversed(moment)]
        if split in left:
            left[split] -= len(moment)
    return tuple(reversed(cut)) if cut and cut[-1].split == "history" else ()


class Job(Record, frozen=True, kw_only=True):
    id: str
    user_id: str
    type: records.TaskType
    behaviour: Behaviour


def instruction_jobs(users: Sequence[ShopUser], seed: int) -> tuple[Job, ...]:
    """An instruction for each behaviour of train and test, the types in turns; a review needs words to be about."""
    jobs = []
    for user in users:
        later = [(place, one) for place, one in enumerate(user.behaviours) if one.split != "history"]
        for turn, (place, one) in enumerate(later, start=chance_rank(seed, user.id)):
            kind = records.TYPES[turn % len(records.TYPES)]
            kind = "search" if kind == "review" and not one.review.text.strip() else kind
            jobs.append(Job(id=f"{user.id}/{place}/{kind}", user_id=user.id, type=kind, behaviour=one))
    return tuple(jobs)


# A user's newest behaviours, and characters of one review, that a profile is made of: it has to fit one request.
DESCRIBED_BY, LONGEST_TEXT = 100, 1500
LONGEST_SAID = 2_000


def profile_prompt(prompts: Any, user: ShopUser, products: Mapping[str, Product]) -> str:
    entries, offered = [], {}
    for place, one in enumerate(user.behaviours[-DESCRIBED_BY:], start=1):
        product, review = products[one.asin], one.review
        names = ("title", "store", "price", "average_rating", "rating_number")
        fields = {name: str(getattr(product, name)) for name in names}
        fields |= {"rating": str(review.rating), "review_title": review.title, "text": review.text[:LONGEST_TEXT]}
        category = " > ".join(product.categories) or str(product.main_category)
        entries.append(fill(prompts.entry, place=str(place), category=category, **fields))
    for name, choice in prompts.choices.items():
        mark = '"' if name == "focus_aspect" else ""
        listed = ", ".join(f"{mark}{one}{mark}" for one in choice)
        if isinstance(choice, dict):
            listed = ",\n".join(f'"{level}": "{text}"' for level, text in choice.items())
        offered[name] = f"[{listed}]"
    return fill(prompts.profile, **offered, history="\n".join(entries))


def instruction_prompt(prompts: Any, job: Job, profile: Profile, product: Product) -> str:
    review, talk, most = job.behaviour.review, profile.interaction_complexity, prompts.words[job.type]

    def described(name: str, said: str) -> str:  # Without its full stop, which the prompt's line has.
        return str(dict(prompts.choices[name]).get(said, said)).removesuffix(".")

    return fill(
        getattr(prompts, job.type),
        profile="\n".join(fill(prompts.profile_line, name=name, value=value) for name, value in profile.told.items()),
        product=product_text(product).rstrip(),
        review=fill(prompts.review_text, rating=str(review.rating), review_title=review.title, text=review.text),
        diversity=described("diversity", profile.diversity_preference),
        interaction=described("interaction", talk),
        focus_aspect=profile.focus_aspect,
        tone_and_style=profile.tone_and_style,
        num=str(most.get(talk, most["Medium"])),
    )


_LEADS = re.compile(r"^(search|recommendation|review)( request| instruction)?\s*:\s*", re.IGNORECASE)
_QUOTES = {('"', '"'), ("'", "'"), ("“", "”")}


class Written(StoredAnswer, frozen=True, kw_only=True):
    profile: Profile | None = None
    text: str = ""


def read_profile(text: str) -> dict[str, Profile] | Failure:
    found = next((value for value in json_values(text) if isinstance(value, dict)), None)
    if found is None:
        return _unparsed("the reply holds no JSON object")
    # Names may differ in case and signs, and lie in sections.
    sections = [found, *(value for value in found.values() if isinstance(value, dict))]
    said = {_letters(name): value for section in sections for name, value in section.items()}
    values = {}
    for theirs, ours in PROFILE_FIELDS.items():
        value = said.get(_letters(theirs))
        values[ours] = " ".join((", ".join(map(str, value)) if isinstance(value, list) else str(value or "")).split())
        if not 0 < len(values[ours]) <= LONGEST_SAID:
            return _unparsed(f"{theirs} has {len(values[ours])} characters; expected 1 to {LONGEST_SAID}")
    return {"profile": Profile(**values)}


def read_instruction(text: str) -> dict[str, str] | Failure:
    """The instruction in a reply, its white space made single blanks, without quotes around it or a heading."""
    said = _LEADS.sub("", " ".join(text.split()))
    if len(said) > 2 and (said[0], said[-1]) in _QUOTES and said[0] not in said[1:-1]:
        said = said[1:-1].strip()
    if not any(character.isalnum() for character in said):
        return _unparsed("the reply is empty")
    if len(said) > LONGEST_SAID:
        return _unparsed(f"the reply has {len(said)} characters where a request was asked for")
    return {"text": said}


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _unparsed(why: str) -> Failure:
    return Failure(kind="unparsed", message=why)


class Recipe(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that decides what the shop becomes. Another recipe is another shop, and needs another folder."""

    recipe: int = 3
    files: tuple[SourceFile, ...]
    users: int
    seed: int
    writer: str
    prompts: str
    parameters: dict[str, object]
    epochs: int


class MadeWith(Record, frozen=True, kw_only=True, omit_defaults=False):
    format: int = 2
    status: str
    recipe: Recipe
    written_by: str = BY_MODEL
    version: str = __version__
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    profiles: Tally | None = None
    instructions: Tally | None = None
    recommender: dict[str, float] | None = None
    cost_usd: float | None = None


def build_shop(
    out: Path,
    reviews: Path,
    asking: Asking,
    *,
    categories: Sequence[str] = (),
    users: int = 1000,
    epochs: int = 200,
    seed: int = 0,
    fresh: bool = False,
) -> tuple[MadeWith, str, list[str]]:
    """Make a shop, or go on where an earlier run stopped; the options are those of ``grounding shop build``. Returns
    what it was made with, why it stopped before the end ("" where it did not), and lines that tell of it.
    """
    budget, progress = Budget(asking.cost_limit), new_progress(asking.display, "users")
    files = find_categories(reviews, categories or CATEGORIES)
    prompts = wording("construction")
    opened = asking.opened(budget, progress)
    recipe = Recipe(
        files=tuple(SourceFile(name=path.name, size_bytes=path.stat().st_size) for both in files for path in both),
        users=users,
        seed=seed,
        writer=opened.label,
        prompts=prompts.label,
        parameters=dict(opened.model.parameters),
        epochs=epochs,
    )
    begun, work = MadeWith(status="started", recipe=recipe), out / WORK
    aside = LockedFolder(out, what="the folder of a shop", flag="--out").set_aside() if fresh else None
    instead = "choose another folder, or set it aside with --fresh"
    with made_folder(out, begun, files=(MADE_WITH,), what="a shop", instead=instead) as folder:
        work.mkdir(exist_ok=True)
        drawn = work / "selection.json"
        if not drawn.exists():
            with progress.phase("reading reviews and products"):
                atomic_write(drawn, msgspec.json.encode(draw_users(files, users, seed)))
        shop = msgspec.json.decode(drawn.read_bytes(), type=Selection)
        jobs = {job.id: job for job in instruction_jobs(shop.users, seed)}

        def questions(part: str, known: Known) -> list[Question]:
            if part == "profiles":
                about = {user.id: profile_prompt(prompts, user, shop.products) for user in shop.users}
            else:
                about = {
                    job.id: instruction_prompt(prompts, job, said.profile, shop.products[job.behaviour.asin])
                    for job in jobs.values()
                    if (said := known["profiles"].get(job.user_id)) and said.profile
                }
            read = read_profile if part == "profiles" else read_instruction
            return [
                Question(id=name, part=part, subject=name, prompt=prompt, read=read) for name, prompt in about.items()
            ]

        parts = {
            "profiles": AskedPart(opened, progress, whole=True),
            "instructions": AskedPart(opened, new_progress(asking.display, "instructions"), whole=True),
        }
        done = ask_rounds(parts, questions, Written, work / "replies.jsonl", budget, {})
        profiles = {user: said.profile for user, said in done.answers["profiles"].items() if said.profile}
        texts = [(jobs[name], said.text) for name, said in done.answers["instructions"].items() if said.text]
        _write_shop(folder, shop, profiles, texts)
        trained, lines = None, list[str]()
        if epochs and not done.stopped:
            with needs("torch"):
                from grounding.benchmarks.personalwab.sasrec import train_recommender, trained_text
            trained = train_recommender(shop.users, _numbers(shop), out, epochs, seed, asking.display)
            lines = [f"recommender   {trained_text(trained)}"]
        made = msgspec.structs.replace(
            begun,
            status="complete" if done.complete else "partial",
            counts={
                "users": len(shop.users),
                "users with a profile": len(profiles),
                "products": len(shop.products),
                **Counter(one.split for user in shop.users for one in user.behaviours),
                **Counter(f"{job.behaviour.split}/{job.type}" for job, _ in texts),
            },
            **done.tallies,
            recommender=trained,
            cost_usd=done.cost_usd,
        )
        folder.replace_json(MADE_WITH, made)
    before = [f"the earlier folder was set aside as {aside}"] if aside else []
    before += [f"{out}: " + " · ".join(f"{name} {count:,}" for name, count in made.counts.items())]
    if made.counts["users"] < users:
        before += [f"note          {users} users were asked for, and no more can be drawn"]
    cost = "" if made.cost_usd is None else f" · {dollars(made.cost_usd)} in all"
    lines += [f"written by    {recipe.writer}: {made.written_by}{cost}"]
    lines += done.lines
    stopped = [f"stopped before the end: {done.stopped}"] if done.stopped else []
    return made, done.stopped, before + lines + stopped


def _numbers(shop: Selection) -> dict[str, int]:
    return {asin: place for place, asin in enumerate(shop.products, start=1)}


def _write_shop(
    folder: LockedFolder, shop: Selection, profiles: Mapping[str, Profile], instructions: Iterable[tuple[Job, str]]
) -> None:
    wire = {}
    for asin, product in shop.products.items():
        fields = msgspec.structs.asdict(product) | {"details": msgspec.json.decode(product.details)}
        wire[fields.pop("asin")] = {**fields, "parent_asin": asin}

    def bought(one: Behaviour) -> dict[str, Any]:
        said = msgspec.structs.asdict(one.review)
        review = {"parent_asin": said.pop("asin"), "timestamp": said.pop("timestamp_ms"), **said}
        return {"product_info": wire[one.asin], "review": review}

    lists: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for job, text in instructions:
        one = job.behaviour
        common = {"user_id": job.user_id, "task": text, "type": job.type, "timestamp": one.review.timestamp_ms}
        lists[one.split].append({**common, "target": bought(one)})
    named, told = PROFILE_FIELDS.items(), profiles.items()
    histories = {user.id: [{**bought(one), "split": one.split} for one in user.behaviours] for user in shop.users}
    parts: dict[str, Any] = {
        PROFILES: {user: {"user_profile": {name: getattr(one, ours) for name, ours in named}} for user, one in told},
        NUMBERS_FILE: _numbers(shop),
        INSTRUCTIONS: lists,
        "all_products_part_1.json": wire,
        "user_history_part_1.json": histories,
    }
    for name, content in parts.items():
        folder.replace(name, msgspec.json.encode(content))
