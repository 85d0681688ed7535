"""The steps of one participant and the files they become."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import oxipng
from PIL import Image

Box = dict[str, int]


@dataclass
class Step:
    """One screenshot with the instruction that was spoken over it."""

    task: str
    instruction: str
    action: str
    done: str
    boxes: list[Box] | None = None
    plan: str | None = None
    kinds: list[str] = field(default_factory=list)


def png_bytes(picture: Image.Image) -> bytes:
    """A small PNG with exactly these pixels."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=1)
    # Flat pictures with smoothed letters come out smallest without row filters.
    packed = oxipng.optimize_from_memory(
        buffer.getvalue(), level=1, filter=[oxipng.RowFilter.NoOp], deflate=oxipng.Deflaters.libdeflater(12)
    )
    return bytes(packed)


class Recorder:
    """Collects steps and writes the participant's folder."""

    def __init__(self, folder: Path, debug: Path | None = None) -> None:
        self.folder, self.steps, self._debug = folder, list[Step](), debug
        (folder / "images").mkdir(parents=True)
        if debug is not None:
            debug.mkdir(parents=True, exist_ok=True)

    def add(self, step: Step, picture: Image.Image) -> None:
        """Store one step and its screenshot."""
        self.steps.append(step)
        number = len(self.steps)
        for box in step.boxes or []:
            inside = box["x"] >= 0 and box["y"] >= 0 and box["width"] > 0 and box["height"] > 0
            if not inside or box["x"] + box["width"] > picture.width or box["y"] + box["height"] > picture.height:
                raise ValueError(f"step {number}: box outside the picture: {box}")
        (self.folder / "images" / f"{number}.png").write_bytes(png_bytes(picture))
        if self._debug is not None:
            from overlays import overlay

            overlay(picture, step, number).save(self._debug / f"{self.folder.name}-{number:03d}.png", compress_level=1)

    def write(self) -> None:
        """Write the questions and the history."""
        questions, history = [], []
        for number, step in enumerate(self.steps, 1):
            boxes: Any = step.boxes[0] if step.boxes and len(step.boxes) == 1 and number % 4 == 0 else step.boxes
            questions.append({
                "task": step.task, "instruction": step.instruction, "action": step.action,
                "final_image": f"images/{number}.png", "bounding_box": boxes,
            })  # fmt: skip
            history.append({"instruction": step.instruction, "extracted_action": step.done})
        write_json(self.folder / "questions_with_task_updated.json", questions)
        write_json(self.folder / "extracted_actions_gt.json", history)

    def plan(self) -> dict[str, str]:
        """The reference plan: image number to explicit instruction."""
        return {str(number): step.plan for number, step in enumerate(self.steps, 1) if step.plan is not None}


def write_json(path: Path, value: object) -> None:
    """Write JSON the same way every time."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
