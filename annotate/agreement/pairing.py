"""Which step of one folder is which of the other: by participant and screenshot."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

from annotate.agreement.records import LoneStep, PairedStep
from annotate.formats.records import Item, Reading, Sheet
from grounding.errors import UserError
from grounding.records import Record


class Pairing(Record, frozen=True, kw_only=True):
    """Steps that both have, in A's order, and steps that only one has."""

    pairs: tuple[PairedStep, ...]
    lone: tuple[LoneStep, ...]


def pair_steps(a: Reading, b: Reading) -> Pairing:
    """Pair the steps of two readings.

    Folders belong together by name; where each side has one alone, these two do. Steps belong together by the path of
    the screenshot inside the folder; the second step on a screenshot goes with the second.

    Raises:
        UserError: no folder has the same name on both sides, or no step the same screenshot.
    """
    pairs: list[PairedStep] = []
    lone: list[LoneStep] = []
    for first, second in _folders(a, b):
        _pair_folder(first, second, pairs, lone)
    if not pairs:
        raise UserError(
            f"{a.root} and {b.root} have no screenshot in common: expected the same steps, annotated by two people"
        )
    return Pairing(pairs=tuple(pairs), lone=tuple(lone))


def _folders(a: Reading, b: Reading) -> list[tuple[Sheet | None, Sheet | None]]:
    if len(a.sheets) == len(b.sheets) == 1:
        return [(a.sheets[0], b.sheets[0])]
    of_a, of_b = ({sheet.name: sheet for sheet in reading.sheets} for reading in (a, b))
    if not set(of_a) & set(of_b):
        raise UserError(
            f"{a.root} has the folders {', '.join(of_a)}, {b.root} has {', '.join(of_b)}: none of them is in both; "
            "give two versions of the same data"
        )
    return [(of_a.get(name), of_b.get(name)) for name in dict.fromkeys([*of_a, *of_b])]


def _pair_folder(a: Sheet | None, b: Sheet | None, pairs: list[PairedStep], lone: list[LoneStep]) -> None:
    of_a, of_b = ({} if sheet is None else _by_picture(sheet) for sheet in (a, b))
    participant = a.name if a is not None else b.name if b is not None else ""
    for key, (index_a, item) in of_a.items():
        if key in of_b:
            index_b, other = of_b[key]
            pairs.append(
                PairedStep(
                    participant=participant,
                    image=item.entry.image,
                    index_a=index_a,
                    index_b=index_b,
                    a=item,
                    b=other,
                )
            )
        else:
            lone.append(LoneStep(participant=participant, image=item.entry.image, index=index_a, side="a"))
    for key, (index, item) in of_b.items():
        if key not in of_a:
            lone.append(LoneStep(participant=participant, image=item.entry.image, index=index, side="b"))


def _by_picture(sheet: Sheet) -> dict[tuple[str, int], tuple[int, Item]]:
    uses: Counter[str] = Counter()
    found = {}
    for index, item in enumerate(sheet.items):
        # The folder "images" of the native layout is not part of a path elsewhere.
        image = str(PurePosixPath(item.entry.image)).removeprefix("images/")
        uses[image] += 1
        found[image, uses[image]] = (index, item)
    return found
