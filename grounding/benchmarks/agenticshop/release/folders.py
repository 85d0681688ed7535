"""The release's folders: results read and written, and a whole run as one tree, so that its programs can go on from it.

::

    eval_results/MODEL_TYPE/MODEL/Category[/variant]/user_ID/result_000/extraction_result.json
                                                                        evaluation_result.json
                                                                        artifacts/fullpage_part_1.png ...
    data/user_profiles/KEY_user_profile.json
    product_curation_artifacts/inputs/KEY_search_input.json
    product_curation_artifacts/MODEL_TYPE/MODEL/KEY_search_output.json

The folder of one model is read, or any above it that holds only one. Reports may be on the wrong product of their user:
the release writes them in the order of the tasks and collects them in that in which they were done. The
mean over a user's products is not changed by that; what is said of single products is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grounding.benchmarks.agenticshop.loader import profile_of
from grounding.benchmarks.agenticshop.records import CurationTask, Extraction, Judgement, Scenario, Segment, product_id
from grounding.benchmarks.agenticshop.release.evaluations import (
    evaluation_json,
    extraction_json,
    input_entry,
    read_evaluation,
    read_extraction,
    read_json,
    search_entry,
    write_json,
)
from grounding.benchmarks.agenticshop.scenarios import ROWS, row_of
from grounding.benchmarks.agenticshop.scorebook import CurationFolder, StoredRun, headline_of, read_stored
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.errors import UserError
from grounding.records import Size

DEPTH = 3
"""How many folders above that of a model may be given: ``eval_results`` itself, or what holds it."""

MAX_RESULTS, MAX_PARTS, MAX_PART_BYTES = 100, 50, 32 << 20


class RecordedResults(NamedTuple):
    """What a folder of results holds, in the order of the tasks and products. ``odd`` says what was passed over."""

    extractions: Sequence[Extraction]
    judgements: Sequence[Judgement]
    odd: Sequence[str] = ()


def search_outputs(path: Path) -> dict[Scenario, Path]:
    """The files of curated products in the folder of one model, by scenario; raises a UserError where none are."""
    found = {row.scenario: path / row.search_output_file for row in ROWS if (path / row.search_output_file).is_file()}
    if not found:
        raise UserError(f"{path}: no *_search_output.json in it; give the folder of one model")
    return found


def _model_folder(path: Path) -> Path:
    """The folder of one model, at or below a path; raises a UserError where there is none, or there are several."""
    categories = {row.category for row in ROWS}
    for depth in range(DEPTH + 1):
        found = sorted({one.parent for name in categories for one in path.glob("*/" * depth + name) if one.is_dir()})
        if len(found) > 1:
            raise UserError(f"{path}: results of several models; give one of: {', '.join(map(str, found[:10]))}")
        if found:
            return found[0]
    raise UserError(
        f"{path}: no results in it: expected folders such as {ROWS[0].folder}, each with "
        "user_ID/result_000/evaluation_result.json"
    )


def read_eval_results(
    folder: Path, tasks: Sequence[CurationTask], *, evidence: EvidenceFolder | None = None
) -> RecordedResults:
    """Everything that a folder of results holds for the tasks of a data set.

    A file that is no JSON is a record with a failure of the kind ``unparsed``; an empty file counts as absent, as in the
    release. The pictures of pages are kept in ``evidence``, and left out without it.
    """
    root, surplus = _model_folder(folder), 0
    extractions, judgements, odd = [], [], []
    for task in tasks:
        for rank in range(MAX_RESULTS):
            result, product = _result(root, task, rank), product_id(task.id, rank)
            for extracted in _decoded(result / "extraction_result.json"):
                segments = () if evidence is None else _segments(result / "artifacts", evidence)
                extractions.append(read_extraction(product, extracted, segments=segments))
            for evaluated in _decoded(result / "evaluation_result.json"):
                judgement, unasked = read_evaluation(product, evaluated, task.checklist)
                judgements.append(judgement)
                surplus += unasked
    known = {_result(root, task, 0).parent for task in tasks}
    for row in ROWS:
        strange = sorted(one.name for one in (root / row.folder).glob("user_*") if one.is_dir() and one not in known)
        if strange:
            odd.append(f"{row.folder}: {len(strange)} users that the data set does not have, such as {strange[0]}")
    odd += [f"{surplus} verdicts are on items that the checklists do not have"] if surplus else []
    return RecordedResults(extractions, judgements, odd)


def _result(root: Path, task: CurationTask, rank: int) -> Path:
    return root / row_of(task.scenario).folder / f"user_{task.user}" / f"result_{rank:03d}"


def _decoded(path: Path) -> list[object]:
    """The content of a file; nothing where it is absent or empty, a text about it where it is no JSON."""
    if not path.is_file() or path.stat().st_size == 0:
        return []
    try:
        return [read_json(path, "a result")]
    except UserError as error:
        return [str(error)]


def _segments(folder: Path, evidence: EvidenceFolder) -> tuple[Segment, ...]:
    """The pictures of a page in order, one below the other; what is no picture ends the page."""
    from PIL import Image

    segments: list[Segment] = []
    top_px = 0
    for number in range(1, MAX_PARTS + 1):
        path = folder / f"fullpage_part_{number}.png"
        if not path.is_file() or path.is_symlink() or path.stat().st_size > MAX_PART_BYTES:
            break
        content = path.read_bytes()
        try:
            with Image.open(io.BytesIO(content), formats=("PNG",)) as picture:
                size = Size(width=picture.width, height=picture.height)
        except (OSError, ValueError, Image.DecompressionBombError):
            break
        segments.append(Segment(file=evidence.put(content, ".png"), size=size, top_px=top_px))
        top_px += size.height
    return tuple(segments)


# --- writing ---------------------------------------------------------------------------------------------------------


class Exported(NamedTuple):
    users: int
    curations: int
    products: int
    results: str


def write_profiles(folder: Path, tasks: Sequence[CurationTask]) -> None:
    """Write ``KEY_user_profile.json`` for every scenario; raises a UserError where a file can't be written."""
    _write_lists(folder, "profile_file", [(task, profile_of(task)) for task in tasks], indent=4)


def _write_lists(
    folder: Path, name: str, entries: Iterable[tuple[CurationTask, dict[str, Any]]], *, indent: int
) -> None:
    by_file: dict[str, list[dict[str, Any]]] = {}
    for task, entry in entries:
        by_file.setdefault(getattr(row_of(task.scenario), name), []).append(entry)
    for file, said in by_file.items():
        write_json(folder / file, said, indent=indent)


def export_run(run: Path, to: Path, *, judge: str | None = None) -> Exported:
    """Write a run as the release has its own; ``judge``: whose verdicts, of the one that counts where None."""
    folder = CurationFolder(run)
    info = folder.read_info()
    stored, asked = read_stored(folder, info), info.asked
    chosen = judge or headline_of(stored.judgements)
    if chosen not in stored.judgements:
        known = ", ".join(stored.judgements) or "none"
        raise UserError(f"--judge {chosen}: no such judge in {run}; there are: {known}")
    name = f"{asked.agent}-{asked.model}" if asked.model else asked.agent
    name = re.sub(r"[^A-Za-z0-9_.\-]+", "-", name).lstrip("-.")[:100] or "model"
    kind = "search_llms" if asked.agent == "search" else "web_agents"
    return write_release(to, stored, chosen, f"{kind}/{name}", EvidenceFolder(folder.evidence))


def write_release(folder: Path, stored: StoredRun, judge: str, model: str, evidence: EvidenceFolder) -> Exported:
    """Write users, prompts, curated products and results into a folder that holds nothing yet.

    A judgement with a failure has no file, as in the release. ``model`` is ``search_llms/NAME`` or ``web_agents/NAME``.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already and not empty; give a new folder")
    artifacts, results = folder / "product_curation_artifacts", folder / "eval_results" / model
    write_profiles(folder / "data" / "user_profiles", stored.tasks)
    inputs = [(task, input_entry(task)) for task in stored.tasks]
    _write_lists(artifacts / "inputs", "search_input_file", inputs, indent=2)
    answers = [(task, stored.answers[task.id]) for task in stored.tasks]
    outputs = [(task, search_entry(task, said.curation)) for task, said in answers if said.curation is not None]
    _write_lists(artifacts / model, "search_output_file", outputs, indent=4)
    for task, said in answers:
        for rank, extraction in enumerate(said.extractions):
            if extraction is None:
                continue
            result = _result(results, task, rank)
            write_json(result / "extraction_result.json", extraction_json(extraction), indent=2)
            for number, segment in enumerate(extraction.page.segments if extraction.page else (), start=1):
                (result / "artifacts").mkdir(exist_ok=True)
                (result / "artifacts" / f"fullpage_part_{number}.png").write_bytes(evidence.get(segment.file))
            judgement = stored.judgements[judge].get(extraction.step_id)
            if judgement is not None and judgement.failure is None:
                evaluation = evaluation_json(judgement, task.checklist, extraction)
                write_json(result / "evaluation_result.json", evaluation, indent=2)
    users = len({task.user for task in stored.tasks})
    return Exported(users, len(outputs), len(stored.extractions), str(results))
