"""Where the numbers go, and in which colours. Boxes in, label boxes out; pure."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grounding.marks.grid import Grid, IntBox, overlap

Colour = tuple[int, int, int]

BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)
_GOLDEN = 0.618033988749895

CROWDING = 6.0
"""A pixel of another label that is covered costs as much as so many pixels of the screenshot's own ink."""

INTRUSION = 0.5
"""A pixel of another region that is covered costs as much as so many pixels of ink: the number may seem to be its."""

INSET = 4
CELL = 64


def colour(number: int) -> Colour:
    """A strong colour for a number; numbers that follow each other are far apart on the wheel."""
    red, green, blue = colorsys.hsv_to_rgb((number * _GOLDEN) % 1.0, 0.9, 0.8 if number % 2 else 0.95)
    return round(red * 255), round(green * 255), round(blue * 255)


def luminance(rgb: Colour) -> float:
    """Relative luminance by WCAG 2, 0 to 1."""

    def linear(value: int) -> float:
        part = value / 255
        return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)

    return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2])


def contrast(one: Colour, other: Colour) -> float:
    """Contrast ratio by WCAG 2, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def text_colour(background: Colour) -> Colour:
    """Black or white, whichever is easier to read on a background; one of them always has at least 4.5 to 1."""
    return max((BLACK, WHITE), key=lambda text: contrast(text, background))


def place_labels(
    boxes: Sequence[IntBox], sizes: Sequence[tuple[int, int]], picture: tuple[int, int], ink: Grid
) -> list[IntBox]:
    """A place for each label at its box: outside, where it hides least, and on no other label where there is room.

    Args:
        boxes: The regions, the largest first.
        sizes: Width and height of each label.
        picture: Width and height of the picture.
        ink: Ones where the screenshot has something to read.
    """
    table = np.array(boxes, dtype=np.int64).reshape(-1, 4)
    placed: dict[int, IntBox] = {}
    cells: dict[tuple[int, int], list[IntBox]] = {}
    # The smallest regions have the fewest places to choose from, so they choose first.
    for index in reversed(range(len(boxes))):
        choices = _candidates(boxes[index], sizes[index], picture)
        foreign = _foreign(choices, index, table)
        costs = [_cost(choice, rank, ink, cells) + INTRUSION * foreign[rank] for rank, choice in enumerate(choices)]
        best = choices[costs.index(min(costs))]
        placed[index] = best
        for cell in _cells(best):
            cells.setdefault(cell, []).append(best)
    return [placed[index] for index in range(len(boxes))]


def _candidates(box: IntBox, size: tuple[int, int], picture: tuple[int, int]) -> list[IntBox]:
    """Places for a label, from the most to the least expected, moved into the picture where they would leave it."""
    left, top, right, bottom = box
    across, down = size
    middle_x, middle_y = (left + right - across) // 2, (top + bottom - down) // 2
    corners = (
        (left, top - down),
        (left - across, middle_y),
        (right, middle_y),
        (right - across, top - down),
        (left, bottom),
        (right - across, bottom),
        (left - across, top),
        (left - across, top - down),
        (right, top - down),
        (right, top),
        (left - across, bottom),
        (right, bottom),
        (left + INSET, top + INSET),
        (right - across - INSET, top + INSET),
        (right - across - INSET, bottom - down - INSET),
        (left + INSET, bottom - down - INSET),
        (middle_x, top - down // 2),
        (middle_x, bottom - down // 2),
        (middle_x, middle_y),
    )
    found = []
    for x, y in corners:
        x = max(0, min(x, picture[0] - across))
        y = max(0, min(y, picture[1] - down))
        found.append((x, y, min(x + across, picture[0]), min(y + down, picture[1])))
    return found


def _foreign(choices: list[IntBox], index: int, table: npt.NDArray[np.int64]) -> list[float]:
    """How much of the regions beside its own each choice covers: a number there would seem to be theirs."""
    own = table[index]
    holds_own = (table[:, :2] <= own[:2]).all(axis=1) & (table[:, 2:] >= own[2:]).all(axis=1)
    others = table[~holds_own]
    labels = np.array(choices, dtype=np.int64)[:, None, :]
    across = np.minimum(labels[..., 2], others[:, 2]) - np.maximum(labels[..., 0], others[:, 0])
    down = np.minimum(labels[..., 3], others[:, 3]) - np.maximum(labels[..., 1], others[:, 1])
    covered = (np.clip(across, 0, None) * np.clip(down, 0, None)).sum(axis=1)
    return [float(pixels) for pixels in covered]


def _cost(label: IntBox, rank: int, ink: Grid, cells: dict[tuple[int, int], list[IntBox]]) -> float:
    others = {other for cell in _cells(label) for other in cells.get(cell, ())}
    crowded = sum(overlap(label, other) for other in others)
    return ink.total(label) + CROWDING * crowded + 2.0 * rank


def _cells(box: IntBox) -> list[tuple[int, int]]:
    return [
        (column, row)
        for column in range(box[0] // CELL, box[2] // CELL + 1)
        for row in range(box[1] // CELL, box[3] // CELL + 1)
    ]
