"""``grounding annotate check`` and ``convert``: labels of any format, without a window."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from grounding.console import EXIT_OK, EXIT_PARTIAL, print_json
from grounding.errors import printable

from .check import check_reading
from .convert import FORMATS, in_order, read_labels, write_labels
from .labels import FindingKind, FormatName

From = Annotated[FormatName | None, Parameter(name="--from")]
Flag = Parameter(negative="", show_default=False)


def check_command(
    folder: Path,
    /,
    *,
    from_: From = None,
    ignore: Annotated[tuple[FindingKind, ...], Flag] = (),
    json: Annotated[bool, Flag] = False,
) -> int:
    """List every problem of a folder of labels: file, item (from 0), field, what is wrong, what to do.

    Exit code 0: nothing is wrong; 1: something is; 2: the folder can't be read at all. Each line ends with the kind
    of the problem in brackets, which is what `--ignore` takes. Notes are worth a look and change no exit code.

    Args:
        folder: A data set, one participant's folder, or labels in another format.
        from_: The format [default: native; COCO for a file].
        ignore: A kind of problem to pass over; may be given several times.
        json: Print JSON.
    """
    reading = read_labels(folder, from_, deep=True)
    kept = [one for one in in_order([*reading.findings, *check_reading(reading)]) if one.kind not in ignore]
    steps = len(reading.items)
    if json:
        # Every key is always there, also those that say nothing of this problem.
        names = ("file", "item", "line", "field", "value", "what", "fix")
        lines = [
            {"kind": one.kind, "note": one.note, **{name: getattr(one.problem, name) for name in names}} for one in kept
        ]
        print_json({"format": reading.format, "steps": steps, "problems": lines})
    else:
        for one in sorted(kept, key=lambda one: one.note):
            print(f"{'note: ' if one.note else ''}{one.problem} [{one.kind}]")
        said = []
        for note, word in ((False, "problem"), (True, "note")):
            counts = Counter(one.kind for one in kept if one.note is note)
            if counts:
                kinds = ", ".join(f"{number} {kind}" for kind, number in counts.most_common())
                said.append(f"{counts.total()} {word}{'s' * (counts.total() > 1)}: {kinds}")
            elif not note:
                said.append("no problems found")
        folders = "1 folder" if len(reading.sheets) == 1 else f"{len(reading.sheets)} folders"
        print(f"{'; '.join(said)} ({steps} steps in {folders}, read as {reading.format})")
    return EXIT_PARTIAL if any(not one.note for one in kept) else EXIT_OK


def convert_command(source: Path, destination: Path, /, *, to: FormatName, from_: From = None) -> int:
    """Write labels in another format into a new folder.

    Exit code 0: every step was written; 1: some were left out (no picture) or are to do again (unreadable boxes), which
    is listed; 2: nothing was written.

    Args:
        source: A data set, one participant's folder, labels in another format, or a COCO file.
        destination: The folder to make; it must not be there yet, or be empty.
        to: The format to write.
        from_: The format of the source [default: native; COCO for a file].
    """
    reading = read_labels(source, from_)
    written = write_labels(reading, destination, to)
    for one in reading.findings:
        print(f"{one.problem} [{one.kind}]")
    where = printable(str(destination))
    print(
        f"{written.steps} steps with {written.boxes} boxes written to {where} as {to}, which keeps {FORMATS[to].keeps}"
    )
    if written.to_do_again:
        print(f"{written.to_do_again} of them are to do again: their boxes could not be taken over")
    if written.left_out:
        print(f"{written.left_out} steps were left out: their pictures are missing or broken")
    return EXIT_PARTIAL if written.left_out or written.to_do_again else EXIT_OK
