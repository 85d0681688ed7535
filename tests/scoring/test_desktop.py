"""Desktop answers judged by all three rules and summed up: worked examples for every rule, fault and failure."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.actions.kinds import Action, Unparsed
from grounding.actions.parsing import parse_action, parse_reply
from grounding.data.desktop_records import DesktopPrediction, DesktopStep, DesktopTask, DesktopTaskKind
from grounding.records import Box, Failure, Screenshot, Size
from grounding.scoring.desktop import (
    DESKTOP_RULES,
    DesktopSummary,
    dead_loops,
    judge_desktop,
    official_action,
    official_match,
    same_action,
    summarise_desktop,
)

HD = Size(width=1280, height=720)


def gold(text: str) -> Action:
    action = parse_action(text)
    assert not isinstance(action, Unparsed), action.reason
    return action


def step(
    text: str, *, name: str = "t/1", rect: Box | None = None, others: Sequence[str] = (), screen: str = "a"
) -> DesktopStep:
    shot = Screenshot(path=f"/{screen}.png", size=HD, sha256=screen)
    others_ = tuple(map(gold, others))
    return DesktopStep(id=name, screenshot=shot, gold=gold(text), gold_text=text, rect=rect, other_users=others_)


def task(
    name: str,
    texts: Sequence[str],
    *,
    kind: DesktopTaskKind = "preference",
    category: str = "",
    screens: str = "abcdefghij",
) -> DesktopTask:
    steps = (step(text, name=f"{name}/{at}", screen=screens[at - 1]) for at, text in enumerate(texts, start=1))
    return DesktopTask(id=name, kind=kind, category=category, steps=tuple(steps))


def answer(reply: str, step_id: str = "t/1") -> DesktopPrediction:
    found = parse_reply(reply)
    failure = Failure(kind="unparsed", message=found.reason) if isinstance(found, Unparsed) else None
    action = None if isinstance(found, Unparsed) else found
    return DesktopPrediction(step_id=step_id, key="", action=action, action_text=reply, failure=failure)


def answers(task: DesktopTask, replies: Sequence[str]) -> list[DesktopPrediction]:
    return [answer(reply, step.id) for reply, step in zip(replies, task.steps, strict=True)]


# --- the released matcher, one worked example for every fault that is known of it -------------------------------------


@pytest.mark.parametrize(
    ("prediction", "expected", "right"),
    [
        # an empty text on either side
        ("", "wait", False),
        ("wait", "", False),
        (None, "wait", False),
        ("   ", "wait", False),
        # case and blanks around
        ("  CLICK (100, 100) ", "click (100, 100)", True),
        # the finish rule looks for the word anywhere, in typed text and in error messages too
        ("finish", "finish", True),
        ("API Error: finish_reason is length", "finish", True),
        ("type text: finish the report", "type text: Finish the report", True),
        ("type text: the report", "type text: finish the report", False),
        ("done", "finish", False),
        # below 50 pixels, not at 50
        ("click (130, 139)", "click (100, 100)", True),
        ("click (130, 140)", "click (100, 100)", False),
        # a drag's distances are summed: 99 at one end and 0 at the other pass, 50 and 50 do not
        ("drag from (149, 100) to (350, 300)", "drag from (100, 100) to (300, 300)", True),
        # only the first word must agree
        ("right wing (100, 100)", "right click (100, 100)", True),
        ("click(100, 101)", "click (100, 100)", False),
        ("click(100, 100)", "click (100, 100)", True),
        ("press 1 2", "press key: 30 40", True),
        # numbers in typed text are coordinates, in pairs
        ("type text: 300 apples 5", "type text: 10 oranges 12", False),
        ("press key: f12 f11", "press key: f1 f2", True),
        # an odd count of numbers falls through to the cleaned comparison
        ("scroll (301)", "scroll (300)", False),
        ("type text: 10 apples", "type text: 11 apples", False),
        # a hyphen before digits is a minus: dates have three numbers
        ("type text: 2024-01-05", "type text: 2024-01-06", False),
        ("type text: 01-05", "type text: 01-06", True),
        # other counts of numbers: an explanation with digits spoils a right click
        # the sign of a scroll is lost, and a decimal point too; the amount must be exact
        ("scroll (-12.5)", "scroll (125)", True),
        # symbols vanish, order does not
        ("hotkey (c, ctrl)", "hotkey (ctrl, c)", False),
        # every script but Latin vanishes
        ("type text: Hello,   WORLD!", "type text: hello world", True),
        # the colon of a key is no matter, and neither are aliases known
        ("press key: enter", "press key enter", True),
        ("press key: return", "press key: enter", False),
        # ShowUI's words never match
        ('INPUT "hello"', "type text: hello", False),
        ("CLICK (100, 100)", "click (100, 100)", True),
    ],
)
def test_the_released_matcher_fault_for_fault(prediction: str | None, expected: str, right: bool) -> None:
    assert official_match(prediction, expected) is right


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("I think.\n\nAction: click (1, 2)", "click (1, 2)"),
        ("action: wait\nActions : {finish}", "finish"),
        ("Action: click (1, 2) because of tab 2", "click (1, 2) because of tab 2"),
        ("Action:", ""),
        ("click (1, 2)", "None"),
        ("{'action': 'CLICK', 'value': None, 'position': [0.5, 0.9999]}", "CLICK (640, 719)"),
        ("{'position': [0.5, 0.25]}", "click (640, 180)"),
        ("{'action': 'INPUT', 'value': 'hi', 'position': None}", 'INPUT "hi"'),
        ("{'action': 'ENTER', 'value': None, 'position': []}", "ENTER"),
        ("{'action': 'CLICK', 'position': ['a', 'b']}", "None"),
        ('{"action": "CLICK", "value": null}', "None"),
        ("{click (1, 2)}", "None"),
        ("{Action: click (1, 2)}", "click (1, 2)"),
        ("{" * 3000 + "}" * 3000, "None"),
    ],
)
def test_what_the_released_agent_takes_from_a_reply(reply: str, text: str) -> None:
    assert official_action(reply, HD) == text


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_makes_it_raise(one: str, other: str) -> None:
    official_match(one, other)
    official_action(one, HD)
    assert not official_match(f"click ({'9' * 300}, 1)", "click (1, 1)")  # too large to square


# --- the three rules --------------------------------------------------------------------------------------------------

CASES = [
    # prediction, gold, official, paper, strict
    ("click (150, 100)", "click (100, 100)", False, True, True),
    ("click (149, 100)", "click (100, 100)", True, True, True),
    ("click (151, 100)", "click (100, 100)", False, False, False),
    ("click(120,100)", "click (100, 100)", False, True, True),
    ("right click (100, 100)", "click (100, 100)", False, False, False),
    ("left click (100, 100)", "click (100, 100)", False, True, True),
    ("click (100, 100) to open tab 2", "click (100, 100)", False, True, True),
    ("drag from (199, 100) to (300, 300)", "drag from (100, 100) to (300, 300)", True, False, False),
    ("drag from (150, 100) to (350, 300)", "drag from (100, 100) to (300, 300)", False, True, True),
    ("scroll (-300)", "scroll (300)", True, False, False),
    ("scroll (10)", "scroll (-10)", True, False, False),
    ("scroll (-320)", "scroll (-300)", False, True, False),
    ("scroll (-350)", "scroll (-300)", False, True, False),
    ("scroll (-351)", "scroll (-300)", False, False, False),
    ("scroll (-300)", "scroll (-300)", True, True, True),
    ("scroll down", "scroll (-300)", False, True, True),
    ("scroll up", "scroll (-300)", False, False, False),
    ("press key: return", "press key enter", False, True, True),
    ("hotkey (ctrl, +)", "hotkey (ctrl, -)", True, False, False),
    ("hotkey (shift, ctrl, s)", "hotkey (ctrl, shift, s)", False, True, True),
    ("hotkey (ctrl, c)", "hotkey (Ctrl, C)", True, True, True),
    ("type text: 30 apples 5", "type text: 10 oranges 12", True, False, False),
    ("type text: hello  World", "type text: Hello world", True, True, False),
    ("type text: Hello world!", "type text: Hello world", True, False, False),
    ("type text: Hello world", "type text: Hello world", True, True, True),
    ("type text: \u4f60\u597d", "type text: \u518d\u89c1", True, False, False),
    ("type text: cafe\u0301", "type text: caf\u00e9", False, True, True),
    ("click (1, 2)\nfinish", "finish", True, False, False),
    ("API Error: finish_reason", "finish", True, False, False),
    ("finish", "type text: finish the report", True, False, False),
    ("wait for 3 seconds", "wait", False, True, True),
    ("fail", "finish", False, False, False),
    ("I have no idea", "wait", False, False, False),
]


def right(prediction: str, expected: str, tolerance: float = 50.0) -> tuple[bool, ...]:
    """By each rule."""
    found = judge_desktop(step(expected), answer(prediction), tolerance)
    return tuple(found.rulings[rule].right for rule in DESKTOP_RULES)


@pytest.mark.parametrize(("prediction", "expected", "official", "paper", "strict"), CASES)
def test_the_three_rules_side_by_side(
    prediction: str, expected: str, official: bool, paper: bool, strict: bool
) -> None:
    assert right(prediction, expected) == (official, paper, strict)


def test_the_tolerance_is_included_but_for_the_released_matcher() -> None:
    assert right("click (150, 100)", "click (100, 100)", 49.9) == (False, False, False)
    assert right("click (299, 100)", "click (100, 100)", 200) == (True, True, True)
    assert right("click (300, 100)", "click (100, 100)", 200) == (False, True, True)
    assert right("click(100, 100.0)", "click (100, 100)", 0) == (False, True, True)


def test_strict_looks_into_the_rectangle_edges_included() -> None:
    rect = Box(left_px=90, top_px=90, right_px=110, bottom_px=110)
    for x, inside in ((110, True), (111, False), (90, True)):
        both = gold(f"click ({x}, 100)"), gold("click (100, 100)"), 50.0, rect
        assert same_action(*both)
        assert same_action(*both, strict=True) is inside
    drags = gold("drag from (105, 100) to (340, 300)"), gold("drag from (100, 100) to (300, 300)")
    assert (same_action(*drags, 40, rect, strict=True), same_action(*drags, 39, rect, strict=True)) == (True, False)
    outside = judge_desktop(step("click (100, 100)", rect=rect), answer("click (120, 100)")).rulings["strict"]
    assert (outside.right, "outside the recorded element" in outside.why) == (False, True)


@given(
    st.tuples(st.integers(0, 1280), st.integers(0, 720)),
    st.tuples(st.integers(0, 1280), st.integers(0, 720)),
    st.floats(0, 300),
    st.floats(0, 300),
)
def test_more_tolerance_never_makes_a_right_answer_wrong(
    one: tuple[int, int], other: tuple[int, int], tolerance: float, more: float
) -> None:
    less, greater = (right(f"click {one}", f"click {other}", px) for px in (tolerance, tolerance + more))
    assert all(after or not before for before, after in zip(less, greater, strict=True))


# --- how an answer is wrong -------------------------------------------------------------------------------------------

TABLE = [
    # gold, reply, failure, distance
    ("click (100, 100)", "click (130, 140)", None, 50.0),
    ("click (100, 100)", "I give up", "unparsed", None),
    ("click (100, 100)", "finish", "premature finish", None),
    ("finish", "click (100, 100)", "missed finish", None),
    ("finish", "fail", "missed finish", None),
    ("click (100, 100)", "fail", "wrong kind", None),
    ("click (100, 100)", "click (100, 151)", "right kind wrong place", 51.0),
    ("drag from (0, 0) to (9, 9)", "drag from (0, 0) to (9, 69)", "right kind wrong place", 60.0),
    ("click (100, 100)", "double click (100, 120)", "right place wrong kind", 20.0),
    ("drag from (0, 0) to (99, 99)", "click (0, 9)", "right place wrong kind", 9.0),
    ("click (100, 100)", "double click (100, 200)", "wrong kind", None),
    ("click (100, 100)", "wait", "wrong kind", None),
    ("type text: a", "type text: b", "wrong text or keys", None),
    ("press key: a", "press key: b", "wrong text or keys", None),
    ("press key: s", "hotkey (ctrl, s)", "wrong text or keys", None),
    ("hotkey (ctrl, s)", "hotkey (ctrl, shift, s)", "wrong text or keys", None),
    ("scroll (300)", "scroll (-300)", "wrong text or keys", 600.0),
    ("type text: a", "press key: a", "wrong kind", None),
]


@pytest.mark.parametrize(("expected", "reply", "failure", "distance_px"), TABLE)
def test_how_an_answer_is_wrong(expected: str, reply: str, failure: str | None, distance_px: float | None) -> None:
    verdict = judge_desktop(step(expected), answer(reply))
    assert verdict.failure == failure
    assert verdict.distance_px == distance_px
    assert verdict.rulings["paper"].right is (failure is None)


def test_right_for_the_screen_and_wrong_for_this_user() -> None:
    asked = step("click (100, 100)", others=["click (400, 100)", "type text: blue"])
    assert judge_desktop(asked, answer("click (420, 100)")).failure == "memory ignored"
    assert judge_desktop(asked, answer("type text: Blue")).failure == "memory ignored"
    assert judge_desktop(asked, answer("click (500, 100)")).failure == "right kind wrong place"
    assert judge_desktop(asked, answer("click (110, 100)")).failure is None


def test_no_answer_is_wrong_and_says_why() -> None:
    asked = step("click (100, 100)")
    assert judge_desktop(asked, None).failure == "missing"
    failed = DesktopPrediction(
        step_id="t/1", key="", action=None, action_text="", failure=Failure(kind="error", message="HTTP 500")
    )
    verdict = judge_desktop(asked, failed)
    assert (verdict.failure, verdict.reason) == ("error", "HTTP 500")
    assert not any(one.right for one in verdict.rulings.values())


@pytest.mark.parametrize(
    ("screens", "replies", "loops"),
    [
        ("aaa", ["wait", "wait", "wait"], [("t/1", 3)]),
        ("aaaa", ["wait", "wait", "wait", "wait"], [("t/1", 4)]),
        ("aab", ["wait", "wait", "wait"], []),
        ("aaa", ["wait", "click (1, 2)", "wait"], []),
        ("aaa", ["click (1, 2)", "click (1, 2)", "click (1, 3)"], []),
        ("aaa", ["?", "?", "?"], []),
        ("aaabbb", ["wait"] * 6, [("t/1", 3), ("t/4", 3)]),
        ("baaa", ["wait"] * 4, [("t/2", 3)]),
    ],
)
def test_dead_loops(screens: str, replies: list[str], loops: list[tuple[str, int]]) -> None:
    one = task("t", ["wait"] * len(screens), screens=screens)
    found = dead_loops(one, {each.step_id: each for each in answers(one, replies)})
    assert found == dict(loops)


# --- in figures -------------------------------------------------------------------------------------------------------

P1 = task("p1", ["click (100, 100)", "scroll (300)", "type text: a", "finish"])
P2 = task("p2", ["click (100, 100)", "finish"])
R1 = task("r1", ["hotkey (ctrl, c)", "wait", "wait", "wait", "finish"], kind="routine", screens="aaaab")
TASKS = [P1, P2, R1]
ANSWERS = [
    *answers(P1, ["click (150, 100)", "scroll (-300)", "type text: A", "finish"]),  # paper 3, official 3, strict 2
    *answers(P2, ["click (300, 100)", "finish"]),  # 1 of 2
    *answers(R1, ["hotkey (ctrl, c)", "fail", "fail", "fail", "finish"]),  # 2 of 5, a dead loop
]


def summary(given: Sequence[DesktopPrediction] = ANSWERS, **options: object) -> DesktopSummary:
    answer_of = {one.step_id: one for one in given}
    verdicts = [judge_desktop(step, answer_of.get(step.id)) for task in TASKS for step in task.steps]
    usual: dict[str, object] = {"status": "complete", "signature": "s", "tolerance_px": 50.0, "resamples": 200}
    return summarise_desktop(TASKS, given, verdicts, **{**usual, **options})  # type: ignore[arg-type]


def test_micro_and_macro_by_hand() -> None:
    paper = summary().scores["paper"]
    assert (paper.micro.k, paper.micro.n) == (6, 11)
    assert paper.micro.value == pytest.approx(100 * 6 / 11)
    assert paper.macro_task.value == pytest.approx(100 * (3 / 4 + 1 / 2 + 2 / 5) / 3)
    assert paper.macro_task.n == 3
    for estimate in (paper.micro, paper.macro_task):
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.value is not None
        assert estimate.low <= estimate.value <= estimate.high


def test_failures_add_up_and_loops_are_counted() -> None:
    found = summary()
    counts = found.counts
    assert counts.right + sum(counts.failures.values()) == counts.steps == 11
    assert counts.failures["wrong kind"] == 3
    assert counts.failures["wrong text or keys"] == 1
    assert counts.failures["right kind wrong place"] == 1
    assert (counts.looping, found.loops) == (1, {"r1/2": 3})


def test_a_step_that_was_never_asked_is_in_no_score() -> None:
    found = summary(ANSWERS[:4], status="partial")
    assert (found.counts.steps, found.counts.failures["missing"], found.counts.unasked) == (11, 7, 7)
    assert (found.scores["paper"].micro.k, found.scores["paper"].micro.n) == (3, 4)
    nothing = summary([], status="partial").scores["paper"]
    assert (nothing.micro.value, nothing.macro_task.value) == (None, None)
