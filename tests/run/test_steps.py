from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.cards.schema import Context
from grounding.planners.base import EVERYTHING
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
from grounding.run.journal import Journal
from grounding.run.runner import Runner
from grounding.run.steps import GroundStage, PlanStage, StepItem, goal_of, plan_query, step_items

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

    def __init__(
        self, identity: str = "asked", text: str | None = "a plan", reads: Collection[Context] = ("history",)
    ) -> None:
        self.identity = identity
        self.reads = frozenset(reads)
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


def ground_stage(tmp_path: Path, grounder: Asked, *, reads: Collection[Context] = ()) -> GroundStage:
    return GroundStage(grounder, Journal(tmp_path / "predictions.jsonl", Prediction), reads=reads)


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
    "goal": StepItem(step=step(1), history=HISTORY, goal="buy a bag"),
    "steps_done": StepItem(step=step(1), history=HISTORY, steps_done=1),
    "step_id": StepItem(step=step(1, id="1/other"), history=HISTORY),
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
    stage = plan_stage(tmp_path, Asked(reads=EVERYTHING))
    keys = {name: stage.key(item, None) for name, item in CHANGED.items()}
    keys["planner"] = plan_stage(tmp_path, Asked("other", reads=EVERYTHING)).key(ITEM, None)
    keys["itself"] = stage.key(ITEM, None)
    assert len(set(keys.values())) == len(keys), keys
    assert {stage.key(item, None) for item in UNCHANGED.values()} == {keys["itself"]}


@given(
    reads=st.sets(st.sampled_from(sorted(EVERYTHING))), changes=st.sets(st.sampled_from(sorted(EVERYTHING)), min_size=1)
)
def test_what_a_planner_does_not_read_is_neither_in_the_key_nor_in_the_query(
    reads: set[Context], changes: set[Context]
) -> None:
    planner = Asked(reads=reads)
    other = StepItem(
        step=CHANGED["step_id"].step if "step_id" in changes else ITEM.step,
        history=() if "history" in changes else HISTORY,
        goal="buy a bag" if "goal" in changes else "",
        steps_done=3 if "steps_done" in changes else 0,
    )
    here, there = plan_query(ITEM, planner), plan_query(other, planner)
    assert (here.key == there.key) == (not reads & changes)
    for query, item in ((here, ITEM), (there, other)):
        assert query.step_id == item.step.id
        assert query.history == (item.history if "history" in reads else ())
        assert query.goal == (item.goal if "goal" in reads else "")
        assert query.steps_done == (item.steps_done if "steps_done" in reads else 0)


def test_a_grounder_is_told_what_its_prompt_has_a_place_for(tmp_path: Path) -> None:
    grounder = Asked()
    item = StepItem(step=step(1), history=HISTORY, goal="buy a bag", steps_done=2)
    stages = (plan_stage(tmp_path, Asked()), ground_stage(tmp_path, grounder, reads=["goal", "steps_done"]))
    asyncio.run(Runner[StepItem](stages).run([item]))
    assert [(query.history, query.goal, query.steps_done) for query in grounder.queries] == [((), "buy a bag", 2)]
    plan = Plan(step_id="1/1", key="k", text="click it")
    told = [ground_stage(tmp_path, grounder, reads=["goal"]).key(CHANGED[name], plan) for name in ("goal", "history")]
    assert told[0] != told[1]


@pytest.mark.parametrize(
    ("label", "goal"),
    [
        (12, ""),
        ("12", ""),
        ("3.4", ""),
        ("", ""),
        (" - ", ""),
        ("task 12", ""),
        ("Task_3", ""),
        ("unknown_7", ""),
        ("Buy a present", "Buy a present"),
        (" Schedule 2 flights ", "Schedule 2 flights"),
        ("Tasks for today", "Tasks for today"),
        ("買い物", "買い物"),
    ],
)
def test_a_goal_is_a_label_in_words(label: str | int, goal: str) -> None:
    assert goal_of(label) == goal


Said = tuple[str, int, bool]  # Task, number of the instruction in it, and whether a click was made.


@given(
    said=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.booleans()), max_size=15),
    chosen=st.sets(st.integers(0, 14)),
)
def test_steps_done_counts_the_scored_steps_of_the_same_instruction(said: list[Said], chosen: set[int]) -> None:
    session = Session(
        participant="1",
        steps=tuple(
            step(number, task=task, instruction_index=index, region=REGION if clicked else None)
            for number, (task, index, clicked) in enumerate(said)
        ),
    )
    scored = [number for number, (_, _, clicked) in enumerate(said) if clicked]
    selected = frozenset(f"1/{number}" for number in scored if number in chosen)
    other = Session(participant="2", steps=session.steps)
    items = list(step_items([other, session], selected, 3))
    seen: set[tuple[str, int]] = set()
    for item in (each for each in items if each.step in session.steps):
        number = session.steps.index(item.step)
        before = [at for at in scored if at < number and said[at][:2] == said[number][:2]]
        assert item.steps_done == len(before)
        assert (item.opening is None) == (not before)
        if item.opening is not None:
            assert item.opening.step == session.steps[before[0]]
            assert (item.opening.steps_done, item.opening.opening) == (0, None)
        assert item.leads == (not any(f"1/{at}" in selected for at in before))
        seen.add(said[number][:2])
    assert sum(item.leads for item in items) == 2 * len(seen)


def pictured(participant: str, pictures: str) -> Session:
    """One step a letter; equal letters are equal screenshots."""
    size = Size(width=10, height=10)
    shots = (Screenshot(path="a.png", size=size, sha256=picture) for picture in pictures)
    steps = (step(number, participant, screenshot=shot) for number, shot in enumerate(shots, start=1))
    return Session(participant=participant, steps=tuple(steps))


def order(*sessions: Session) -> list[str]:
    selected = frozenset(step.id for each in sessions for step in each.steps)
    return [item.step.id for item in step_items(sessions, selected, 2)]


def test_sessions_are_asked_about_as_they_were_lived_and_equal_screenshots_follow_the_first_of_them() -> None:
    assert order(pictured("b", "zyx"), pictured("a", "wv")) == ["b/1", "b/2", "b/3", "a/1", "a/2"]
    assert order(pictured("1", "home"), pictured("2", "xoy")) == ["1/1", "1/2", "2/2", "1/3", "1/4", "2/1", "2/3"]
    assert order(pictured("1", "abacab")) == ["1/1", "1/3", "1/5", "1/2", "1/6", "1/4"]
    items = {item.step.id: item for item in step_items([pictured("1", "aba")], frozenset(["1/2", "1/3"]), 2)}
    assert [entry.action for entry in items["1/3"].history] == ["did 1", "did 2"]
