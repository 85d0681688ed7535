"""``python -m annotate check``: everything that is wrong with a folder of labels, for people and for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from annotate.formats.records import FindingKind, FormatName, VocEdges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from annotate.formats.records import Finding

EXIT_FINE, EXIT_FOUND = 0, 1
SHOWN_OF_A_KIND = 20

CHECK_EXAMPLES = """
Examples:

```
# One participant's folder, or a whole data set
python -m annotate check DATA/1

# While the work goes on
python -m annotate check DATA --ignore todo

# Another tool's labels, for a program
python -m annotate check exported/ --from yolo --json
```
"""


def check_command(
    folder: Path,
    /,
    *,
    from_: Annotated[FormatName | None, Parameter(name="--from")] = None,
    ignore: Annotated[tuple[FindingKind, ...], Parameter(negative="", show_default=False)] = (),
    voc_edges: VocEdges | None = None,
    fast: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    all_: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """List every problem of a folder of labels: file, item (from 0), field, what is wrong, what to do.

    Exit code 0: nothing was found; 1: something was; 2: the folder can't be read at all. Each line ends with the kind
    of the problem in brackets, which is what `--ignore` takes.

    Args:
        folder: A data set, one participant's folder, or labels in another format.
        from_: The format [default: found out].
        ignore: A kind of problem to pass over; may be given several times.
        voc_edges: What the numbers of Pascal VOC files mean [default: what each file says].
        fast: Look at header and end of each picture, instead of decoding every pixel.
        all_: List all problems, not the first twenty of each kind.
        json: Print JSON.
    """
    from annotate.checking.orphans import orphan_pictures
    from annotate.checking.rules import check_reading
    from annotate.formats.reading import in_order, read_labels

    reading = read_labels(folder, from_, deep=not fast, voc_edges=voc_edges)
    found = in_order([*reading.findings, *check_reading(reading), *orphan_pictures(reading)])
    kept = [finding for finding in found if finding.kind not in ignore]
    steps = sum(len(sheet.items) for sheet in reading.sheets)
    if json:
        _print_json(reading.format, steps, kept)
    else:
        _print(f"{steps} steps in {_folders(len(reading.sheets))}, read as {reading.format}", kept, everything=all_)
    return EXIT_FOUND if kept else EXIT_FINE


def _folders(count: int) -> str:
    return "1 folder" if count == 1 else f"{count} folders"


def _print_json(format_name: FormatName, steps: int, found: Sequence[Finding]) -> None:
    from annotate.terminal import print_json

    # Every key is always there, also those that say nothing of this problem.
    lines = [
        {
            "kind": finding.kind,
            **{
                name: getattr(finding.problem, name)
                for name in ("file", "item", "line", "field", "value", "what", "fix")
            },
        }
        for finding in found
    ]
    print_json({"format": format_name, "steps": steps, "problems": lines})


def _print(title: str, found: Sequence[Finding], *, everything: bool) -> None:
    from collections import Counter

    shown: Counter[str] = Counter()
    for finding in found:
        shown[finding.kind] += 1
        if everything or shown[finding.kind] <= SHOWN_OF_A_KIND:
            print(f"{finding.problem} [{finding.kind}]")
    hidden = {kind: count - SHOWN_OF_A_KIND for kind, count in shown.items() if count > SHOWN_OF_A_KIND}
    if hidden and not everything:
        print(f"… and {', '.join(f'{count} more of {kind}' for kind, count in hidden.items())}; --all lists them")
    if not found:
        print(f"no problems found ({title})")
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in shown.most_common())
    print(f"{len(found)} problem{'' if len(found) == 1 else 's'}: {kinds} ({title})")
