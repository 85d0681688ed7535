"""The benchmark's data: a folder in the RealWebAssist layout with steps of about 1 MB PNG each.

The pictures are noise over flat areas, so that they neither compress to nothing nor take long to make; larger runs
link to the same pictures under other names, which costs no disk.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from PIL import Image

PARTICIPANTS = 10
STEPS_A_TASK = 16
SIZE = (1920, 1080)


def _picture(path: Path, seed: int) -> None:
    """A 1920x1080 screenshot of about 1 MB: two thirds flat, the rest noise in few colours."""
    draw = np.random.default_rng(seed)
    pixels = np.full((SIZE[1], SIZE[0], 3), 240, np.uint8)
    noise = draw.integers(0, 20, (460, SIZE[0], 1), np.uint8) * np.uint8(12)
    pixels[300:760] = np.repeat(noise, 3, axis=2)
    Image.fromarray(pixels).save(path, compress_level=1)


def make_workload(folder: Path, *, steps: int, pictures: int = 200) -> Path:
    """Write (or find) a data set of so many steps over so many distinct pictures; returns its folder."""
    data = folder / f"steps-{steps}"
    if (data / "done").exists():
        return data
    store = folder / "pictures"
    store.mkdir(parents=True, exist_ok=True)
    for number in range(pictures):
        if not (store / f"{number}.png").exists():
            _picture(store / f"{number}.png", number)
    for participant in range(1, PARTICIPANTS + 1):
        images = data / str(participant) / "images"
        images.mkdir(parents=True, exist_ok=True)
        items = []
        share = range(participant - 1, steps, PARTICIPANTS)
        for position, number in enumerate(share, start=1):
            target = images / f"{position}.png"
            if not target.exists():
                os.link(store / f"{number % pictures}.png", target)
            items.append(
                {
                    "task": f"task {position // STEPS_A_TASK}",
                    "instruction": f"okay, open the entry number {position}",
                    "action": "click",
                    "final_image": f"images/{position}.png",
                    "bounding_box": [{"x": 600, "y": 340, "width": 80 + position % 40, "height": 40}],
                }
            )
        (data / str(participant) / "questions_with_task_updated.json").write_text(json.dumps(items))
    (data / "done").touch()
    return data
