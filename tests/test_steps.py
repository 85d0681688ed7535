from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grounding.journal import Journal
from grounding.records import (
    Box,
    Failure,
    HistoryEntry,
    Plan,
    Point,
    Prediction,
    Query,
    Region,
    Screenshot,
    Session,
    Size,
    Step,
)
from grounding.runner import Runner
from grounding.steps import GroundStage, PlanStage, StepItem, step_items

REGION = Region(boxes=(Box(left_px=0, top_px=0, right_px=9, bottom_px=9),))
HISTORY = (HistoryEntry(instruction="find a bag", action="clicked"),)


def step(number: int, participant: str = "1", **fields: Any) -> Step:
    return Step(
        **{
            "id": f"{participant}/{number}",
            "participant": participant,
            "task": "t",
            "instruction_index": number,
            "instruction": f"say {number}",
            "screenshot": Screenshot(path="a.png", size=Size(width=10, height=10), sha256=f"hash {number}"),
            "region": REGION,
            "history_entry": HistoryEntry(instruction=f"say {number}", action=f"did {number}"),
            **fields,
        }
    )


class Asked:
    """A planner and a grounder that note what they are told."""

    name = identity = "asked"
    max_concurrency = 2

    def __init__(self, identity: str = "asked", text: str | None = "a plan") -> None:
        self.identity = identity
        self.text = text
        self.queries: list[Query] = []

    async def plan(self, query: Query) -> Plan:
        self.queries.append(query)
        failure = None if self.text else Failure(kind="missing", message="no entry")
        return Plan(step_id=query.step_id, key=query.key, text=self.text, failure=failure)

    async def ground(self, query: Query) -> Prediction:
        self.queries.append(query)
        return Prediction(step_id=query.step_id, key=query.key, point=Point(x_px=1, y_px=1))

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...


def plan_stage(tmp_path: Path, planner: Asked) -> PlanStage:
    return PlanStage(planner, Journal(tmp_path / "plans.jsonl", Plan))


def ground_stage(tmp_path: Path, grounder: Asked, *, uses_history: bool = False) -> GroundStage:
    return GroundStage(grounder, Journal(tmp_path / "predictions.jsonl", Prediction), uses_history=uses_history)


def test_the_history_is_that_of_the_whole_session_though_few_steps_are_selected() -> None:
    first = Session(participant="1", steps=(*(step(number, region=None) for number in range(3)), step(3)))
    second = Session(participant="2", steps=(step(0, "2"), step(1, "2")))
    items = list(step_items([first, second], frozenset({"1/3", "2/0", "2/1"}), 2))
    assert [item.step.id for item in items] == ["1/3", "2/0", "2/1"]
    assert [[entry.action for entry in item.history] for item in items] == [["did 1", "did 2"], [], ["did 0"]]
    assert all(item.history == () for item in step_items([first], frozenset({"1/3"}), 0))


def test_the_planner_hears_the_user_and_the_grounder_hears_the_planner(tmp_path: Path) -> None:
    planner, grounder = Asked(), Asked()
    stages = (plan_stage(tmp_path, planner), ground_stage(tmp_path, grounder))
    item = StepItem(step=step(1), history=HISTORY)
    asyncio.run(Runner[StepItem](stages).run([item]))
    assert [(query.instruction, query.history) for query in planner.queries] == [("say 1", HISTORY)]
    assert [(query.instruction, query.history) for query in grounder.queries] == [("a plan", ())]
    assert planner.queries[0].key != grounder.queries[0].key
    told = msgspec.json.encode((planner.queries, grounder.queries)).decode()
    assert "region" not in told
    assert "left_px" not in told


def test_a_grounder_that_uses_history_is_told_it(tmp_path: Path) -> None:
    grounder = Asked()
    stages = (plan_stage(tmp_path, Asked()), ground_stage(tmp_path, grounder, uses_history=True))
    asyncio.run(Runner[StepItem](stages).run([StepItem(step=step(1), history=HISTORY)]))
    assert grounder.queries[0].history == HISTORY


@pytest.mark.parametrize("failed", [None, ""])
def test_without_a_plan_the_grounder_never_gets_the_users_own_words(tmp_path: Path, failed: str | None) -> None:
    grounder = Asked()
    stages = (plan_stage(tmp_path, Asked(text=failed)), ground_stage(tmp_path, grounder))
    asyncio.run(Runner[StepItem](stages).run([StepItem(step=step(1))]))
    assert grounder.queries == []
    assert len(stages[1].journal) == 0


ITEM = StepItem(step=step(1), history=HISTORY)
CHANGED = {
    "words": StepItem(step=step(1, instruction="other words"), history=HISTORY),
    "picture": StepItem(
        step=step(1, screenshot=Screenshot(path="a.png", size=Size(width=10, height=10), sha256="other")),
        history=HISTORY,
    ),
    "history": StepItem(step=step(1), history=()),
    "step": StepItem(step=step(1, id="1/other"), history=HISTORY),
}
UNCHANGED = {
    "place of the picture": StepItem(
        step=step(1, screenshot=Screenshot(path="moved/a.png", size=Size(width=10, height=10), sha256="hash 1")),
        history=HISTORY,
    ),
    "gold region": StepItem(step=step(1, region=Region()), history=HISTORY),
    "task": StepItem(step=step(1, task="other", action="other"), history=HISTORY),
}


def test_a_plans_key_hangs_on_what_the_planner_is_told(tmp_path: Path) -> None:
    stage = plan_stage(tmp_path, Asked())
    keys = {name: stage.key(item, None) for name, item in CHANGED.items()}
    keys["planner"] = plan_stage(tmp_path, Asked("other")).key(ITEM, None)
    keys["itself"] = stage.key(ITEM, None)
    assert len(set(keys.values())) == len(keys), keys
    assert {stage.key(item, None) for item in UNCHANGED.values()} == {keys["itself"]}


def test_a_predictions_key_hangs_on_what_the_grounder_is_told(tmp_path: Path) -> None:
    stage, plan = ground_stage(tmp_path, Asked()), Plan(step_id="1/1", key="k", text="click it")
    itself = stage.key(ITEM, plan)
    different = [
        stage.key(CHANGED["picture"], plan),
        stage.key(CHANGED["step"], plan),
        stage.key(ITEM, msgspec.structs.replace(plan, text="click that")),
        ground_stage(tmp_path, Asked("other")).key(ITEM, plan),
        ground_stage(tmp_path, Asked(), uses_history=True).key(ITEM, plan),
    ]
    assert len({itself, *different}) == 6
    same = [
        stage.key(CHANGED["words"], plan),
        stage.key(CHANGED["history"], plan),
        stage.key(ITEM, msgspec.structs.replace(plan, key="another", raw="more words")),
        *(stage.key(item, plan) for item in UNCHANGED.values()),
    ]
    assert set(same) == {itself}
