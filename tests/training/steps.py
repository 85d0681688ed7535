"""Short ways to make sessions, examples and recipes for tests of a grounder's training."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from fakes.make import grounder_card
from PIL import Image

from grounding.cards import GrounderCard
from grounding.records import Box, HistoryEntry, Polygon, Query, Region, Screenshot, Session, Size, Step, TaskLabel
from grounding.training.examples import GrounderExample
from grounding.training.recipes import GrounderRecipe, LoraRule, Method, Optimisation, Precision
from grounding.training.records import TrainStage

SMALL = {"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 20_000}


def small_card(**fields: Any) -> GrounderCard:
    """A card that shows the model pictures of few tokens and reads points on them."""
    usual = {
        "family": "qwen2_5_vl",
        "image": SMALL,
        "answer": {"form": "point", "space": "resized_px"},
        "parameters": {"temperature": 0, "max_tokens": 12},
    }
    return grounder_card(**{**usual, **fields})


def step(
    number: int = 0,
    *,
    size: Size | None = None,
    boxes: tuple[Box, ...] = (),
    polygons: tuple[Polygon, ...] = (),
    shot: Screenshot | None = None,
    **fields: Any,
) -> Step:
    """A scored step of participant 1 with a screenshot that needn't be there."""
    size = size or Size(width=112, height=112)
    usual: dict[str, Any] = {
        "id": f"1/{number}",
        "participant": "1",
        "task": "find a lamp",
        "instruction_index": number,
        "instruction": f"press button {number}",
        "screenshot": shot or Screenshot(path=f"{number}.png", size=size, sha256=f"{number:064d}"),
        "region": Region(boxes=boxes, polygons=polygons),
        "history_entry": HistoryEntry(instruction=f"press button {number}", action=f"clicked {number}"),
    }
    return Step(**{**usual, **fields})


def box(left: float, top: float, right: float, bottom: float) -> Box:
    """A box by its edges, in pixels."""
    return Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)


def example(asked: Step) -> GrounderExample:
    """An example without history."""
    query = Query(step_id=asked.id, key="", screenshot=asked.screenshot, instruction=asked.instruction)
    return GrounderExample(step=asked, query=query)


def drawn(folder: Path, count: int, *, side: int = 112) -> tuple[Step, ...]:
    """Steps over real pictures: a light square on dark ground, each at another place."""
    made = []
    for number in range(count):
        left, top = 8 + (number * 37) % (side - 48), 8 + (number * 53) % (side - 48)
        image = Image.new("RGB", (side, side), (20, 40, 60))
        image.paste((250, 200, 30), (left, top, left + 32, top + 32))
        path = folder / f"{number}.png"
        image.save(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        shot = Screenshot(path=str(path), size=Size(width=side, height=side), sha256=digest)
        made.append(step(number, boxes=(box(left, top, left + 32, top + 32),), shot=shot))
    return tuple(made)


def session(steps: tuple[Step, ...]) -> list[Session]:
    """One participant's steps."""
    return [Session(participant="1", steps=steps)]


def clicked(name: str, participant: str, task: TaskLabel, picture: str, *, scored: bool = True, index: int = 0) -> Step:
    """A step whose target is a box at the top left; ``picture`` is the screenshot's hash."""
    shot = Screenshot(path=f"{picture}.png", size=Size(width=100, height=80), sha256=picture)
    region = Region(boxes=(box(0, 0, 10, 10),)) if scored else None
    return step(index, id=name, participant=participant, task=task, shot=shot, region=region)


def sessions(*rows: tuple[str, TaskLabel, Sequence[str]]) -> tuple[Session, ...]:
    """One row for each task: the participant, its label, and the screenshot of each of its steps."""
    steps: dict[str, list[Step]] = {}
    for participant, task, pictures in rows:
        own = steps.setdefault(participant, [])
        for picture in pictures:
            own.append(clicked(f"{participant}/{len(own) + 1}", participant, task, picture, index=len(own)))
    return tuple(Session(participant=name, steps=tuple(own)) for name, own in steps.items())


def recipe(**fields: Any) -> GrounderRecipe:
    """A recipe for a few steps on the CPU; the keywords replace its fields."""
    usual = GrounderRecipe(
        name="test",
        lora=LoraRule(rank=4, alpha=8),
        precision=Precision(dtype="float32", gradient_checkpointing=False),
        history=0,
    )
    return msgspec.structs.replace(usual, **fields)


def few(**fields: Any) -> Optimisation:
    """Some steps of the optimiser at a rate that moves a tiny model."""
    return msgspec.structs.replace(Optimisation(learning_rate=1e-3, max_steps=2, schedule="constant"), **fields)


def stage(recipe: GrounderRecipe, card: GrounderCard, model: Path, **fields: Any) -> TrainStage:
    """The stage of a recipe's SFT or GRPO on the CPU."""
    method: Method = "sft" if recipe.grpo is None else "grpo"
    rule = recipe.grpo or recipe.sft
    assert rule is not None
    usual = TrainStage(
        name=method,
        method=method,
        model=str(model),
        adapter="" if card.adapter is None else card.adapter.path,
        optimisation=rule.optimisation,
        lora=recipe.lora,
        vision=recipe.vision,
        precision=recipe.precision,
        saving=recipe.saving,
        held_out=recipe.held_out,
        card=card,
        grpo=recipe.grpo,
        device="cpu",
    )
    return msgspec.structs.replace(usual, **fields)
