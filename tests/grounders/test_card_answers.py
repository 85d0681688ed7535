"""Replies as the models write them, through the rule of each bundled card, to pixels of the original screenshot."""

from __future__ import annotations

import pytest
from fakes.make import bundled_grounders

from grounding.cards import GrounderCard
from grounding.data.images import picture_sizes
from grounding.geometry import ModelBox, box_to_original, point_to_original
from grounding.grounders.base import declines, read_answer
from grounding.records import Size

CARDS = {card.name: card for card in bundled_grounders()}
Replies = dict[str, tuple[float, float] | None]

MIDDLE = (960, 540)  # of a screen of 1920 x 1080, which models see as 1932 x 1092 (28) or 1920 x 1088 (32)
NOTHING: Replies = {
    "": None,
    "I'm sorry, but I can't find such an element on the screen.": None,
    "The resolution is 1920x1080.": None,
    "{": None,
    "(,)": None,
}


def call(inside: str, before: str = "", after: str = "") -> str:
    """A call of the computer_use tool."""
    json = f'{{"name": "computer_use", "arguments": {{{inside}}}}}'
    return f"{before}<tool_call>\n{json}\n</tool_call>{after}"


TERMINATE = call('"action": "terminate", "status": "failure"')

GTA1: Replies = {
    "(966,546)": MIDDLE,
    "(966, 546)": MIDDLE,
    "(966.0, 546.0)": MIDDLE,
    "The button is at (966,546), I think, not (5,5).": MIDDLE,
    "(966,": None,
    "966,546": None,
}
GTA1_OCTOBER: Replies = {
    "pyautogui.click(x=966, y=546)": MIDDLE,
    "```python\npyautogui.click(x=966.0, y=546.0)\n```": MIDDLE,
    "pyautogui.click(966, 546)": MIDDLE,
    "I will click (5, 5).\npyautogui.click(x=966, y=546)\npyautogui.click(x=1, y=1)": MIDDLE,
    "pyautogui.click(x=-1, y=-1)": None,
    "pyautogui.click(-1, -1)": None,
}
UGROUND: Replies = {
    "(500, 500)": MIDDLE,
    "(250, 750)": (480, 810),
    "(500.5, 500)": (960.96, 540),
    "500, 500": MIDDLE,
    "500 500": None,
}
UGROUND_REALWEBASSIST: Replies = {
    "(500, 500)": MIDDLE,
    "[500, 500]<|im_end|>": MIDDLE,
    "It is at (500,500).": MIDDLE,
    "500, 500": None,
    "(500.5, 500)": None,
}
GUI_R1: Replies = {
    "<think>The user wants the button.</think> <answer>[{'action': 'click', 'point': [966, 546], 'input_text': 'no "
    "input text'}]</answer>": MIDDLE,
    '<think>At (3, 4) or [5, 6].</think>\n<answer>[{"action": "click", "point": [966, 546]}]</answer>': MIDDLE,
    "<answer>[{'action': 'click', 'point': (966.0, 546.0)}]</answer>": MIDDLE,
    "<answer>[966, 546]</answer>": MIDDLE,
    "<answer>[{'action': 'complete', 'point': [-100, -100], 'input_text': 'no input text'}]</answer>": None,
    "<think>It is at [966, 546], or so": None,
}
QWEN25: Replies = {
    "966, 546]}}\n</tool_call>": MIDDLE,
    "966.0, 546.0]}}": MIDDLE,
    "946, 526, 986, 566]}}\n</tool_call>": MIDDLE,
    call('"action": "left_click", "coordinate": [966, 546]'): MIDDLE,  # a server that says the prefill again
    "966, 546": None,
    "966]}}": None,
}
TARS: Replies = {
    "Action: click(start_box='<|box_start|>(966,546)<|box_end|>')": MIDDLE,
    "Action: click(start_box='(966,546)')": MIDDLE,
    'Thought: (7, 7) is near.\nAction: click(start_box="(966, 546)")': MIDDLE,
    "click(point='<point>966 546</point>')": MIDDLE,
    "Action: click(start_box='=')": None,
    "Action: finished()": None,
}

BOX: Replies = {
    "[946,526,986,566]": MIDDLE,
    "[946.0, 526, 986, 566]": MIDDLE,
    "946,526,986,566": MIDDLE,
    "[966,546]": None,
    "[946,526,986": None,
}
CLAUDE: Replies = {
    '{"name": "left_click", "arguments": {"coordinate":[960,540]}}': MIDDLE,
    'There.\n{"name": "computer", "arguments": {"action":"left_click","coordinate":[960, 540]}}': MIDDLE,
    '{"name": "mouse_move", "arguments": {"coordinate":[960,540]}}\n{"name": "left_click", "arguments": {}}': MIDDLE,
    '{"name": "computer", "arguments": {"action":"screenshot"}}': None,
    "It is at [960, 540].": None,
}

CASES: dict[str, Replies] = {
    "claude-opus-computer": CLAUDE,
    "claude-computer": CLAUDE,
    "gemini-3.1-pro": {
        "It is left of (1, 2).\n\n(500, 500)": MIDDLE,
        "(500,500)": MIDDLE,
        "500, 500": MIDDLE,
        "(500 500)": None,
    },
    "gpt-5": {
        "[[0.45,0.4,0.55,0.6]]": MIDDLE,
        "[[0.45, 0.4, 0.55, 0.6]]": MIDDLE,
        "[[0.5,0.5]]": MIDDLE,
        "Target not existent": None,
    },
    "openai-computer": {
        '{"name": "click", "arguments": {"button":"left","x":960,"y":540}}': MIDDLE,
        '{"name": "move", "arguments": {"x": 960, "y": 540}}\n{"name": "click", "arguments": {"x":1,"y":1}}': MIDDLE,
        'Done.\n{"name": "double_click", "arguments": {"x":960,"y":540,"keys":[]}}': MIDDLE,
        '{"name": "screenshot", "arguments": {}}': None,
        '{"name": "drag", "arguments": {"path":[]}}': None,
    },
    "phi-ground": {  # Of a canvas of 672 lines, of which the screen takes 567.
        "<point>500, 421.875</point>": MIDDLE,
        " <point>500.0, 421.875</point> and more": MIDDLE,
        "there: <point>500, 421.875</point><point>1, 2</point>": MIDDLE,
        "(500, 421.875)": None,
    },
    "gui-g2": BOX,
    "ui-venus-ground": BOX,
    "ui-venus-ground-72b": {
        "[1156,652,1196,692]": MIDDLE,
        "[1156, 652, 1196, 692]": MIDDLE,
        "The box is [1156,652,1196,692].": MIDDLE,
        "[1156,652]": None,
    },
    "holo2": {
        '{"x": 500, "y": 500}': MIDDLE,
        '{"x":250,"y":750}': (480, 810),
        'Thought.</think>\n{"x":500,"y":500}': MIDDLE,
        '{"x": 500': None,
    },
    "mai-ui": {
        '<grounding_think>Left.</grounding_think>\n<answer>\n{"coordinate": [500,500]}\n</answer>': MIDDLE,
        '<answer>{"coordinate": [500, 500]}</answer>': MIDDLE,
        "[250,750]": (480, 810),
        "<grounding_think>It is nowhere.</grounding_think>": None,
    },
    "qwen3.5-122b": {
        call('"action": "left_click", "coordinate": [500, 500]'): MIDDLE,
        '[{"point_2d": [500, 500]}]': MIDDLE,
        call('"action": "left_click", "coordinate": [490, 490, 510, 510]'): MIDDLE,
        TERMINATE: None,
    },
    "se-gui": {
        call(
            '"action": "left_click", "coordinate": [966, 546]', "<think>(1, 2)</think>\n<answer>\n", "</answer>"
        ): MIDDLE,
        call('"coordinate": [1, 2, 966.0, 546]', "<answer>", "</answer>"): MIDDLE,
        "<answer><tool_call>966 and 546</tool_call></answer>": MIDDLE,
        call('"action": "left_click", "coordinate": [966, 546]'): None,
        "<answer><tool_call>{}</tool_call></answer>": None,
    },
    "ui-ins": {
        "<think>\nHere.\n</think>\n<tool_call>\n"
        '{"name": "grounding", "arguments": {"action": "click", "coordinate": [966,546]}}\n</tool_call>': MIDDLE,
        '<tool_call>{"name": "grounding", "arguments": {"coordinate": [966, 546]}}</tool_call>': MIDDLE,
        "[966, 546]": MIDDLE,
        "<think>Where?</think>": None,
    },
    "gta1": GTA1,
    "gta1-7b": GTA1_OCTOBER,
    "uground": UGROUND,
    "os-atlas": {
        "<|object_ref_start|>language switch<|object_ref_end|><|box_start|>(450,400),(550,600)<|box_end|>": MIDDLE,
        "<|object_ref_start|>x<|object_ref_end|><|box_start|>(450,400),(550,600)<|box_end|><|im_end|>": MIDDLE,
        "language switch(450,400),(550,600)": MIDDLE,
        "[[450,400,550,600]]": MIDDLE,
        "<|box_start|><|box_end|>": None,
    },
    "os-atlas-pro": {
        "thoughts:\nclick the sign-up button\nactions:\nCLICK <point>[[500,500]]</point>": MIDDLE,
        "Thoughts: not <point>[[1, 1]]</point>\nActions:\nLONG_PRESS <point>[[500, 500]]</point>": MIDDLE,
        "CLICK <point>[[500,500]]</point>": MIDDLE,
        "CLICK [[500,500]]": MIDDLE,
        "thoughts:\nscroll [[1,1]]\nactions:\nSCROLL [DOWN]": None,
        "thoughts:\n<point>[[1,1]]</point>\nactions:\nCOMPLETE": None,
    },
    "aria-ui": {
        "[500, 500]": MIDDLE,
        "(500, 500)": MIDDLE,
        "500, 500": MIDDLE,
        "```\n[500, 500]\n```<|im_end|>": MIDDLE,
        "[500]": None,
    },
    "aria-ui-realwebassist": {
        "[500, 500]": MIDDLE,
        "500,500": MIDDLE,
        "(500, 500, 1, 1)": MIDDLE,
        "The point is (500, 500).": None,
        "[500]": None,
    },
    "os-atlas-realwebassist": {
        "<|box_start|>(450,400),(550,600)<|box_end|>": MIDDLE,
        "<|box_start|>[[450, 400, 550, 600]]<|box_end|><|im_end|>": MIDDLE,
        "<|object_ref_start|>x<|object_ref_end|><|box_start|>(450,400),(550,600)<|box_end|>": MIDDLE,
        "(450,400),(550,600)": None,
    },
    "uground-realwebassist": UGROUND_REALWEBASSIST,
    "uground-after-planner": UGROUND_REALWEBASSIST,
    "ui-tars": TARS,
    "ui-tars-start-box": TARS,
    "ui-tars-dpo": {
        "(500,500)": MIDDLE,
        "The point is (500, 500).": MIDDLE,
        "[500,500]": MIDDLE,
        "click(start_box='<|box_start|>(500,500)<|box_end|>')": MIDDLE,
        "click(start_box='=')": None,
    },
    "showui": {
        "[0.5, 0.5]": MIDDLE,
        "[0.73, 0.21]": (1401.6, 226.8),
        "The location is [0.5, 0.5].": MIDDLE,
        "[500, 500]": MIDDLE,  # the other form that it was trained on
        "[0.5]": None,
    },
    "gui-r1": GUI_R1,
    "gui-owl": {
        call('"action": "click", "coordinate": [966, 546]'): MIDDLE,
        call(
            '"action": "click", "coordinate": [966, 546]',
            "<thinking>\nAt [12, 13].\n</thinking>\n",
            "\n<conclusion>\nClicked [3, 4]\n</conclusion>",
        ): MIDDLE,
        call('"action": "click", "coordinate": [946, 526, 986, 566]'): MIDDLE,
        call('"action": "drag", "coordinate": [966, 546], "coordinate2": [1, 1]'): MIDDLE,
        TERMINATE: None,
        call('"action": "wait", "time": 3'): None,
    },
    "seeclick": {
        "(0.50,0.50)": MIDDLE,
        "(0.25, 0.75)": (480, 810),
        "(0.40,0.40,0.60,0.60)": MIDDLE,
        "<box>(450,400),(550,600)</box>": MIDDLE,
        "0.50": None,
    },
    "qwen2.5-vl": QWEN25,
    "qwen3-vl": {
        call('"action": "left_click", "coordinate": [500, 500]'): MIDDLE,
        call('"action": "mouse_move", "coordinate": [250, 750]', "I'll click [9, 9].\n"): (480, 810),
        call('"action": "left_click", "coordinate": [490, 490, 510, 510]'): MIDDLE,
        '```json\n[{"point_2d": [500, 500], "label": "OK"}]\n```': MIDDLE,
        TERMINATE: None,
        call('"action": "answer", "text": "[1, 2]"'): None,
    },
    "ui-venus-1.5": {
        "[500,500]": MIDDLE,
        "[500, 500]": MIDDLE,
        "The point is [500,500].": MIDDLE,
        "[450,400,550,600]": MIDDLE,
        "[-1,-1]": None,
        "[-1, -1]": None,
    },
    "infigui-g1": {
        '<think>The target is on the left.</think>\n```json\n[{"point_2d": [966, 546]}]\n```': MIDDLE,
        '<think>Not [{"point_2d": [1, 1]}].</think>[{"point_2d": [966, 546]}, {"point_2d": [2, 2]}]': MIDDLE,
        '[{"point_2d": [966.0, 546.0], "label": "OK"}]': MIDDLE,
        "<think>There is none.</think>[]": None,
        '<think>Perhaps [{"point_2d": [1, 1]}]': None,
    },
    "holo1.5": {
        '{"action": "click_absolute", "x": 966, "y": 546}': MIDDLE,
        '{ "action":"click_absolute","x":966,\n"y":546}': MIDDLE,
        '{"x": 966, "y": 546}': MIDDLE,
        "Click(966, 546)": MIDDLE,
        '{"action": "click_absolute", "x": 966': None,
    },
    "gui-owl-1.5": {
        call('"action": "left_click", "coordinate": [500, 500]'): MIDDLE,
        call('"action": "left_click", "coordinate": [500, 500]', "First [1, 1].\n"): MIDDLE,
        call('"action": "left_click", "coordinate": [500, 500]', "Not (250, 750).\n"): (480, 810),  # round ones first
        TERMINATE: None,
    },
}
REFUSALS = {
    "gta1-7b": "pyautogui.click(x=-1, y=-1)",
    "gui-r1": "<answer>[{'action': 'wait', 'point': [-100, -100]}]</answer>",
    "gui-owl": TERMINATE,
    "gui-owl-1.5": TERMINATE,
    "qwen3-vl": TERMINATE,
    "qwen3.5-122b": TERMINATE,
    "ui-venus-1.5": "[-1,-1]",
    "infigui-g1": "<think>none</think>\n```json\n[]\n```",
}


def where(card: GrounderCard, reply: str, screen: Size) -> tuple[float, float] | None:
    """The point that a reply names on a screen."""
    place = read_answer((card.prefill or "") + reply, card.answer)
    if place is None:
        return None
    sizes = picture_sizes(screen, card.image)
    point = box_to_original(place, sizes).center if isinstance(place, ModelBox) else point_to_original(place, sizes)
    return (point.x_px, point.y_px)


def test_every_card_whose_answer_is_text_is_here() -> None:
    assert set(CASES) == {name for name, card in CARDS.items() if card.serving.how != "in-process"}
    for replies in CASES.values():
        assert sum(point is not None for point in replies.values()) >= 3
        assert None in replies.values()


@pytest.mark.parametrize(
    ("name", "reply", "point"),
    [(name, reply, point) for name, replies in CASES.items() for reply, point in (replies | NOTHING).items()],
    ids=lambda value: repr(value)[:40],
)
def test_a_reply_on_a_full_hd_screen(name: str, reply: str, point: tuple[float, float] | None) -> None:
    found = where(CARDS[name], reply, Size(width=1920, height=1080))
    assert found == (point and pytest.approx(point))


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_refusal_is_told_from_a_reply_without_a_point(name: str) -> None:
    card = CARDS[name]
    assert not any(declines((card.prefill or "") + reply, card.answer) for reply in NOTHING)
    assert not any(declines((card.prefill or "") + reply, card.answer) for reply, point in CASES[name].items() if point)
    if name in REFUSALS:
        assert declines(REFUSALS[name], card.answer)


LONG = 20_000  # as many characters as are read
STARTS = [
    "(",
    "[",
    "(1",
    "(1,",
    "[1, ",
    "start_box=",
    "start_box='(",
    "<point>",
    "<point>1",
    '{"coordinate": [',
    '"x": ',
]
STARTS += [
    '"x": 1, "y": ',
    "<answer>[{'point': [",
    '<think></think>[{"point_2d": [',
    "<think>",
    "</think>",
    "actions:",
    "`",
    "[",
]


@pytest.mark.timeout(20)  # a way that tries every cut of a run of blanks takes hours
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_model_that_repeats_itself_is_read_in_no_time(name: str) -> None:
    card = CARDS[name]
    for start in STARTS:
        for run in (" ", "\n", "1", "(", start):
            reply = (start + run * LONG)[:LONG]
            assert read_answer(reply, card.answer) is None
            assert read_answer(reply + "</answer>", card.answer) is None
