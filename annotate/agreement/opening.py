"""The window on the disagreements: one annotator's folder, the other one's boxes over the pictures."""

from __future__ import annotations

import sys
from pathlib import Path

from annotate.agreement.pairing import pair_steps
from annotate.agreement.records import AgreementReport, Disagreement
from annotate.formats.records import Reading
from annotate.records import Entry
from annotate.window.panels import WindowOptions
from grounding.errors import UserError
from grounding.records import Record


class OtherVersion(Record, frozen=True, kw_only=True):
    """The other annotator's work on the folder that is open.

    ``entries`` has the other version of each step by its position; ``disagreements`` are those of this folder.
    """

    name: str
    threshold: float
    entries: dict[int, Entry]
    disagreements: tuple[Disagreement, ...]


class ComparingOptions(WindowOptions, frozen=True, kw_only=True):
    """What opens the panel of disagreements."""

    other: OtherVersion


def open_disagreements(
    a: Reading, b: Reading, report: AgreementReport, *, participant: str | None, annotator: str
) -> None:
    """Open A's folder at its first disagreement and stay until the window is closed.

    Args:
        a: The version that can be changed in the window; native.
        b: The version that is shown over it.
        report: Where they differ.
        participant: Whose folder; None for the first that has a disagreement.
        annotator: Whose name changed steps get.

    Raises:
        UserError: A is in another format, there is no such participant, or no window can be opened.
    """
    options = comparing_options(a, b, report, participant=participant, annotator=annotator)
    from annotate.display import require_display

    require_display()
    from annotate.window.main_window import annotate

    others = _shown_names(report, options.folder.name)
    if others:
        print(f"more disagreements in {', '.join(others)}: open them with --participant", file=sys.stderr)
    annotate(options)


def comparing_options(
    a: Reading, b: Reading, report: AgreementReport, *, participant: str | None, annotator: str
) -> ComparingOptions:
    """What to open; errors as :func:`open_disagreements`."""
    if a.format != "native":
        raise UserError(f"--open: {report.a} is {a.format}; only a native folder can be opened: convert it first")
    shown = [one for one in report.disagreements if one.index_a is not None]
    names = list(dict.fromkeys(one.participant for one in shown))
    if participant is None and not names:
        raise UserError(f"--open: all disagreements are on steps that {report.a} does not have")
    name = names[0] if participant is None else participant
    sheet = next((sheet for sheet in a.sheets if sheet.name == name), None)
    if sheet is None or name not in names:
        raise UserError(f"--participant {name}: there is no disagreement to open; choose from {', '.join(names)}")
    pairs = [pair for pair in pair_steps(a, b).pairs if pair.participant == name]
    here = tuple(one for one in shown if one.participant == name)
    other = OtherVersion(
        name=Path(report.b).name or report.b,
        threshold=report.iou_threshold,
        entries={pair.index_a: pair.b.entry for pair in pairs},
        disagreements=here,
    )
    return ComparingOptions(folder=sheet.folder, annotator=annotator, step=here[0].index_a, other=other)


def _shown_names(report: AgreementReport, opened: str) -> list[str]:
    names = dict.fromkeys(one.participant for one in report.disagreements if one.index_a is not None)
    return [name for name in names if name != opened]
