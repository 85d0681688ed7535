"""Run folders in; an ablation, and its files in a folder, out: JSON, CSV, Markdown, pictures and a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.asr.ablation import Ablation, HeardRun, ablate
from grounding.asr.drawing import curve_picture, scatter_picture, slope_words
from grounding.asr.listening import put_recordings
from grounding.asr.page import render_page
from grounding.asr.spoken import read_transcripts
from grounding.asr.table import ablation_csv, ablation_markdown
from grounding.errors import UserError
from grounding.report.plot import save
from grounding.scorebook import Scored, read_run, scored_tasks

TRUE_WORDS = "truth"


def heard_run(scored: Scored) -> HeardRun:
    """A scored run with what it was told.

    Raises:
        UserError: a file of its folder is damaged.
    """
    told = read_transcripts(scored.folder)
    return HeardRun(
        condition=TRUE_WORDS if told is None else told.condition,
        folder=str(scored.folder),
        transcripts=told,
        summary=scored.summary,
        tasks=scored_tasks(scored),
    )


def ablate_runs(runs: Sequence[Scored], *, title: str = "") -> Ablation:
    """What recognition errors changed between scored runs over the same steps.

    Raises:
        UserError: the runs are not over the same steps, differ in more than the transcripts, or a file is damaged.
    """
    if not runs:
        raise UserError("no run was given: name run folders, one of them over the true words")
    _check_alike(runs)
    first = runs[0]
    try:
        return ablate(
            [heard_run(one) for one in runs],
            title=title or title_of(first),
            seed=first.info.asked.seed,
            clusters=first.info.clusters,
        )
    except ValueError as error:
        raise UserError(f"the runs can't be compared: {error}") from error


def title_of(scored: Scored) -> str:
    """What runs that differ in their transcripts have in common."""
    asked, counts = scored.info.asked, scored.summary.counts
    return (
        f"{asked.dataset} · planner {asked.planner} · grounder {asked.grounder} · {counts.steps} steps in "
        f"{counts.tasks} tasks"
    )


def _check_alike(runs: Sequence[Scored]) -> None:
    """Refuse runs that differ in more than where the words come from: that would change scores as well."""
    first = runs[0].info.asked
    for run in runs[1:]:
        bare = [msgspec.structs.replace(one, transcript=msgspec.UNSET) for one in (first, run.info.asked)]
        differing = [name for name in first.__struct_fields__ if getattr(bare[0], name) != getattr(bare[1], name)]
        if differing:
            raise UserError(
                f"{runs[0].folder} and {run.folder} differ in more than their transcripts ({', '.join(differing)}): "
                "compare runs of one planner, grounder and data set"
            )


def read_ablation(folders: Sequence[Path]) -> Ablation:
    """The same from run folders that were scored before.

    Raises:
        UserError: one of them is no scored run, or they can't be compared.
    """
    return ablate_runs([read_run(folder) for folder in folders])


def write_ablation(
    folder: Path,
    ablation: Ablation,
    *,
    name: str = "speech",
    published: bool = False,
    noise_dir: Path | None = None,
) -> tuple[Path, ...]:
    """Write everything that shows an ablation; returns the files, the page last.

    Args:
        folder: Where to; it is made.
        ablation: What was found.
        name: The beginning of the files' names.
        published: Put the paper's Table 4 beside.
        noise_dir: The user's noises, for recordings as they were heard.

    Raises:
        UserError: a file can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [
            _put(folder / f"{name}.json", msgspec.json.format(msgspec.json.encode(ablation), indent=2) + b"\n"),
            _put(folder / f"{name}.csv", ablation_csv(ablation).encode()),
            _put(folder / f"{name}.md", ablation_markdown(ablation, published=published).encode()),
        ]
        pictures: dict[str, bytes] = {}
        if ablation.curves:
            drawn = save(curve_picture(ablation), folder, f"{name}-snr")
            files += drawn
            pictures["Word error rate and step accuracy over the signal-to-noise ratio"] = drawn[-1].read_bytes()
        if ablation.spots:
            drawn = save(scatter_picture(ablation), folder, f"{name}-errors")
            files += drawn
            pictures[f"Accuracy lost over the word error rate: {slope_words(ablation)}"] = drawn[-1].read_bytes()
        recordings = put_recordings(ablation.changed, folder, noise_dir=noise_dir)
        page = render_page(
            ablation,
            pictures=pictures,
            audio=recordings.addresses,
            folder=folder,
            published=published,
            notes=recordings.notes,
        )
        files.append(_put(folder / f"{name}.html", page.encode()))
    except OSError as error:
        raise UserError(f"{folder}: can't be written: {error.strerror}. The runs themselves are kept.") from error
    return tuple(files)


def _put(path: Path, content: bytes) -> Path:
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(content)
    draft.replace(path)
    return path
