"""The release's files and folders, read and written, so that its programs can go on from a run and a run from theirs.

::

    eval_results/MODEL_TYPE/MODEL/Category[/variant]/user_ID/result_000/extraction_result.json
                                                                        evaluation_result.json
                                                                        artifacts/fullpage_part_1.png ...
    data/user_profiles/KEY_user_profile.json
    product_curation_artifacts/inputs/KEY_search_input.json
    product_curation_artifacts/MODEL_TYPE/MODEL/KEY_search_output.json

    {"source_url", "available_product_info": {"description"}, "reviews": {"available", "details"}}

    {"page_accessibility": {"accessible", "status", "is_specific_product_page", "reason"},
     "stats": {"is_product_page", "satisfaction_percentage", "DIMENSION_percentage": "x / y", ...},
     "annotated_checklist": {DIMENSION: [{"context", "status": "SUCCESS" | "FAIL", "reasoning"}, ...], ...}}

The release keeps no page: what a model wrote of it is the page's text. An empty description is what it writes when an
extraction took too long. Evaluations are bare or wrapped in ``evaluation_result``, and may be on the wrong product of
their user: the release collects them in the order in which they were done, which doesn't change a user's mean.
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from grounding.atomic import atomic_write
from grounding.data.images import ImageFault, probe_image
from grounding.errors import UserError
from grounding.records import Failure

from .agents.base import each
from .agents.search import curation_prompt
from .asking import fact_lines
from .loader import nearest, profile_of
from .records import (
    COUNTED_PRODUCTS,
    DIMENSIONS,
    ROWS,
    ChecklistItem,
    Curated,
    Curation,
    CurationTask,
    CustomerReview,
    Extraction,
    FactSource,
    FileKind,
    ItemVerdict,
    Judgement,
    ProductFacts,
    RenderedPage,
    Reported,
    Segment,
    product_id,
    view_of,
)
from .scorebook import EVIDENCE, CurationFolder, headline_of, read_stored
from .scores import StoredRun
from .web.evidence import EvidenceFolder

MAX_BYTES = 64 << 20


def read_bytes(path: Path, what: str, most: int = MAX_BYTES) -> bytes:
    """The content of a file that should be ``what``; a UserError where it can't be read or is too large."""
    try:
        if (size := path.stat().st_size) > most:
            raise UserError(f"{path}: has {size:,} bytes, so it is not {what}: at most {most:,}")
        return path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise UserError(f"{path}: {what} can't be read: {error.strerror}") from error


def read_json(path: Path, what: str) -> Any:
    """The same as JSON; a UserError also where it is none."""
    try:
        return msgspec.json.decode(read_bytes(path, what))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: is no JSON, so it is not {what}: {error}") from error


def write_json(path: Path, value: object, *, indent: int) -> None:
    """Write a file as the release does: UTF-8, indented, in the order of the keys. A UserError where it can't be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, json.dumps(value, ensure_ascii=False, indent=indent).encode())
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror}; give another folder") from error


def text_of(value: object) -> str:
    """A text as it is; null as the empty text; anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


EXTRACTOR = JUDGE = "release"
_KEPT = ("available_product_info", "reviews")
_NUMBERS = {
    "total_items": "total_checklist_items",
    "satisfaction_percentage": "satisfaction_percentage",
    "satisfied_items": "satisfied_items",
    "not_satisfied_items": "not_satisfied_items",
}  # The numbers of a report, and what the release calls them.


def read_extraction(step_id: str, decoded: object, *, segments: tuple[Segment, ...] = ()) -> Extraction:
    """One extraction from a decoded file, with the pictures that were kept of the page; ``unparsed`` if it is none."""
    made = partial(Extraction, step_id=step_id, key="", extractor=EXTRACTOR)
    if not isinstance(decoded, dict) or not isinstance(url := decoded.get("source_url"), str):
        why = "expected an object with source_url and available_product_info"
        return made(url="", failure=Failure(kind="unparsed", message=why))
    info, said = (decoded.get(name) for name in _KEPT)
    if isinstance(info, dict) and set(info) == {"description"}:
        info = info["description"]
    described = text_of(info or "")
    reviews = text_of(said.get("details") if isinstance(said, dict) else said or "")
    made = partial(made, url=url, class_reason="the release keeps no page")
    text = "\n\n".join(filter(None, (described, reviews)))
    if not text and not segments:
        return made()
    facts = ProductFacts(
        description=described,
        reviews=(CustomerReview(text=reviews),) if reviews else (),
        sources=(FactSource(field="description", source="model"),) if described else (),
    )
    raw = json.dumps({name: decoded[name] for name in _KEPT if name in decoded}, ensure_ascii=False)
    return made(page=RenderedPage(url=url, text=text, segments=segments), facts=facts if text else None, raw=raw)


def _is_released(name: str) -> bool:
    """Whether an extractor or a judge is the release's own: recorded by it, or asked as it asks."""
    return name == JUDGE or name.endswith("@official")


def extraction_json(extraction: Extraction) -> dict[str, Any]:
    """An extraction as the release writes it: the facts told as a description, the reviews as one text."""
    if _is_released(extraction.extractor):
        with suppress(ValueError, AttributeError):  # What the release's own extractor wrote stands as it is.
            said = json.loads(extraction.raw)
            return {"source_url": extraction.url, **{name: said.get(name, {}) for name in _KEPT}}
    lines = [] if extraction.facts is None else list(fact_lines(extraction.facts))
    of_reviews = ("rating", "rating_count", "reviews")
    reviews = "\n".join(f"{name}: {said}" for field, name, said in lines if field in of_reviews)
    description = "\n".join(f"{name}: {said}" for field, name, said in lines if field not in of_reviews)
    return {
        "source_url": extraction.url,
        "available_product_info": {"description": description},
        "reviews": {"available": bool(reviews), "details": reviews or None},
    }


def read_evaluation(product_id: str, decoded: object, checklist: Sequence[ChecklistItem]) -> Judgement:
    """One judgement of a product; ``unparsed`` if it is none."""
    found = Judgement(step_id=f"{product_id}/{JUDGE}", key="", judge=JUDGE)
    inner = decoded.get("evaluation_result", decoded) if isinstance(decoded, dict) else None
    annotated = inner.get("annotated_checklist", {}) if isinstance(inner, dict) else None
    if inner is None or not isinstance(annotated, dict) or not inner.keys() & {"annotated_checklist", "stats"}:
        why = "expected an object with stats and annotated_checklist"
        return replace(found, failure=Failure(kind="unparsed", message=why))
    given: dict[str, dict[str, Any]] = {}
    for dimension in annotated:
        given |= _placed([item for item in checklist if item.dimension == dimension], each(annotated, dimension))
    verdicts = []
    for item in checklist:
        if (entry := given.get(item.id)) is None:
            verdicts.append(ItemVerdict(item=item.id, satisfied=False, flags=("missing",)))
        else:
            satisfied = text_of(entry.get("status")).strip().upper() == "SUCCESS"
            reasoning = text_of(entry.get("reasoning"))
            verdicts.append(ItemVerdict(item=item.id, satisfied=satisfied, reasoning=reasoning))
    return replace(found, verdicts=tuple(verdicts), reported=read_reported(inner))


def _placed(items: list[ChecklistItem], entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    left, given, unplaced = {item.id: _plain(item.text) for item in items}, {}, []
    for entry in entries:
        words = _plain(text_of(entry.get("context")))
        item = next((name for name, text in left.items() if text == words), None)
        if item is None:
            unplaced.append(entry)
        else:
            given[item] = entry
            del left[item]
    return given | dict(zip(left, unplaced, strict=True)) if len(entries) == len(items) else given


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")


def read_reported(evaluation: dict[str, Any]) -> Reported:
    """What the judge says that its verdicts add up to; as in the release, true and false are numbers. What is no finite
    number, or so large that it can't be meant, is none.
    """
    parts = (evaluation.get("stats"), evaluation.get("page_accessibility"))
    stats, page = (one if isinstance(one, dict) else {} for one in parts)
    numbers = {
        ours: float(said) if isinstance(said := stats.get(theirs), int | float) and abs(said) < 1e15 else None
        for ours, theirs in _NUMBERS.items()
    }
    total = numbers.pop("total_items")
    is_product = stats.get("is_product_page", page.get("is_specific_product_page"))
    return Reported(
        accessible=page["accessible"] if isinstance(page.get("accessible"), bool) else None,
        is_product_page=is_product if isinstance(is_product, bool) else None,
        reason=text_of(page.get("reason")),
        total_items=None if total is None else int(total),
        **numbers,
        dimensions={name: said for name in DIMENSIONS if isinstance(said := stats.get(f"{name}_percentage"), str)},
    )


def evaluation_json(judgement: Judgement, checklist: Sequence[ChecklistItem], extraction: Extraction) -> dict[str, Any]:
    """A judgement without a failure as the release's collector reads it. ``stats`` are what the judge reported;
    where it was not asked for sums, what its verdicts add up to over all items of the checklist.
    """
    verdicts = {verdict.item: verdict for verdict in judgement.verdicts if "missing" not in verdict.flags}
    reported, kind = judgement.reported, None
    if reported is None or not (reported.adds_up or _is_released(judgement.judge)):
        reported, kind = _added_up(verdicts, checklist, extraction), extraction.page_class
    usual = {True: "success", False: "error", None: None}[reported.accessible]
    page = {
        "accessible": reported.accessible,
        "status": usual and {"error": "not_found", "blocked": "restricted"}.get(kind or "", usual),
        "is_specific_product_page": reported.is_product_page,
        "reason": reported.reason,
    }
    stats: dict[str, Any] = {"is_product_page": reported.is_product_page}
    for ours, theirs in _NUMBERS.items():
        one = getattr(reported, ours)
        stats[theirs] = int(one) if isinstance(one, float) and one.is_integer() and ours.endswith("_items") else one
    stats |= {f"{dimension}_percentage": text for dimension, text in reported.dimensions.items()}
    annotated: dict[str, list[dict[str, str]]] = {dimension: [] for dimension in DIMENSIONS}
    for item in checklist:
        if (verdict := verdicts.get(item.id)) is not None:
            said = "SUCCESS" if verdict.satisfied else "FAIL"
            annotated[item.dimension].append({"context": item.text, "status": said, "reasoning": verdict.reasoning})
    page, stats = ({name: said for name, said in part.items() if said is not None} for part in (page, stats))
    return {"evaluation_result": {"page_accessibility": page, "stats": stats, "annotated_checklist": annotated}}


def _added_up(verdicts: dict[str, ItemVerdict], checklist: Sequence[ChecklistItem], extraction: Extraction) -> Reported:
    yes = Counter(verdict.dimension for verdict in verdicts.values() if verdict.satisfied)
    every = Counter[str](item.dimension for item in checklist)
    page, kind = extraction.page, extraction.page_class
    failed = extraction.failure or (page and page.failure)
    return Reported(
        accessible=page is not None and not failed and kind not in ("error", "blocked"),
        is_product_page=kind == "product" or (kind is None and extraction.facts is not None),
        reason=failed.message if failed else extraction.class_reason,
        total_items=len(checklist),
        satisfaction_percentage=round(100 * yes.total() / len(checklist), 4) if checklist else 0.0,
        satisfied_items=yes.total(),
        not_satisfied_items=len(checklist) - yes.total(),
        dimensions={name: f"{yes[name]} / {every[name]}" for name in DIMENSIONS},
    )


_CURATED = {"name": "product_name", "url": "product_url", "reasoning": "reasoning"}


def read_search_answers(path: Path) -> dict[str, Curation]:
    """The entries of a file of curated products, by user, the last of each. One that names no products is ``unparsed``,
    or an ``error`` where it tells of one; a UserError where somebody's name is missing.
    """
    decoded: Any = read_json(path, "a list of curated products")
    found: dict[str, Curation] = {}
    for item, entry in enumerate(decoded if isinstance(decoded, list) else [decoded]):
        if not isinstance(entry, dict) or not isinstance(user := entry.get("user"), str):
            raise UserError(f"{path}: item {item}: expected an object with a user and search_results")
        results: Any = entry.get("search_results") or []
        objects = isinstance(results, list) and all(isinstance(one, dict) for one in results)
        products = tuple(
            Curated(rank=rank, **{ours: text_of(one.get(theirs)) for ours, theirs in _CURATED.items()})
            for rank, one in enumerate(results if objects else ())
        )
        failure, error = None, text_of(entry.get("error"))
        if not products:
            why = "the answer holds no products" if objects else f"no list of products: {text_of(results)[:200]!r}"
            failure = Failure(kind="error" if error else "unparsed", message=error or why)
        found[user] = Curation(step_id=user, key="", products=products, failure=failure)
    return found


def search_entry(task: CurationTask, curation: Curation) -> dict[str, Any]:
    """What an agent answered as :func:`read_search_answers` reads it: an answer that names nothing is no error."""
    results = [{theirs: getattr(one, ours) for ours, theirs in _CURATED.items()} for one in curation.products]
    failure = curation.failure
    error = {"error": failure.message} if failure is not None and failure.kind == "error" else {}
    return {"user": task.user, "search_results": results, **error}


def input_entry(task: CurationTask) -> dict[str, Any]:
    """A task as ``prepare_search_input.py`` of the release writes it: the prompt, and what it was filled with."""
    profile = profile_of(task)
    told = {name: profile[name] for name in ("seed_product_type", "situation", "budget_range", "user_query")}
    return {
        "user": task.user,
        "seed_product_type": task.product_type,
        "prompt": curation_prompt(view_of(task)),
        "variables": told | profile["user_context"],
        "check_list": profile["check_list"],
    }


MAX_RESULTS, MAX_PARTS, MAX_PART_BYTES = 100, 50, 32 << 20


def _model_folder(path: Path) -> Path:
    """That of the model whose results are given, or what holds it: ``eval_results`` itself, or the folder above."""
    found = nearest(path, {row.folder.partition("/")[0] for row in ROWS.values()})
    if len(found) > 1:
        raise UserError(f"{path}: results of several models; give one of: {', '.join(map(str, found[:10]))}")
    if not found:
        form = f"{next(iter(ROWS.values())).folder}, each with user_ID/result_000/evaluation_result.json"
        raise UserError(f"{path}: no results in it: expected folders such as {form}")
    return found[0]


def read_eval_results(
    folder: Path, tasks: Sequence[CurationTask], evidence: EvidenceFolder | None = None
) -> tuple[list[Extraction], list[Judgement]]:
    """Everything that a folder of results holds for the tasks of a data set.

    A file that is no JSON is a record with a failure of the kind ``unparsed``; an empty one counts as absent, as in the
    release. The pictures of pages are kept in ``evidence``, and left out without it.
    """
    root = _model_folder(folder)
    extractions, judgements = [], []
    for task in tasks:
        for rank in range(MAX_RESULTS):
            result, product = _result(root, task, rank), product_id(task.id, rank)
            if not result.is_dir():
                continue
            segments = () if evidence is None else _segments(result / "artifacts", evidence)
            # Where its extractor failed, the release leaves a folder without the file.
            for extracted in _decoded(result / "extraction_result.json") or [None]:
                extractions.append(read_extraction(product, extracted, segments=segments))
            for evaluated in _decoded(result / "evaluation_result.json"):
                judgements.append(read_evaluation(product, evaluated, task.checklist))
    return extractions, judgements


def _result(root: Path, task: CurationTask, rank: int) -> Path:
    return root / ROWS[task.scenario].folder / f"user_{task.user}" / f"result_{rank:03d}"


def _decoded(path: Path) -> list[object]:
    """The content of a file; nothing where it is absent or empty, a text about it where it is no JSON."""
    if not path.is_file() or path.stat().st_size == 0:
        return []
    try:
        return [read_json(path, "a result")]
    except UserError as error:
        return [str(error)]


def _segments(folder: Path, evidence: EvidenceFolder) -> tuple[Segment, ...]:
    """The pictures of a page up to the first that is missing, a link, too large or damaged."""
    segments: list[Segment] = []
    top_px = 0
    for number in range(1, MAX_PARTS + 1):
        path = folder / f"fullpage_part_{number}.png"
        linked = path.is_symlink()
        if linked or isinstance(found := probe_image(path), ImageFault) or path.stat().st_size > MAX_PART_BYTES:
            break
        segments.append(Segment(file=evidence.put(path.read_bytes(), ".png"), size=found.size, top_px=top_px))
        top_px += found.size.height
    return tuple(segments)


def write_lists(
    folder: Path, kind: FileKind, tasks: Iterable[CurationTask], entry: Callable[[CurationTask], dict[str, Any]]
) -> None:
    """Write the file of every scenario with an entry for each task; a UserError where it can't be written."""
    by_file: dict[str, list[dict[str, Any]]] = {}
    for task in tasks:
        by_file.setdefault(ROWS[task.scenario].file(kind), []).append(entry(task))
    for file, entries in by_file.items():
        write_json(folder / file, entries, indent=2 if kind == "search_input" else 4)


def export_run(run: Path, to: Path, *, judge: str | None = None) -> str:
    """Write a run as the release has its own; ``judge``: whose verdicts, of the one that counts where None, and none
    where nobody judged. Returns what was written, in words.
    """
    folder = CurationFolder(run)
    info = folder.read_info()
    stored, asked = read_stored(folder, info), info.asked
    if judge and judge not in stored.judgements:
        raise UserError(f"--judge {judge}: no such judge in {run}; there are: {', '.join(stored.judgements) or 'none'}")
    name = f"{asked.agent}-{asked.model}" if asked.model else asked.agent
    name = re.sub(r"[^A-Za-z0-9_.\-]+", "-", name).lstrip("-.")[:100] or "model"
    kind = "search_llms" if asked.agent == "search" else "web_agents"
    results = write_release(to, stored, judge or headline_of(stored), f"{kind}/{name}", EvidenceFolder(run / EVIDENCE))
    users, tasks, products = len({one.user for one in stored.tasks}), len(stored.curations), len(stored.extractions)
    return f"{products:,} products of {tasks:,} tasks and {users:,} users: {results}"


def write_release(folder: Path, stored: StoredRun, judge: str, model: str, evidence: EvidenceFolder) -> Path:
    """Write users, prompts, curated products and results into a folder that holds nothing yet. A judgement with a
    failure has no file, as in the release. ``model`` is ``search_llms/NAME`` or ``web_agents/NAME``. Returns the folder
    of its results.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already and not empty; give a new folder")
    artifacts, results = folder / "product_curation_artifacts", folder / "eval_results" / model
    curations, judgements = stored.curations, stored.judgements.get(judge, {})
    failures = {name: one.failure.kind for name, one in curations.items() if one.failure is not None}
    curated = [task for task in stored.tasks if task.id in curations and failures.get(task.id) != "missing"]
    write_lists(folder / "data" / "user_profiles", "user_profile", stored.tasks, profile_of)
    write_lists(artifacts / "inputs", "search_input", stored.tasks, input_entry)
    write_lists(artifacts / model, "search_output", curated, lambda task: search_entry(task, curations[task.id]))
    for task in stored.tasks:
        for rank in range(COUNTED_PRODUCTS):
            extraction = stored.extractions.get(product_id(task.id, rank))
            if extraction is None or (extraction.failure is not None and extraction.failure.kind == "missing"):
                continue
            result = _result(results, task, rank)
            if extraction.failure is not None:
                result.mkdir(parents=True, exist_ok=True)
                continue
            write_json(result / "extraction_result.json", extraction_json(extraction), indent=2)
            for number, segment in enumerate(extraction.page.segments if extraction.page else (), start=1):
                (result / "artifacts").mkdir(exist_ok=True)
                (result / "artifacts" / f"fullpage_part_{number}.png").write_bytes(evidence.get(segment.file))
            judgement = judgements.get(extraction.step_id)
            if judgement is not None and judgement.failure is None:
                evaluation = evaluation_json(judgement, task.checklist, extraction)
                write_json(result / "evaluation_result.json", evaluation, indent=2)
    return results
