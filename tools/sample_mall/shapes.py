"""The shapes of products, from ``shapes.yaml``, and where each has room for its maker's name."""

from __future__ import annotations

from pathlib import Path

import yaml

SHAPES: dict[str, str] = {
    name: "".join(str(lines).split("\n"))
    for name, lines in yaml.safe_load((Path(__file__).parent / "shapes.yaml").read_text()).items()
}

LABELS: dict[str, tuple[int, int, int, str]] = {
    "tin": (200, 238, 144, "a"),
    "box": (185, 222, 112, "a"),
    "bag": (200, 232, 132, "a"),
    "bottle": (200, 272, 106, "a"),
    "bar": (200, 250, 164, "b"),
    "jar": (200, 242, 124, "ink"),
    "grinder": (200, 246, 94, "a"),
    "tote": (200, 246, 94, "a"),
    "ssd": (200, 180, 140, "b"),
    "charger": (200, 170, 120, "b"),
    "powerbank": (200, 230, 120, "b"),
}  # Of shapes with a label: middle and ground of the line, the room it has, and in which colour it is written.
