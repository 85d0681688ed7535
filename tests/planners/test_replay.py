"""Saved plans: the layout of the released reasoning of RealWebAssist, and the released files themselves."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
from fakes.make import REPOSITORY, query

from grounding.errors import UserError
from grounding.planners.base import SavedPlans, read_plans
from grounding.records import Failure, Plan, Region, Session, Step


def saved(path: Path, content: object) -> SavedPlans:
    path.write_text(json.dumps(content), encoding="utf-8")
    return SavedPlans(path)


def plan(planner: SavedPlans, step: str) -> Plan:
    async def run() -> Plan:
        await planner.check()
        made = await planner.plan(query(step=step))
        await planner.aclose()
        return made

    return asyncio.run(run())


PLANS = {"1": {"1": "Click é 点", "5": " as it\nis "}, "10": {"1": "other", "2": "", "3": " \n", "1#2": "second"}}


@pytest.mark.parametrize(
    ("step", "text"), [("1/1", "Click é 点"), ("1/5", " as it\nis "), ("10/1", "other"), ("10/1#2", "second")]
)
def test_a_saved_plan_is_played_back_as_it_was_written(tmp_path: Path, step: str, text: str) -> None:
    assert plan(saved(tmp_path / "p.json", PLANS), step) == Plan(step_id=step, key="k", text=text)


@pytest.mark.parametrize("step", ["1/2", "2/1", "10/5", "1/1#2", "101/1", "1/01"])
def test_a_step_without_an_entry_is_missing_and_never_the_users_words(tmp_path: Path, step: str) -> None:
    made = plan(saved(tmp_path / "p.json", PLANS), step)
    assert made.text is None
    assert made.failure == Failure(kind="missing", message=f"p.json has no plan for {step}")


@pytest.mark.parametrize(("step", "raw"), [("10/2", ""), ("10/3", " \n")])
def test_an_empty_plan_is_unparsed(tmp_path: Path, step: str, raw: str) -> None:
    made = plan(saved(tmp_path / "p.json", PLANS), step)
    assert made.text is None
    assert made.raw == raw
    assert made.failure == Failure(kind="unparsed", message=f"the plan for {step} in p.json is empty")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not valid JSON"),
        (b'{"1": {"1": "x"', "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "expected {participant: {image number: text}}"),
        (b'{"1": ["x"]}', "Expected `object`, got `array`"),
        (b'{"1": {"1": null}}', "Expected `str`, got `null`"),
        (b'{"1": {"1": {"text": "x"}}}', "Expected `str`, got `object`"),
        (b"[" * 100_000, "Expected `object`, got `array`"),
        (b'{"1": "x"}', "Expected `object`, got `str`"),
        (b'{"1": {"1": "\xff"}}', "not valid JSON"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        SavedPlans(path)
    assert str(caught.value).startswith(f"--plans {path}: ")
    assert words in str(caught.value)


def session(participant: str, *images: str) -> Session:
    """A session of scored steps, and before each one without a click."""
    steps = []
    for image in images:
        for step_id, region in ((f"{participant}/x{image}", None), (f"{participant}/{image}", Region())):
            steps.append(
                Step(
                    id=step_id,
                    participant=participant,
                    task="t",
                    instruction_index=0,
                    instruction="",
                    screenshot=query().screenshot,
                    region=region,
                )
            )
    return Session(participant=participant, steps=tuple(steps))


def test_what_a_file_lacks_is_said_in_ranges_of_scored_steps(tmp_path: Path) -> None:
    planner = saved(tmp_path / "p.json", {"1": {"4": "x", "9": "x", "9#2": "x"}, "2": {"1": "x"}})
    sessions = [session("1", "1", "2", "4", "6", "9", "9#2", "11", "12#2"), session("2", "1"), session("3", "5")]
    assert planner.gaps(sessions) == (
        "p.json has no plan for 6 of the 10 steps, which count as missing and wrong: "
        "participant 1: 1-2, 6, 11-12#2; participant 3: 5"
    )
    assert planner.gaps([session("2", "1")]) == ""
    assert planner.gaps([]) == ""


# --- the released files -----------------------------------------------------------------------------------------------

RELEASED = REPOSITORY.parent / "shared" / "data" / "realwebassist"
IN_FULL = {"1": 111, "2": 85, "3": 201, "4": 196, "5": 199, "6": 170, "7": 194, "8": 186, "9": 218, "10": 154}


def released(name: str) -> dict[str, str]:
    path = RELEASED / f"{name}.json"
    if not path.exists():
        pytest.skip(f"the released plans of RealWebAssist are not beside the repository: {path.name}")
    return read_plans(path)


@pytest.mark.parametrize(
    ("name", "count", "of_participant_7"),
    [("gpt_reasoning_10", 1714, 194), ("gpt_reasoning_o1_10", 1714, 194), ("claude_reasoning_10", 1562, 42)],
)
def test_the_released_plans(name: str, count: int, of_participant_7: int) -> None:
    plans = released(name)
    assert len(plans) == count
    per_participant = Counter(step.partition("/")[0] for step in plans)
    assert per_participant == {**IN_FULL, "7": of_participant_7}
    assert all(step.partition("/")[2].isdigit() for step in plans)
    assert all(text.strip() for text in plans.values())
