"""Make a data set of coloured squares that are named in words: what a tiny grounder can learn on a processor.

    python -m tools.training_proof.squares DIR [--people 5] [--steps 60] [--seed 0]

The layout is RealWebAssist's. A picture has 4 x 4 places of 28 pixels, the size of one image token of Qwen2.5-VL; some
of them hold a square. Its colours run from left to right and from top to bottom, and show around each square, since
such a model knows of places only relative to each other: without them it can't say where a thing is. No two pictures of
the set are the same.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 160, 60),
    "blue": (40, 70, 220),
    "yellow": (240, 210, 40),
    "purple": (140, 40, 160),
    "black": (20, 20, 20),
}
PLACE_PX = 28
PLACES = 4
SQUARE_PX = 18
SQUARES = 3
STEPS_OF_A_TASK = 10


def ground(places: int) -> Image.Image:
    """The picture without squares: red grows to the right, green downwards."""
    side_px = PLACE_PX * places
    ramp = (np.arange(side_px) * 200 // side_px + 30).astype(np.uint8)
    pixels = np.full((side_px, side_px, 3), 128, np.uint8)
    pixels[..., 0] = ramp[None, :]
    pixels[..., 1] = ramp[:, None]
    return Image.fromarray(pixels)


def write(folder: Path, *, people: int, steps: int, seed: int = 0, homes: bool = False) -> Path:
    """Write the data set.

    Args:
        folder: Where to; one folder for each person, called 1, 2, ...
        people: How many persons.
        steps: Steps of each person, ten to a task.
        seed: Of all that is drawn.
        homes: A picture has 3 x 3 places, and the square that is meant lies at its colour's own: quicker to learn.
    """
    source = random.Random(seed)
    places = 3 if homes else PLACES
    empty = ground(places)
    drawn: set[tuple[tuple[int, str], ...]] = set()
    for person in range(1, people + 1):
        images = folder / str(person) / "images"
        images.mkdir(parents=True, exist_ok=True)
        questions, actions = [], []
        for number in range(1, steps + 1):
            while True:
                taken = source.sample(range(places * places), SQUARES)
                colours = source.sample(sorted(COLOURS), SQUARES)
                if homes and (home := sorted(COLOURS).index(colours[0])) in taken[1:]:
                    continue
                squares = tuple(sorted(zip([home, *taken[1:]] if homes else taken, colours, strict=True)))
                if squares not in drawn:
                    break
            drawn.add(squares)
            picture = empty.copy()
            pen = ImageDraw.Draw(picture)
            corners = {}
            for place, colour in squares:
                margin = (PLACE_PX - SQUARE_PX) // 2
                left, top = place % places * PLACE_PX + margin, place // places * PLACE_PX + margin
                corners[colour] = (left, top)
                pen.rectangle((left, top, left + SQUARE_PX - 1, top + SQUARE_PX - 1), fill=COLOURS[colour])
            picture.save(images / f"{number}.png", optimize=True)
            wanted = colours[0] if homes else source.choice(sorted(corners))
            left, top = corners[wanted]
            instruction = f"click on the {wanted} square"
            questions.append(
                {
                    "task": f"Squares {person}.{(number - 1) // STEPS_OF_A_TASK + 1}",
                    "instruction": instruction,
                    "action": "click",
                    "final_image": f"images/{number}.png",
                    "bounding_box": [{"x": left, "y": top, "width": SQUARE_PX, "height": SQUARE_PX}],
                }
            )
            actions.append({"instruction": instruction, "extracted_action": f"Clicked the {wanted} square"})
        for name, content in (("questions_with_task_updated.json", questions), ("extracted_actions_gt.json", actions)):
            (folder / str(person) / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
    return folder


def main() -> None:
    """Read the options and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--people", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    write(asked.folder, people=asked.people, steps=asked.steps, seed=asked.seed)
    print(f"{asked.people} people with {asked.steps} steps each in {asked.folder}")


if __name__ == "__main__":
    main()
