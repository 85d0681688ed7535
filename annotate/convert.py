"""``python -m annotate convert``: labels from one format to another, saying what does not come along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from annotate.formats.records import FormatName, VocEdges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from annotate.formats.records import Finding, Reading
    from annotate.formats.writing import Written

EXIT_FINE, EXIT_FOUND = 0, 1
_SHOWN_PROBLEMS = 20

CONVERT_EXAMPLES = """
Examples:

```
# To train a detector
python -m annotate convert DATA out/coco --to coco

# From labelImg
python -m annotate convert labelimg-folder/ out/native --from voc --to native

# As the Pascal VOC development kit counts pixels
python -m annotate convert DATA out/voc --to voc --voc-edges devkit
```
"""


def convert_command(
    source: Path,
    destination: Path,
    /,
    *,
    to: FormatName,
    from_: Annotated[FormatName | None, Parameter(name="--from")] = None,
    pictures: Literal["copy", "none"] = "copy",
    round_: Annotated[bool, Parameter(name="--round", negative="", show_default=False)] = False,
    voc_edges: VocEdges | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Write labels in another format into a new folder, and say what the format could not hold.

    Exit code 0: every step was written; 1: some were left out (no picture) or are to do again (unreadable boxes), which
    is listed; 2: nothing was written. What a format has no place for is counted, and no reason for another exit code.

    Args:
        source: A data set, one participant's folder, labels in another format, a COCO file or a table.
        destination: The folder to make; it must not be there yet, or be empty.
        to: The format to write.
        from_: The format of the source [default: found out].
        pictures: Whether the pictures are copied, too; with `none`, labels name them by the paths they would have.
        round_: Put the edges of boxes on whole pixels.
        voc_edges: What the numbers of Pascal VOC files mean: labelImg's edges from 0, or the development kit's pixels
            from 1 [default: reading, what each file says; writing, labelimg].
        json: Print JSON.
    """
    from annotate.formats.reading import read_labels
    from annotate.formats.writing import write_labels

    reading = read_labels(source, from_, voc_edges=voc_edges)
    written = write_labels(
        reading,
        destination,
        to,
        copy_pictures=pictures == "copy",
        whole_pixels=round_,
        voc_edges=voc_edges or "labelimg",
    )
    if json:
        _print_json(reading, written)
    else:
        _print_findings(reading.findings)
        _print_table(reading, written)
    return EXIT_FOUND if written.left_out or written.to_do_again else EXIT_FINE


def _print_json(reading: Reading, written: Written) -> None:
    import msgspec

    from annotate.terminal import print_json

    problems = [{"kind": one.kind, **msgspec.to_builtins(one.problem)} for one in reading.findings]
    print_json({"from": reading.format, **msgspec.to_builtins(written), "problems": problems})


def _print_findings(findings: Sequence[Finding]) -> None:
    for finding in findings[:_SHOWN_PROBLEMS]:
        print(f"{finding.problem} [{finding.kind}]")
    if len(findings) > _SHOWN_PROBLEMS:
        print(f"… and {len(findings) - _SHOWN_PROBLEMS} more; python -m annotate check lists them all")


def _print_table(reading: Reading, written: Written) -> None:
    from annotate.terminal import plain, print_table

    if written.losses:
        title = f"from {reading.format} to {written.format}: what does not come along as it is"
        rows = [(loss.what, loss.how, loss.note, loss.count) for loss in written.losses]
        print_table(title, ("what", "is", "because", "how many"), rows, words=3)
    print(f"{written.steps} steps with {written.boxes} boxes written to {plain(written.folder)} as {written.format}")
    if written.to_do_again:
        print(f"{written.to_do_again} of them are to do again: their boxes could not be taken over")
    if written.left_out:
        print(f"{written.left_out} steps were left out: their pictures are missing or broken")
