"""``python -m annotate agree``: two annotators' work on the same steps, held against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from annotate.formats.records import FormatName, VocEdges

if TYPE_CHECKING:
    from annotate.agreement.records import AgreementReport

EXIT_FINE, EXIT_FOUND = 0, 1
_SHOWN = 30

AGREE_EXAMPLES = """
Examples:

```
# Two folders with the same screenshots
python -m annotate agree ann/1 bob/1

# A stricter threshold, for a program
python -m annotate agree ann bob --iou 0.7 --json

# Go through the disagreements, with bob's boxes over ann's
python -m annotate agree ann bob --open
```
"""


def agree_command(
    a: Path,
    b: Path,
    /,
    *,
    iou: Annotated[float, Parameter(validator=validators.Number(gt=0, lte=1))] = 0.5,
    from_: Annotated[FormatName | None, Parameter(name="--from")] = None,
    voc_edges: VocEdges | None = None,
    open_: Annotated[bool, Parameter(name="--open", negative="", show_default=False)] = False,
    participant: str | None = None,
    annotator: str = "",
    all_: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Say how far two annotators agree, and on which steps they do not.

    Steps belong together by participant and screenshot. Boxes are paired one to one, so that as many pairs as possible
    reach the threshold. Exit code 0: they agree everywhere; 1: there are disagreements; 2: nothing can be compared.

    Args:
        a: One version: a data set, one participant's folder, or labels in another format.
        b: The other.
        iou: The overlap (intersection over union) from which on two boxes are the same.
        from_: The format of both [default: found out].
        voc_edges: What the numbers of Pascal VOC files mean [default: what each file says].
        open_: Open A's folder in the window, with B's boxes over the pictures and a list of the disagreements.
        participant: Whose folder to open [default: the first with a disagreement].
        annotator: With `--open`: whose name changed steps get.
        all_: List all disagreements, not the first thirty.
        json: Print JSON.
    """
    from annotate.agreement.comparing import compare
    from annotate.formats.reading import read_labels
    from annotate.terminal import print_json

    first, second = (read_labels(path, from_, voc_edges=voc_edges) for path in (a, b))
    report = compare(first, second, names=(str(a), str(b)), threshold=iou)
    if json:
        print_json(report)
    else:
        _print(report, everything=all_)
    if open_ and report.disagreements:
        from annotate.agreement.opening import open_disagreements

        open_disagreements(first, second, report, participant=participant, annotator=annotator)
    return EXIT_FOUND if report.disagreements else EXIT_FINE


def _print(report: AgreementReport, *, everything: bool) -> None:
    from annotate.terminal import plain, print_table

    states, boxes, clicks = report.states, report.boxes, report.clicks
    print(f"A: {plain(report.a)}\nB: {plain(report.b)}")
    kappa = f"not defined: {states.undefined_because}" if states.kappa is None else f"{states.kappa:.3f}"
    rows = [
        ("same state", _share(states.agree, states.decided), "steps that both have decided"),
        ("Cohen's kappa of the state", kappa, f"{states.decided} steps"),
        (f"boxes with IoU of {report.iou_threshold:g} or more", _percent(boxes.f1_percent), _f1_words(report)),
        ("mean IoU of paired boxes", _number(boxes.mean_iou), f"{boxes.pairs} pairs that overlap"),
        ("median IoU of paired boxes", _number(boxes.median_iou), ""),
        ("centre of A's box in a box of B", _share(clicks.hits_a, clicks.centres_a), "a click there is right for B"),
        ("centre of B's box in a box of A", _share(clicks.hits_b, clicks.centres_b), "a click there is right for A"),
        ("steps with all centres inside", _share(clicks.steps_agreed, clicks.steps), "steps with boxes on both sides"),
    ]
    print_table(f"agreement on {report.paired} steps", ("what", "value", "of"), rows, words=3)
    for count, words in (
        (report.undecided, f"not compared, still to do (A: {report.todo_a}, B: {report.todo_b})"),
        (report.other_pictures, "not compared, screenshots of different sizes"),
        (report.only_a, "in A only"),
        (report.only_b, "in B only"),
        (report.other_bytes, "compared, though the screenshot's file differs"),
        (report.other_words, "have other words in A than in B"),
    ):
        if count:
            print(f"{count} steps {words}")
    shown = report.disagreements if everything else report.disagreements[:_SHOWN]
    if not shown:
        print("no disagreements")
        return
    count = len(report.disagreements)
    lines = [
        (
            one.participant or "-",
            one.image,
            _position(one.index_a),
            _position(one.index_b),
            ", ".join(one.kinds),
            one.what,
        )
        for one in shown
    ]
    title = f"{count} disagreement{'' if count == 1 else 's'} (steps counted from 1, as the window does)"
    print_table(title, ("folder", "screenshot", "A", "B", "kind", "what"), lines, words=6)
    if len(shown) < count:
        print(f"… and {count - len(shown)} more; --all lists them")


def _f1_words(report: AgreementReport) -> str:
    boxes = report.boxes
    return f"F1: {boxes.agreed} pairs of A's {boxes.boxes_a} and B's {boxes.boxes_b} boxes"


def _position(index: int | None) -> str:
    return "-" if index is None else str(index + 1)


def _share(k: int, n: int) -> str:
    return f"{100 * k / n:.1f} % ({k}/{n})" if n else "- (0/0)"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
