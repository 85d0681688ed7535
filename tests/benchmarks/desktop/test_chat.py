"""Agents of cards against a real server: what is sent, in which order, and what is made of the replies."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import ChatServer, Json, error, reply
from fakes.make import REPOSITORY, client, picture_file
from PIL import Image

from benchmarks.desktop.made import desktop_data
from grounding.actions.kinds import print_action
from grounding.actions.parsing import parse_action
from grounding.benchmarks.desktop.agents import (
    MEMORY_LINE,
    ActQuery,
    DesktopChatAgent,
    StyledModel,
    asking,
    percu_prompt,
)
from grounding.benchmarks.desktop.folder import DesktopStepLine, memories
from grounding.cards import GrounderCard, PlannerCard, Price, find_card, read_card
from grounding.data import load_desktop
from grounding.data.desktop_records import DesktopPrediction
from grounding.geometry import smart_resize
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatModel
from grounding.options import PromptStyle
from grounding.records import Screenshot, Size
from grounding.scoring.desktop import FORMAT_FAILED

WIDTH, HEIGHT = 1280, 720
THOUGHT, SECOND = "Robin likes {instruction} and Turquoise.", "Make it mine."
TEXT, IMAGE = ("user", "text"), ("user", "image")
ORDERS = {
    "showui-2b": [TEXT, TEXT, IMAGE],
    "gui-r1-3b": [TEXT, IMAGE, TEXT],
    "gui-r1-7b": [TEXT, IMAGE, TEXT],
    "gui-owl-7b": [("system", "text"), TEXT, IMAGE],
    "ui-tars-1.5-7b": [TEXT, IMAGE],
    "os-atlas-pro-7b": [TEXT, IMAGE, TEXT],
}  # What each model's own request holds, in order.


def card(name: str) -> GrounderCard:
    return find_card(name, REPOSITORY / "models" / "grounders", GrounderCard, builtin=(), kind="grounder")


@pytest.fixture
def shot(tmp_path: Path) -> Screenshot:
    return picture_file(tmp_path / "screen.png", WIDTH, HEIGHT)


def question(shot: Screenshot, memory: str | None = THOUGHT) -> ActQuery:
    return ActQuery(step_id="t/1", key="k", screenshot=shot, instruction=SECOND, memory=memory)


def act(asked: StyledModel, server: ChatServer, query: ActQuery, **options: Any) -> DesktopPrediction:
    async def once() -> DesktopPrediction:
        model = ChatModel(asked.card, client(server.base_url, asked.card, **options), dict(asked.card.parameters))
        one = DesktopChatAgent(asked, model)
        try:
            return await one.act(query)
        finally:
            await one.aclose()

    return asyncio.run(once())


def sent(body: Json) -> list[tuple[str, str, str]]:
    """Role, kind and content of everything that was sent, in order."""
    found = []
    for message in body["messages"]:
        content = message["content"]
        for one in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            is_text = one["type"] == "text"
            what = one["text"] if is_text else one["image_url"]["url"].removeprefix("data:image/png;base64,")
            found.append((message["role"], "text" if is_text else "image", what))
    return found


def texts(body: Json) -> list[str]:
    return [what for _, kind, what in sent(body) if kind == "text"]


def image(body: Json) -> bytes:
    (data,) = [what for _, kind, what in sent(body) if kind == "image"]
    return base64.b64decode(data)


# --- the benchmark's prompt -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ORDERS)
def test_every_model_is_asked_in_the_released_words_with_the_files_own_bytes(name: str, shot: Screenshot) -> None:
    model = card(name)
    with ChatServer(reply("Thought.\n\nAction: click (10, 20)")) as server:
        act(asking(model, "percu", None), server, question(shot))
    (body,) = server.bodies
    assert [(role, kind) for role, kind, _ in sent(body)] == [TEXT, IMAGE]
    assert image(body) == Path(shot.path).read_bytes()
    assert {key: value for key, value in body.items() if key != "messages"} == {
        "model": model.model, "max_tokens": 1024, "temperature": 0.1,
    }  # fmt: skip


RELEASED = [
    ({"thought": THOUGHT, "second instruction": SECOND}, ["f0c2003ef2ec7e03", "d969db996317ded5", "d969db996317ded5"]),
    ({"second instruction": SECOND}, ["3cad8b491165e2ae"]),
    ({"thought": "Two lines,\nthe second ends in a blank. ", "second instruction": ""}, ["987b4013ddc9fb91"]),
]
"""Lines of a task file and SHA-256 (its beginning) of the text of each request that the release makes about them.

Made by running code/evaluate.py of scm62519/PERCU at dba7cd4 with a client that answers "no" twice, then an action.
"""


def test_every_request_is_the_releases_to_the_byte(tmp_path: Path) -> None:
    lines = [{"action": "wait", "screen": "menu", **fields} for fields, _ in RELEASED]
    data = load_desktop("percu", desktop_data(tmp_path, {"preference_a": tuple(lines)}))
    with ChatServer(reply("Action: wait")) as server:
        server.script(reply("no"), reply("no"))
        memory_of = memories(data.tasks, "thought", 0)
        for step in data.tasks[0].steps:
            line = DesktopStepLine(task=data.tasks[0].id, memory=memory_of[step.id], step=step)
            act(asking(card("gui-r1-3b"), "percu", None), server, line.query("k"))
    found = [hashlib.sha256(text.encode()).hexdigest()[:16] for body in server.bodies for text in texts(body)]
    assert found == [made for _, hashes in RELEASED for made in hashes]


@pytest.mark.parametrize("style", ["percu", "native"])
@pytest.mark.parametrize("name", ORDERS)
def test_without_a_memory_nothing_of_one_is_in_any_byte_of_the_request(
    name: str, style: PromptStyle, shot: Screenshot
) -> None:
    with ChatServer(reply("no")) as server:
        act(asking(card(name), style, 3), server, question(shot, memory=None))
    assert server.count == 3
    for received in server.asked:
        assert MEMORY_LINE.encode() not in received.content
        assert b"memories" not in received.content
        assert b"Turquoise" not in received.content
        assert SECOND.encode() in received.content


# --- the models' own prompts ------------------------------------------------------------------------------------------


def seen_by(name: str) -> Size:
    """The size of the picture that a model sees."""
    rule = card(name).image
    assert rule.factor
    assert rule.min_pixels
    assert rule.max_pixels
    size = Size(width=WIDTH, height=HEIGHT)
    return smart_resize(size, factor=rule.factor, min_pixels=rule.min_pixels, max_pixels=rule.max_pixels)


@pytest.mark.parametrize("name", ORDERS)
def test_a_model_is_asked_in_its_own_order_with_a_picture_of_its_own_size(name: str, shot: Screenshot) -> None:
    model = card(name)
    with ChatServer(reply("nothing")) as server:
        found = act(asking(model, "native", None), server, question(shot))
    (body,) = server.bodies
    assert [(role, kind) for role, kind, _ in sent(body)] == ORDERS[name]
    assert body["model"] == model.model
    assert {key: body[key] for key in model.parameters} == model.parameters
    assert sum(SECOND in text for text in texts(body)) == 1
    assert found.sizes is not None
    rule = model.image
    if rule.resize == "none":
        assert image(body) == Path(shot.path).read_bytes()
        assert found.sizes.model == shot.size
        return
    seen = seen_by(name)
    assert (found.sizes.original, found.sizes.model) == (shot.size, seen)
    with Image.open(BytesIO(image(body))) as picture:
        assert picture.size == (seen.width, seen.height)
    if name == "gui-owl-7b":
        assert f"The screen's resolution is {seen.width}x{seen.height}." in texts(body)[0]


R1 = "<think>Action: click</think><answer>[{'action': %s}]</answer>"
OWL = '<thinking>a</thinking><tool_call>{"name": "computer_use", "arguments": {"action": %s}}</tool_call>b'
ANSWERS = [
    ("showui-2b", "{'action': 'CLICK', 'value': None, 'position': [0.25, 0.5]}", "click (320, 360)"),
    ("showui-2b", "{'action': 'INPUT', 'value': 'tea', 'position': [0.1, 0.2]}", "type text: tea"),
    ("showui-2b", "{'action': 'ENTER', 'value': None, 'position': None}", "press key: enter"),
    ("gui-r1-3b", R1 % "'click', 'point': [@x, @y], 'input_text': 'no input text'", "click"),
    ("gui-r1-7b", R1 % "'click', 'point': [@x, @y], 'input_text': 'no input text'", "click"),
    ("gui-r1-7b", R1 % "'type', 'point': [-100, -100], 'input_text': 'tea'", "type text: tea"),
    ("gui-r1-7b", R1 % "'scroll', 'point': [-100, -100], 'input_text': 'down'", "scroll (down)"),
    ("gui-r1-7b", R1 % "'complete', 'point': [-100, -100]", "finish"),
    ("gui-r1-7b", R1 % "'press_home', 'point': [-100, -100]", ""),
    ("gui-owl-7b", OWL % '"click", "coordinate": [@x, @y]', "click"),
    ("gui-owl-7b", OWL % '"double_click", "coordinate": [@x, @y]', "double click"),
    ("gui-owl-7b", OWL % '"drag", "coordinate": [@x, @y], "coordinate2": [@x, @y]', "drag"),
    ("gui-owl-7b", OWL % '"key", "keys": ["ctrl", "s"]', "hotkey (ctrl, s)"),
    # Notches of a wheel are no pixels.
    ("gui-owl-7b", OWL % '"scroll", "pixels": -5', "scroll (down)"),
    ("gui-owl-7b", OWL % '"terminate", "status": "success"', "finish"),
    ("ui-tars-1.5-7b", "Thought: a\nAction: click(start_box='<|box_start|>(@x,@y)<|box_end|>')", "click"),
    ("ui-tars-1.5-7b", "Action: right_single(point='<point>@x @y</point>')", "right click"),
    ("ui-tars-1.5-7b", "Action: hotkey(key='ctrl s')", "hotkey (ctrl, s)"),
    ("ui-tars-1.5-7b", "Action: wait()", "wait"),
    ("os-atlas-pro-7b", "thoughts:\nopen it\nactions:\nCLICK <point>[[500, 250]]</point>", "click (640, 180)"),
    ("os-atlas-pro-7b", "actions:\nTYPE [tea]", "type text: tea"),
    ("os-atlas-pro-7b", "actions:\nSCROLL [DOWN]", "scroll (down)"),
]  # Replies in the models' own words with a point near (640, 360) of the screenshot, and what they mean.


@pytest.mark.parametrize(("name", "said", "meant"), ANSWERS)
def test_a_reply_in_a_models_own_words_and_space_is_the_action_on_the_screenshot(
    name: str, said: str, meant: str, shot: Screenshot
) -> None:
    seen = seen_by(name) if "@x" in said else shot.size
    x, y = round(640 * seen.width / WIDTH), round(360 * seen.height / HEIGHT)
    with ChatServer(reply(said.replace("@x", str(x)).replace("@y", str(y)))) as server:
        found = act(asking(card(name), "native", None), server, question(shot))
    if not meant:
        assert found.failure is not None
        assert (found.action, found.failure.kind) == (None, "unparsed")
        return
    assert found.action is not None
    if "@x" not in said:
        assert print_action(found.action) == meant
        return
    assert found.action.kind == meant
    for point in found.action.points:
        assert (point.x, point.y) == pytest.approx((x * WIDTH / seen.width, y * HEIGHT / seen.height))


def test_in_the_benchmarks_prompt_coordinates_are_taken_as_written(shot: Screenshot) -> None:
    """A model that answers in its own space is misread, as in the paper's table: that is what the style is for."""
    with ChatServer(reply("Action: click (500, 250)")) as server:
        found = act(asking(card("os-atlas-pro-7b"), "percu", None), server, question(shot))
    assert (found.action, found.action_text) == (parse_action("click (500, 250)"), "click (500, 250)")
    with ChatServer(reply("{'action': 'CLICK', 'value': None, 'position': [0.7001, 0.5]}")) as server:
        found = act(asking(card("showui-2b"), "percu", None), server, question(shot))
    # The release cuts fractions off; the action keeps them.
    assert found.action_text == "CLICK (896, 360)"
    assert found.action is not None
    assert found.action.points[0].x == pytest.approx(0.7001 * WIDTH)


# --- again, where a reply holds no action -----------------------------------------------------------------------------

PRICED = msgspec.structs.replace(
    card("gui-owl-7b"), price=msgspec.convert({"input_usd": 1.0, "output_usd": 2.0, "date": "2026-01-01"}, Price)
)


def test_a_reply_without_an_action_is_asked_again_with_a_note_and_all_are_kept_and_paid(shot: Screenshot) -> None:
    note = percu_prompt().feedback
    with ChatServer(reply("Action: finish")) as server:
        server.script(reply("I would click."), reply("Let me think."))
        found = act(asking(PRICED, "percu", None), server, question(shot))
    first, second, third = (texts(body)[0] for body in server.bodies)
    assert second == third == first + note
    words = "Please output the standard format containing 'Action:' or the standard JSON dictionary format."
    assert note == f"\n\nNote: {words}"
    assert (found.action_text, found.asked) == ("finish", 3)
    assert (found.earlier_raw, found.raw) == (("I would click.", "Let me think."), "Action: finish")
    assert found.call is not None
    assert found.call.usage is not None
    assert found.call.usage.input_tokens == 3000
    assert found.call.cost_usd == pytest.approx(3 * (1000 * 1.0 + 10 * 2.0) / 1e6)
    assert found.call.attempts == 3


def test_after_the_last_try_the_released_words_for_it_are_compared(shot: Screenshot) -> None:
    with ChatServer(reply("I am not sure.")) as server:
        found = act(asking(card("gui-owl-7b"), "percu", None), server, question(shot))
        once = act(asking(card("gui-owl-7b"), "percu", 1), server, question(shot))
    assert server.count == 4
    assert found.action_text == once.action_text == FORMAT_FAILED
    assert found.action is None
    assert found.failure is not None
    assert (found.failure.kind, len(found.earlier_raw), once.earlier_raw) == ("unparsed", 2, ())


def test_an_error_after_a_reply_keeps_what_was_said_and_paid(shot: Screenshot) -> None:
    with ChatServer(error(500)) as server:
        server.script(reply("I would click."))
        found = act(asking(card("gui-owl-7b"), "percu", None), server, question(shot), max_retries=0)
    assert found.failure is not None
    assert (found.failure.kind, found.action, found.action_text) == ("error", None, "")
    assert found.raw == "I would click."
    assert found.call is not None
    assert found.call.usage is not None or found.call.failed_usage is not None


def test_a_limit_that_is_reached_between_two_tries_keeps_the_first(shot: Screenshot) -> None:
    with ChatServer(reply("hm", usage={"prompt_tokens": 4000, "completion_tokens": 1024})) as server:
        budget = Budget(0.0065)
        found = act(asking(PRICED, "percu", None), server, question(shot), budget=budget)
        assert server.count == 1
    assert found.failure is not None
    assert found.failure.kind == "error"
    assert "no other try" in found.failure.message
    assert found.raw == "hm"
    assert found.call is not None
    assert found.call.cost_usd is not None


# --- cards ------------------------------------------------------------------------------------------------------------


def test_a_vendors_model_keeps_its_own_parameters() -> None:
    def planner(name: str) -> PlannerCard:
        return read_card(REPOSITORY / "models" / "planners" / f"{name}.yaml", PlannerCard)

    four = asking(planner("gpt-4o"), "percu", None).card
    assert four.parameters["temperature"] == 0.1
    assert "temperature" not in asking(planner("o3"), "percu", None).card.parameters
