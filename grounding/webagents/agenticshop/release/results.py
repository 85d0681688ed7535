"""The release's folders of results, read and written.

::

    eval_results/MODEL_TYPE/MODEL/Category[/variant]/user_ID/result_000/extraction_result.json
                                                                        evaluation_result.json
                                                                        artifacts/fullpage_part_1.png ...

The folder of one model is read, or any above it that holds only one. Reports may be on the wrong product of their user:
the release writes them in the order of the tasks and collects them in that in which they were done (protocol D3). The
mean over a user's products is not changed by that; what is said of single products is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grounding.errors import UserError
from grounding.records import Record, Size
from grounding.webagents.agenticshop.agents.base import made
from grounding.webagents.agenticshop.records import (
    Curated,
    Curation,
    CurationTask,
    Extraction,
    Judgement,
    Segment,
    product_id,
    view_of,
)
from grounding.webagents.agenticshop.release.evaluations import JUDGE, evaluation_json, read_evaluation
from grounding.webagents.agenticshop.release.extractions import extraction_json, read_extraction
from grounding.webagents.agenticshop.release.files import read_json, write_json
from grounding.webagents.agenticshop.scenarios import ROWS, row_of
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

EXTRACTION_FILE = "extraction_result.json"
EVALUATION_FILE = "evaluation_result.json"
ARTIFACTS = "artifacts"
INDENT = 2
DEPTH = 3
"""How many folders above that of a model may be given: ``eval_results`` itself, or what holds it."""

MAX_PARTS = 50
MAX_PART_BYTES = 32 << 20
_RESULT = re.compile(r"result_(\d{3,6})")
_PART = re.compile(r"fullpage_part_(\d{1,3})\.png")
_USER_FOLDER = "user_"


class RecordedResults(Record, frozen=True, kw_only=True):
    """What a folder of results holds, in the order of the tasks and products.

    ``curations`` have the URLs that were extracted and nothing else: names and reasons are in the outputs. ``wrapped``
    and ``bare`` count the files of evaluations by their shape: the release's collector reads only the wrapped ones.
    ``odd`` says what was passed over.
    """

    curations: tuple[Curation, ...]
    extractions: tuple[Extraction, ...]
    judgements: tuple[Judgement, ...]
    wrapped: int = 0
    bare: int = 0
    odd: tuple[str, ...] = ()


def model_folder(path: Path) -> Path:
    """The folder of one model, at or below a path.

    Raises:
        UserError: There is none, or several could be meant.
    """
    categories = {row.category for row in ROWS}
    for depth in range(DEPTH + 1):
        found = sorted(
            {
                one.parent
                for category in categories
                for one in path.glob("/".join(["*"] * depth + [category]))
                if one.is_dir()
            }
        )
        if len(found) > 1:
            raise UserError(
                f"{path}: results of several models; give one of: {', '.join(str(one) for one in found[:10])}"
            )
        if found:
            return found[0]
    raise UserError(
        f"{path}: no results in it: expected folders such as {ROWS[0].folder} or {ROWS[4].folder}, each with "
        f"{_USER_FOLDER}ID/result_000/{EVALUATION_FILE}"
    )


def read_eval_results(
    folder: Path, tasks: Sequence[CurationTask], *, judge: str = JUDGE, evidence: EvidenceFolder | None = None
) -> RecordedResults:
    """Everything that a folder of results holds for the tasks of a data set.

    A file that is no JSON, or something else, becomes a record with a failure of the kind ``unparsed``; an empty file
    counts as absent, as in the release.

    Args:
        folder: That of one model, or one above it.
        tasks: Those of the data set.
        judge: What the judge of the results is called from now on.
        evidence: Where to keep the pictures of pages; they are left out without it.

    Raises:
        UserError: There are no results, or those of several models.
    """
    root = model_folder(folder)
    curations: list[Curation] = []
    extractions: list[Extraction] = []
    judgements: list[Judgement] = []
    shapes = {True: 0, False: 0}
    surplus = 0
    for task in tasks:
        place = root / row_of(task.scenario).folder / f"{_USER_FOLDER}{task.user}"
        urls = []
        for rank, result in _results(place):
            product = product_id(task.id, rank)
            extraction = _extraction(result, product, evidence)
            if extraction is not None:
                extractions.append(extraction)
                urls.append(Curated(rank=rank, url=extraction.url))
            decoded = _decoded(result / EVALUATION_FILE)
            if decoded is not None:
                read = read_evaluation(product, decoded.value, task.checklist, judge=judge)
                judgements.append(read.judgement)
                shapes[read.wrapped] += 1
                surplus += read.surplus
        if urls:
            curations.append(made(view_of(task), "", products=tuple(urls)))
    odd = _strangers(root, tasks)
    if surplus:
        odd.append(f"{surplus} verdicts are on items that the checklists do not have")
    return RecordedResults(
        curations=tuple(curations),
        extractions=tuple(extractions),
        judgements=tuple(judgements),
        wrapped=shapes[True],
        bare=shapes[False],
        odd=tuple(odd),
    )


class _Decoded(Record, frozen=True, kw_only=True):
    value: object


def _decoded(path: Path) -> _Decoded | None:
    """The content of a file; None where it is absent or empty, a text about it where it is no JSON."""
    if not path.is_file() or path.stat().st_size == 0:
        return None
    try:
        return _Decoded(value=read_json(path, "a result"))
    except UserError as error:
        return _Decoded(value=str(error))


def _results(place: Path) -> Iterator[tuple[int, Path]]:
    """The folders of a user's products by their numbers."""
    if not place.is_dir():
        return
    found = [(int(match[1]), path) for path in place.iterdir() if (match := _RESULT.fullmatch(path.name))]
    yield from sorted((number, path) for number, path in found if path.is_dir())


def _extraction(result: Path, product: str, evidence: EvidenceFolder | None) -> Extraction | None:
    decoded = _decoded(result / EXTRACTION_FILE)
    if decoded is None:
        return None
    segments = () if evidence is None else _segments(result / ARTIFACTS, evidence)
    return read_extraction(product, decoded.value, segments=segments)


def _segments(folder: Path, evidence: EvidenceFolder) -> tuple[Segment, ...]:
    """The pictures of a page in order, one below the other; what is no picture ends the page."""
    from PIL import Image, UnidentifiedImageError

    parts = {int(match[1]): path for path in sorted(folder.glob("*.png")) if (match := _PART.fullmatch(path.name))}
    segments: list[Segment] = []
    top_px = 0
    for number in sorted(parts)[:MAX_PARTS]:
        path = parts[number]
        if path.is_symlink() or path.stat().st_size > MAX_PART_BYTES:
            break
        content = path.read_bytes()
        try:
            with Image.open(io.BytesIO(content), formats=("PNG",)) as picture:
                size = Size(width=picture.width, height=picture.height)
        except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
            break
        segments.append(Segment(file=evidence.put(content, ".png"), size=size, top_px=top_px))
        top_px += size.height
    return tuple(segments)


def _strangers(root: Path, tasks: Sequence[CurationTask]) -> list[str]:
    """What is said of users that the data set does not have."""
    known: dict[str, set[str]] = {}
    for task in tasks:
        known.setdefault(task.scenario, set()).add(f"{_USER_FOLDER}{task.user}")
    said = []
    for row in ROWS:
        if not (root / row.folder).is_dir():
            continue
        there = {path.name for path in (root / row.folder).glob(f"{_USER_FOLDER}*") if path.is_dir()}
        strange = sorted(there - known.get(row.scenario, set()))
        if strange:
            said.append(f"{row.folder}: {len(strange)} users that the data set does not have, such as {strange[0]}")
    return said


# --- writing -------------------------------------------------------------------------------------------------------


def write_eval_results(
    folder: Path,
    tasks: Sequence[CurationTask],
    extractions: Mapping[str, Extraction],
    judgements: Mapping[str, Judgement],
    *,
    evidence: EvidenceFolder | None = None,
    wrapped: bool = False,
) -> int:
    """Write the folder of one model; how many products it holds.

    A judgement with a failure has no file, as in the release, where it ends the run.

    Args:
        folder: ``eval_results/MODEL_TYPE/MODEL``; made where it isn't there.
        tasks: Those of the data set.
        extractions: By product id.
        judgements: Those of one judge, by product id.
        evidence: Where the pictures of the pages are; none are written without it.
        wrapped: Whether evaluations are put below ``evaluation_result``, which the release's collector needs.

    Raises:
        UserError: A file can't be written, or a picture is not in the evidence.
    """
    ranks: dict[str, list[int]] = {}
    for known in {*extractions, *judgements}:
        task_id, _, number = known.rpartition("/")
        ranks.setdefault(task_id, []).append(int(number))
    count = 0
    for task in tasks:
        for rank in sorted(ranks.get(task.id, ())):
            product = product_id(task.id, rank)
            result = folder / row_of(task.scenario).folder / f"{_USER_FOLDER}{task.user}" / f"result_{rank:03d}"
            _write_product(result, task, extractions.get(product), judgements.get(product), evidence, wrapped=wrapped)
            count += 1
    return count


def _write_product(
    result: Path,
    task: CurationTask,
    extraction: Extraction | None,
    judgement: Judgement | None,
    evidence: EvidenceFolder | None,
    *,
    wrapped: bool,
) -> None:
    if extraction is not None:
        write_json(result / EXTRACTION_FILE, extraction_json(extraction), indent=INDENT)
        if evidence is not None and extraction.page is not None:
            _write_pictures(result / ARTIFACTS, extraction.page.segments, evidence)
    if judgement is not None and judgement.failure is None:
        written = evaluation_json(judgement, task.checklist, extraction, wrapped=wrapped)
        write_json(result / EVALUATION_FILE, written, indent=INDENT)


def _write_pictures(folder: Path, segments: Sequence[Segment], evidence: EvidenceFolder) -> None:
    for number, segment in enumerate(segments, start=1):
        content = evidence.get(segment.file)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"fullpage_part_{number}.png").write_bytes(content)
        except OSError as error:
            raise UserError(f"{folder}: can't be written: {error.strerror}; give another folder") from error
