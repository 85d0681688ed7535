from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Box, Region, Screenshot, Session, Size, Step
from grounding.run.steps import StepSelection, select_steps

REGION = Region(boxes=(Box(left_px=0, top_px=0, right_px=9, bottom_px=9),))


def session(participant: str, count: int, unscored: Collection[int] = ()) -> Session:
    return Session(
        participant=participant,
        steps=tuple(
            Step(
                id=f"{participant}/{number}",
                participant=participant,
                task="t",
                instruction_index=number,
                instruction=f"do {number}",
                screenshot=Screenshot(path="x.png", size=Size(width=10, height=10), sha256="0"),
                region=None if number in unscored else REGION,
            )
            for number in range(count)
        ),
    )


SESSIONS = (session("1", 4, {0, 2}), session("2", 3), session("bob", 2, {0, 1}))


def select(sessions: Any = SESSIONS, **options: Any) -> StepSelection:
    return select_steps(sessions, **{"participants": (), "sample_ids": (), "limit": None, **options})


def kept(selection: StepSelection) -> dict[str, list[str]]:
    return {one.participant: [step.id for step in one.steps] for one in selection.sessions}


def test_without_options_everything_is_chosen_and_unscored_steps_are_kept_for_the_count() -> None:
    found = select()
    assert found.text == "all"
    assert found.step_ids == {"1/1", "1/3", "2/0", "2/1", "2/2"}
    assert kept(found) == {"1": ["1/0", "1/1", "1/2", "1/3"], "2": ["2/0", "2/1", "2/2"], "bob": ["bob/0", "bob/1"]}


def test_neither_order_nor_repetition_makes_another_choice() -> None:
    assert select(participants=("2", "1")) == select(participants=("1", "2", "1"))
    assert select(sample_ids=("2/1", "1/1")) == select(sample_ids=("1/1", "2/1", "2/1"))


def test_options_add_up() -> None:
    found = select(participants=("1", "2"), sample_ids=("1/3", "2/2", "2/0"), limit=2)
    assert found.step_ids == {"1/3", "2/0"}
    assert found.text == "participant=1,2;steps=1/3,2/0,2/2;limit=2"


@pytest.mark.parametrize("options", [{"participants": ("bob",)}, {"participants": ("1",), "sample_ids": ("2/0",)}])
def test_a_choice_that_leaves_no_step_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="no scored step is left"):
        select(**options)


@given(data=st.data(), limit=st.none() | st.integers(1, 8))
def test_chosen_steps_are_the_scored_steps_that_are_kept(data: st.DataObject, limit: int | None) -> None:
    participants = data.draw(st.sets(st.sampled_from(["1", "2"]), min_size=1))
    found = select(participants=tuple(participants), limit=limit)
    scored = [step for one in found.sessions for step in one.steps if step.region is not None]
    assert {step.id for step in scored} == found.step_ids
    assert limit is None or len(scored) <= limit
    everything = [step.id for one in SESSIONS if one.participant in participants for step in one.steps if step.region]
    assert [step.id for step in scored] == everything[:limit]
