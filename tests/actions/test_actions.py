"""The grammar: every spelling that occurs, printing and reading again, hostile texts, and the examples in its docs."""

from __future__ import annotations

import doctest
import random
import time
from importlib import import_module

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.actions.kinds import ACTION_KINDS, KEY_NAMES, Action, Unparsed, key_name, print_action, same_keys
from grounding.actions.parsing import MAX_CHARS, parse_action, parse_reply
from grounding.geometry import ModelPoint
from tests.actions.mutate import mutated
from tests.actions.spellings import AROUND, DIALECTS, NOTHING, PERCU


def at(x: float, y: float, space: str = "original_px") -> ModelPoint:
    return ModelPoint(space=space, x=x, y=y)  # type: ignore[arg-type]


def read(text: str) -> Action:
    action = parse_reply(text)
    assert not isinstance(action, Unparsed), action.reason
    return action


@pytest.mark.parametrize(("reply", "meant"), PERCU + AROUND + DIALECTS)
def test_every_spelling_that_occurs_is_read(reply: str, meant: str) -> None:
    assert print_action(read(reply)) == meant
    recorded = (reply, meant) in PERCU and not reply.lower().startswith(("action", "thought", "type text: action"))
    if recorded and "\n" not in reply and not reply.startswith('type "'):
        assert print_action(parse_action(reply)) == meant  # type: ignore[arg-type]


@pytest.mark.parametrize(("reply", "words"), NOTHING)
def test_anything_else_is_unparsed_with_the_reason(reply: str, words: str) -> None:
    found = parse_reply(reply)
    assert isinstance(found, Unparsed)
    assert words in found.reason


def test_points_keep_their_numbers_and_the_space_that_is_said_and_showui_says_its_own() -> None:
    assert parse_reply("click (500, 300)", space="rel_1000") == Action(kind="click", at=at(500, 300, "rel_1000"))
    drag = Action(kind="drag", start=at(1, 2, "resized_px"), end=at(3, 4, "resized_px"))
    assert parse_reply("drag from (1, 2) to (3, 4)", space="resized_px") == drag
    assert drag.moved(drag.points[::-1]).points == (drag.end, drag.start)
    found = parse_reply("{'action': 'CLICK', 'value': None, 'position': [0.49, 0.42]}", space="resized_px")
    assert found == Action(kind="click", at=at(0.49, 0.42, "rel_1"))


def test_code_is_read_and_never_run() -> None:
    for reply in (
        "pyautogui.click(x=__import__('os').system('false'), y=1)",
        "{'action': __import__('os').getcwd(), 'position': [1, 2]}",
        "Action: type(content=open('/etc/passwd').read())",
    ):
        found = parse_reply(reply)
        assert isinstance(found, Unparsed) or "root:" not in print_action(found)


# --- records and keys -------------------------------------------------------------------------------------------------

EXAMPLES = [
    "click (1, 2)", "right click (1, 2)", "double click (1, 2)", "drag from (1, 2) to (3, 4)", "scroll (-5)",
    "press key: a", "hotkey (ctrl, c)", "hotkey (ctrl, shift, c)", "type text: a", "wait", "finish", "fail",
]  # fmt: skip


def test_there_are_twelve_kinds_which_are_stored_and_read_back() -> None:
    actions = [read(text) for text in EXAMPLES]
    assert tuple(action.kind for action in actions) == ACTION_KINDS
    for action in actions:
        stored = msgspec.json.encode(action)
        assert msgspec.json.decode(stored, type=Action) == action
    # As run folders hold them.
    assert msgspec.json.encode(actions[4]) == b'{"kind":"scroll","direction":"down","amount":5.0}'


@pytest.mark.parametrize(
    ("spellings", "name"),
    [
        (("ctrl", "Control", "CTL", "strg", "Key.ctrl", "\uff23\uff54\uff52\uff4c"), "ctrl"),
        (("esc", "Escape", "ESC key"), "esc"),
        (("enter", "Return", "KP_Enter", "\n"), "enter"),
        (("win", "Super", "cmd", "command", "Windows key", "meta"), "win"),
        (("altleft", "Alt_L", "left alt"), "altleft"),
        (("pgdn", "Page Down", "page_down", "Next", "PageDown"), "pagedown"),
        (("space", "spacebar", " "), "space"),
        (("plus", "+"), "+"),
        (("(", "\uff08"), "("),
        (("", "save", "ctrl+c", "f25", "enterr", "x" * 1000, "\x00", "two words", "-, -", "a -"), None),
    ],
)
def test_a_key_has_one_name_and_what_is_no_key_has_none(spellings: tuple[str, ...], name: str | None) -> None:
    assert {key_name(spelling) for spelling in spellings} == {name}


def test_every_name_names_itself_and_the_order_and_side_of_modifiers_say_nothing() -> None:
    assert all(key_name(name) == key_name(name.upper()) == name for name in KEY_NAMES)
    assert same_keys(("ctrl", "shift", "s"), ("shift", "ctrlright", "s"))
    assert not same_keys(("ctrl", "c"), ("ctrl", "shift", "c"))


@pytest.mark.parametrize("name", ["grounding.actions.kinds", "grounding.actions.parsing", "grounding.scoring.desktop"])
def test_the_examples_in_the_documentation_hold(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert (result.failed, result.attempted > 0) == (0, True)


# --- there and back ---------------------------------------------------------------------------------------------------

NUMBERS = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)
POINTS = st.builds(at, NUMBERS, NUMBERS)
KEYS = st.sampled_from(sorted(KEY_NAMES))
TRICKY = ["Action:", "\n", '"', "'", "`", "finish", "click (1, 2)", " ", "</think>", "<|im_end|>", "**", "{", "}",
          "<tool_call>", "type text: ", "#", "\\n", "\u2028", "é", "//", "\t"]  # fmt: skip
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(TRICKY), max_size=8).map("".join)


def made(kind: str, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Action]:
    return st.builds(Action, kind=st.just(kind), **fields)


ACTIONS = st.one_of(
    *(made(kind, at=POINTS) for kind in ("click", "right click", "double click")),
    made("drag", start=POINTS, end=POINTS),
    made(
        "scroll",
        direction=st.sampled_from(["up", "down"]),
        amount=st.none() | st.floats(min_value=0, max_value=1e9, exclude_min=True),
    ),
    made("press key", key=KEYS),
    made("hotkey 2", keys=st.tuples(KEYS, KEYS)),
    made("hotkey 3", keys=st.tuples(KEYS, KEYS, KEYS)),
    made("type text", text=TEXTS),
    *map(made, ("wait", "finish", "fail")),
)


@given(ACTIONS)
def test_reading_what_was_printed_is_the_identity(action: Action) -> None:
    printed = print_action(action)
    assert parse_action(printed) == parse_reply(printed) == action
    if action.kind != "type text":
        assert parse_reply(f"First I look.\n\nAction: {printed}") == action


@given(st.text(max_size=400))
def test_any_text_is_an_action_or_unparsed(text: str) -> None:
    check(text)


def test_thousands_of_mutilated_replies_raise_nothing() -> None:
    generator = random.Random(20_260)
    seeds = [reply for reply, _ in PERCU + AROUND + DIALECTS + NOTHING]
    read = sum(check(mutated(generator, seeds)) for _ in range(4000))
    assert 600 < read < 3600  # neither all garbage nor all untouched


def check(text: str) -> bool:
    """Read a text both ways; what is read prints and reads back. Says whether anything was."""
    for parse in (parse_action, parse_reply):
        found = parse(text)
        if isinstance(found, Unparsed):
            assert found.reason
            assert len(found.text) <= 200
            continue
        (space,) = {point.space for point in found.points} or {"original_px"}
        assert parse(print_action(found), space=space) == found
    return not isinstance(found, Unparsed)


# --- long texts -------------------------------------------------------------------------------------------------------

PATIENCE_S = 2.0  # a quadratic step over 20,000 characters takes longer; one pass takes a fiftieth of it
STARTS = ["", "click ", "Action: ", "hotkey (", "press key: ", "type text ", "{'action': ", "scroll ", "drag ",
          "type(content='"]  # fmt: skip
REPEATED = [
    "(", "[", "{", "{'a':", "action ", "action\n", "Action: ", "**action", "1", "1 ", "1,", "(1,", "(1, 2)", "click (",
    " ", "\n", " at (1, 2)", "hotkey (a)", ")", "a+", "+", ",", "-", 'type text: "\n', "')", "'", "\\", "pyautogui.",
    "pyautogui.moveTo(1,2)\n", "import a\n", "# a\n", ";", "<tool_call>", "<answer>", "</think>", "<|im_end|>", "```",
    "- ", "1. ", "`", "*", "enum[", "<point>[[", "\u0661", "0.", " (", "a.a(", "a(b=", " # ", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("start", STARTS)
def test_the_time_for_long_texts_is_bounded(start: str) -> None:
    for repeated in REPEATED:
        text = (start + repeated * MAX_CHARS)[:MAX_CHARS]
        began = time.perf_counter()
        parse_reply(text)
        parse_action(text)
        assert time.perf_counter() - began < PATIENCE_S, (start, repeated)


def test_of_a_long_reply_the_end_counts_and_deep_nesting_is_no_recursion() -> None:
    hello = Action(kind="type text", text="hello")
    assert parse_reply("x" * 3 * MAX_CHARS + "\nAction: type text: hello") == hello
    assert "20,011 characters" in parse_action("type text: " + "a" * MAX_CHARS).reason  # type: ignore[union-attr]
    assert isinstance(parse_reply("{'action': " * 2000 + "1" + "}" * 2000), Unparsed)
    assert isinstance(parse_reply("pyautogui.click(" + "[" * 5000), Unparsed)
