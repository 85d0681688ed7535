"""``grounding annotate agree``: two annotators' work on the same steps, held against each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from grounding.console import EXIT_OK, EXIT_PARTIAL, print_json
from grounding.errors import UserError, printable

from ..display import WindowOptions, print_table, require_display
from ..formats.convert import read_labels
from ..formats.labels import FormatName, Reading
from .compare import AnnotatorAgreement, PairedStep, compare


def agree_command(
    a: Path,
    b: Path,
    /,
    *,
    iou: Annotated[float, Parameter(validator=validators.Number(gt=0, lte=1))] = 0.5,
    from_: Annotated[FormatName | None, Parameter(name="--from")] = None,
    open_: Annotated[bool, Parameter(name="--open", negative="", show_default=False)] = False,
    participant: str | None = None,
    annotator: str = "",
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Say how far two annotators agree, and on which steps they do not.

    Steps belong together by participant and screenshot. Boxes are paired one to one, so that as many pairs as possible
    reach the threshold. Exit code 0: they agree everywhere; 1: there are disagreements; 2: nothing can be compared.

    Args:
        a: One version: a data set, or one participant's folder.
        b: The other; labels in another format will do.
        iou: The overlap (intersection over union) from which on two boxes are the same.
        from_: The format of B [default: native; COCO for a file].
        open_: Open A's folder in the window, with B's boxes over the pictures and a list of the disagreements.
        participant: Whose folder to open [default: the first with a disagreement].
        annotator: With `--open`: whose name changed steps get.
        json: Print JSON.
    """
    first, second = read_labels(a), read_labels(b, from_)
    report = compare(first, second, threshold=iou)
    if json:
        names = ("participant", "image", "index_a", "index_b", "kinds", "what")
        lines = [{name: getattr(one, name) for name in names} for one in report.disagreements]
        print_json({"a": str(a), "b": str(b), "iou_threshold": iou, **report.counts, "disagreements": lines})
    else:
        print(f"A: {printable(str(a))}\nB: {printable(str(b))}")
        _print(report)
    if open_ and report.disagreements:
        options = comparing_options(first, b.name or str(b), report, participant=participant, annotator=annotator)
        from ..window.main import annotate

        require_display()
        others = {one.participant for one in report.disagreements if one.index_a is not None} - {options.folder.name}
        if others:
            print(f"more disagreements in {', '.join(sorted(others))}: open them with --participant", file=sys.stderr)
        annotate(options)
    return EXIT_PARTIAL if report.disagreements else EXIT_OK


def _print(report: AnnotatorAgreement) -> None:
    counts = report.counts
    states, boxes = counts["states"], counts["boxes"]
    kappa = f"not defined: {states['undefined_because']}" if states["kappa"] is None else f"{states['kappa']:.3f}"
    pairs = f"F1: {boxes['agreed']} pairs of A's {boxes['boxes_a']} and B's {boxes['boxes_b']} boxes"
    rows = [
        ("same state", _share(states["agree"], states["decided"]), "steps that both have decided"),
        ("Cohen's kappa of the state", kappa, f"{states['decided']} steps"),
        (f"boxes with IoU of {report.threshold:g} or more", _number(boxes["f1_percent"], "{:.1f} %"), pairs),
        ("mean IoU of paired boxes", _number(boxes["mean_iou"], "{:.3f}"), f"{boxes['pairs']} pairs that overlap"),
        ("median IoU of paired boxes", _number(boxes["median_iou"], "{:.3f}"), ""),
    ]
    print_table(f"agreement on {counts['paired']} steps", ("what", "value", "of"), rows, words=3)
    for name, words in (
        ("undecided", f"not compared, still to do (A: {counts['todo_a']}, B: {counts['todo_b']})"),
        ("other_pictures", "not compared, screenshots of different sizes"),
        ("only_a", "in A only"),
        ("only_b", "in B only"),
        ("other_words", "have other words in A than in B"),
    ):
        if counts[name]:
            print(f"{counts[name]} steps {words}")
    lines = [
        (one.participant or "-", one.image, *("-" if at is None else at + 1 for at in (one.index_a, one.index_b)),
         ", ".join(one.kinds), one.what)
        for one in report.disagreements
    ]  # fmt: skip
    if lines:
        title = f"disagreements: {len(lines)} (steps counted from 1, as the window does)"
        print_table(title, ("folder", "screenshot", "A", "B", "kind", "what"), lines, words=6)
    else:
        print("no disagreements")


def _share(k: int, n: int) -> str:
    return f"{100 * k / n:.1f} % ({k}/{n})" if n else "- (0/0)"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


class ComparingOptions(WindowOptions, frozen=True, kw_only=True):
    """What opens the panel of disagreements: ``other``'s name, and ``steps``, A's by position with B's of the same."""

    other: str
    threshold: float
    steps: dict[int, PairedStep]


def comparing_options(
    a: Reading, other: str, report: AnnotatorAgreement, *, participant: str | None, annotator: str
) -> ComparingOptions:
    """A's folder at its first disagreement. Raises UserError: no such participant, or none with a disagreement."""
    shown = [one for one in report.disagreements if one.index_a is not None]
    names = list(dict.fromkeys(one.participant for one in shown))
    if not names:
        raise UserError(f"--open: all disagreements are on steps that {a.root} does not have")
    name = names[0] if participant is None else participant
    if name not in names:
        raise UserError(f"--participant {name}: there is no disagreement to open; choose from {', '.join(names)}")
    return ComparingOptions(
        folder=next(sheet.folder for sheet in a.sheets if sheet.name == name),
        annotator=annotator,
        step=next(one.index_a for one in shown if one.participant == name),
        other=other,
        threshold=report.threshold,
        steps={one.index_a: one for one in report.steps if one.participant == name and one.index_a is not None},
    )
