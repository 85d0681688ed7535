"""A small desktop data set in PERCU's layout: drawn screens with words on them, every kind of action that matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

Line = dict[str, Any]
SIZE = (1280, 720)

SCREENS: dict[str, tuple[tuple[int, int, str], ...]] = {
    "menu": ((200, 120, "Documents"), (200, 220, "Pictures"), (200, 320, "Downloads")),
    "editor": ((500, 200, "Shopping list"), (900, 600, "Save as")),
    "colours": ((300, 300, "Crimson"), (300, 400, "Turquoise"), (700, 650, "Cancel")),
}  # Words and the place of their middle, by the name of the screen.
PREFERENCE: tuple[Line, ...] = (
    {
        "action": "click (300, 400)", "screen": "colours", "thought": "Robin's favourite colour is Turquoise.",
        "rect": {"left": 240, "top": 380, "right": 360, "bottom": 420}, "element": "Turquoise",
        "other_users": ["click (300, 300)"],
    },
    {"action": "press key enter", "screen": "colours", "thought": "Press Enter to take it."},
    {"action": "finish", "screen": "colours", "thought": "The task is done."},
)  # fmt: skip
ROUTINE: tuple[Line, ...] = (
    {
        "action": "double click (200, 120)", "screen": "menu", "thought": "I double click Documents.",
        "rect": {"left": 130, "top": 100, "right": 270, "bottom": 140}, "element": "Documents",
    },
    {"action": "type text: 30 apples 5", "screen": "editor", "thought": 'I type "30 apples 5" as always.'},
    {"action": "hotkey (Ctrl, s)", "screen": "editor", "thought": "Robin saves with Ctrl and S."},
    {"action": "scroll (-300)", "screen": "editor", "thought": "I scroll down to the end."},
)  # fmt: skip
SECOND = {"preference": "Make it my colour.", "routine": "Do the usual with my list."}


def drawn(folder: Path, name: str) -> str:
    """Draw a screen, once; its path relative to the events folder."""
    path = folder / "screenshot" / f"{name}.png"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.new("RGB", SIZE, "white")
        pen, font = ImageDraw.Draw(image), ImageFont.load_default(24)
        for x, y, words in SCREENS[name]:
            pen.text((x, y), words, fill="black", font=font, anchor="mm")
        image.save(path)
    return f"screenshot/{name}.png"


def desktop_data(
    root: Path, tasks: dict[str, tuple[Line, ...]] | None = None, *, second: dict[str, str] | None = None
) -> Path:
    """Write the data set; task names begin with their kind. Steps name a screen instead of a screenshot."""
    tasks = tasks or {"preference_colour": PREFERENCE, "routine_list": ROUTINE}
    events = root / "data" / "events"
    for name, steps in tasks.items():
        kind = name.partition("_")[0]
        lines = []
        for step in steps:
            fields = {key: value for key, value in step.items() if key != "screen"}
            fields["screenshot"] = drawn(events, step["screen"])
            fields.setdefault("second instruction", (second or SECOND)[kind])
            lines.append(json.dumps(fields))
        path = root / "final_data" / f"{kind}_task" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root
