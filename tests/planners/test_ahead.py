"""A numbered list out of a reply, and each step's action out of the list."""

from __future__ import annotations

import pytest
from fakes.make import MODELS, planner_card
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.planners.chat import nth_plan, read_actions
from grounding.planners.prompts import prompted
from grounding.records import Call, Failure, Plan

REPLIES = {
    "plain": ("1. Click A\n2. Click B", ["Click A", "Click B"]),
    "brackets": ("1) Click A\n2) Click B", ["Click A", "Click B"]),
    "steps": ("Step 1: Click A\nSTEP 2: Click B", ["Click A", "Click B"]),
    "bold": ("**1.** Click A\n**2.** Click B", ["Click A", "Click B"]),
    "bold words": ("1. **Click** A\n2. Click **B**", ["**Click** A", "Click **B**"]),
    "headings": ("### 1. Click A\n### 2. Click B", ["Click A", "Click B"]),
    "quoted": ("> 1. Click A\n> 2. Click B", ["Click A", "Click B"]),
    "around": ("Sure, here it is:\n\n1. Click A\n2. Click B\n\nHope it helps!", ["Click A", "Click B"]),
    "long items": ("1. Click A,\n   the red one\n\n2. Click B", ["Click A, the red one", "Click B"]),
    "words between": ("1. Click A\n\nThen the page loads.\n\n2. Click B", ["Click A", "Click B"]),
    "lists in items": ("1. Click A\n   1. it is red\n   2. it is left\n2. Click B", None),
    "thoughts first": ("I see\n1. a shop\n2. a form\n3. a map\n\nSo:\n1. Click A\n2. Click B", ["Click A", "Click B"]),
    "one line": ("Click the button A", ["Click the button A"]),
    "one item": ("1. Click A", ["Click A"]),
    "item of a number": ("1. 7 items", ["7 items"]),
    "a number": ("3.5 stars", ["3.5 stars"]),
    "an empty item": ("1.\n2. Click B", ["", "Click B"]),
    "windows": ("1. Click A\r\n2. Click B\r\n", ["Click A", "Click B"]),
    "no list": ("First click A.\nThen click B.", []),
    "from two": ("2. Click A\n3. Click B", []),
    "gap": ("1. Click A\n3. Click B", ["Click A 3. Click B"]),
    "nothing": ("", []),
    "blank": (" \n ", []),
}


@pytest.mark.parametrize("name", REPLIES)
def test_the_list_in_a_reply(name: str) -> None:
    reply, wanted = REPLIES[name]
    if wanted is None:
        wanted = ["Click A 1. it is red 2. it is left", "Click B"]
    assert list(read_actions(reply)) == wanted


@given(reply=st.text(st.sampled_from("12. )\n a*-"), max_size=60))
def test_whatever_comes_items_are_single_lines(reply: str) -> None:
    for item in read_actions(reply):
        assert item == " ".join(item.split())


CALL = Call(seconds=1, cost_usd=0.5)
WHOLE = Plan(step_id="1/1", key="whole", text="1. Click A\n2. Click B\n3.", raw="raw", call=CALL)


def nth(whole: Plan, position: int, *, leads: bool = False) -> Plan:
    return nth_plan(whole, position, step_id="1/9", key="mine", leads=leads)


def test_each_step_gets_its_action_and_one_of_them_the_bill() -> None:
    assert nth(WHOLE, 0, leads=True) == Plan(step_id="1/9", key="mine", text="Click A", raw="raw", call=CALL)
    assert nth(WHOLE, 1) == Plan(step_id="1/9", key="mine", text="Click B")


@pytest.mark.parametrize(
    ("whole", "position", "message"),
    [
        (WHOLE, 2, "action 3 of the plan for the whole instruction is empty"),
        (WHOLE, 3, "the plan for the whole instruction has 3 actions; this is its step 4"),
        (Plan(step_id="1/1", key="w", text="Click A"), 1, "the plan for the whole instruction has 1 action; this is"),
        (Plan(step_id="1/1", key="w", text="a\nb"), 0, "the plan for the whole instruction has no numbered list in it"),
        (Plan(step_id="1/1", key="w", text=None), 0, "the plan for the whole instruction is empty"),
    ],
)
def test_what_the_list_does_not_hold_is_unparsed_and_never_made_up(whole: Plan, position: int, message: str) -> None:
    plan = nth(whole, position)
    assert plan.text is None
    assert plan.failure is not None
    assert plan.failure.kind == "unparsed"
    assert plan.failure.message.startswith(message)


def test_why_there_is_no_plan_is_told_at_every_step() -> None:
    failure = Failure(kind="error", message="HTTP 500")
    whole = Plan(step_id="1/1", key="whole", text=None, failure=failure, call=CALL)
    assert [nth(whole, 0, leads=True).failure, nth(whole, 4).failure] == [failure, failure]
    assert [nth(whole, 0, leads=True).call, nth(whole, 4).call] == [CALL, None]


OWN = [{"image": "screenshot"}, {"text": "list all clicks for {instruction}"}]
PROMPTS = MODELS / "prompts" / "planners"


def test_a_cards_own_prompt_is_kept_where_it_asks_for_what_is_wanted() -> None:
    own = planner_card(user=OWN, plan={"covers": "instruction"})
    assert prompted(own, None, PROMPTS, ahead=True) is own
    assert prompted(planner_card(), None, PROMPTS) == planner_card()
    assert prompted(planner_card(), None, PROMPTS, ahead=True).prompt == "ahead.1"
    with pytest.raises(UserError, match="the prompt in the card of p asks for all actions of an instruction at once"):
        prompted(own, None, PROMPTS)


@pytest.mark.parametrize("line", ["-" * 200, "> " * 200, "**" * 100 + "step"])
def test_a_line_of_marks_takes_no_time(line: str) -> None:
    assert read_actions(f"{line}\n1. open it\n2. close it\n{line}") == ("open it", f"close it {line.strip()}")
