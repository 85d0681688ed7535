"""``python -m annotate stats``: how much there is, how much is done, and by whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from annotate.formats.records import FormatName, VocEdges

if TYPE_CHECKING:
    from annotate.statistics import BoxCounts, FolderCounts, Spread, StatsReport

EXIT_FINE, EXIT_FOUND = 0, 1

STATS_EXAMPLES = """
Examples:

```
# A data set
python -m annotate stats DATA

# Smaller small targets, for a program
python -m annotate stats DATA/1 --small 12 --json
```
"""


def stats_command(
    folder: Path,
    /,
    *,
    from_: Annotated[FormatName | None, Parameter(name="--from")] = None,
    small: Annotated[float, Parameter(validator=validators.Number(gt=0))] = 16,
    voc_edges: VocEdges | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Count steps by state, boxes and their sizes, tasks, annotators, and show how far the work is.

    Exit code 0: all could be read; 1: something could not, and `python -m annotate check` says what; 2: nothing could.

    Args:
        folder: A data set, one participant's folder, or labels in another format.
        from_: The format [default: found out].
        small: A target whose shorter side is below this many pixels is small.
        voc_edges: What the numbers of Pascal VOC files mean [default: what each file says].
        json: Print JSON.
    """
    from annotate.formats.reading import read_labels
    from annotate.statistics import count
    from annotate.terminal import print_json

    reading = read_labels(folder, from_, voc_edges=voc_edges)
    report = count(reading, small_below_px=small)
    if json:
        print_json(report)
    else:
        _print(report)
        if reading.findings:
            found = len(reading.findings)
            things = "1 thing" if found == 1 else f"{found} things"
            print(f"{things} could not be read: python -m annotate check {folder} lists them")
    return EXIT_FOUND if reading.findings else EXIT_FINE


def _print(report: StatsReport) -> None:
    from annotate.terminal import print_table

    folders = [*report.folders, report.total] if len(report.folders) > 1 else list(report.folders)
    print_table(
        f"steps ({report.format})",
        ("folder", "steps", "boxes", "no click", "to do", "done", "verified", "tasks", "instructions"),
        [_row(folder) for folder in folders],
    )
    if report.boxes.boxes:
        _print_boxes(report.boxes)
    else:
        print("no boxes")
    pictures = ", ".join(f"{size}: {count}" for size, count in report.pictures.items()) or "none that can be read"
    print(f"steps by the size of their picture: {pictures}")
    if report.annotators:
        print_table(
            "who changed steps last",
            ("annotator", "first", "last", "steps"),
            [(one.name or "nobody named", one.first_at, one.last_at, one.steps) for one in report.annotators],
            words=3,
        )


def _print_boxes(boxes: BoxCounts) -> None:
    from annotate.terminal import print_table

    print_table(
        f"{boxes.boxes} boxes",
        ("of a box", "least", "median", "largest"),
        [
            ("width, px", *_spread(boxes.width_px, "{:g}")),
            ("height, px", *_spread(boxes.height_px, "{:g}")),
            ("share of the picture, %", *_spread(boxes.share_percent, "{:.3f}")),
        ],
    )
    per_step = ", ".join(f"{number}: {steps}" for number, steps in boxes.per_step.items())
    print(f"steps by their number of boxes: {per_step}")
    print(f"small targets (shorter side below {boxes.small_below_px:g} px): {boxes.small} of {boxes.boxes}")
    print(f"kinds: {boxes.text} text, {boxes.icon} icon, {boxes.unsaid} not said")
    if boxes.between_pixels:
        print(f"between pixels: {boxes.between_pixels}")


def _row(folder: FolderCounts) -> tuple[object, ...]:
    done = "-" if folder.done_percent is None else f"{folder.done_percent:.1f} %"
    return (
        folder.name,
        folder.steps,
        folder.boxes_steps,
        folder.no_click,
        folder.todo,
        done,
        folder.verified,
        folder.tasks,
        folder.instructions,
    )


def _spread(spread: Spread | None, form: str) -> tuple[str, str, str]:
    if spread is None:
        return "-", "-", "-"
    return form.format(spread.least), form.format(spread.median), form.format(spread.largest)
