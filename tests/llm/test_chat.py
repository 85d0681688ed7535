"""From a step to the bytes on the wire and back: the bundled cards against a real server, and the chat model itself."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import ChatServer, echo, reply
from fakes.make import MODELS, picture_file, planner_card, query, screenshot
from hypothesis import given
from hypothesis import strategies as st

from grounding.cards import GrounderCard, PlannerCard, read_card
from grounding.data.images import Picture
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatModel, ChatOptions, Exchange, open_chat, render_messages, request_parameters
from grounding.llm.wire import TextPart
from grounding.planners.prompts import prompted
from grounding.records import HistoryEntry, ImageSizes, Query, Size

GTA1 = read_card(MODELS / "grounders" / "gta1-7b-2507.yaml", GrounderCard)
PROMPTS = MODELS / "prompts" / "planners"
O3 = prompted(read_card(MODELS / "planners" / "o3.yaml", PlannerCard), "official", PROMPTS)
SEEN = Size(width=1932, height=1092)


def opened(card: Any, base_url: str, **options: Any) -> ChatModel:
    chosen = ChatOptions(base_url=base_url, **options)
    return open_chat(card, chosen, flag="--base-url", budget=Budget(None), on_retry=lambda: None).model


def ask(model: ChatModel, *queries: Query) -> list[Exchange]:
    async def run() -> list[Exchange]:
        try:
            return list(await asyncio.gather(*(model.ask(each) for each in queries)))
        finally:
            await model.aclose()

    return asyncio.run(run())


# --- o3 ---------------------------------------------------------------------------------------------------------------

HISTORY = (
    HistoryEntry(instruction="Open it", action="Clicked the icon"),
    HistoryEntry(instruction="No, {instruction}", action="Went back"),
)


@pytest.mark.parametrize(
    ("history", "text"),
    [
        ((), "History: "),
        (
            HISTORY,
            "History: 1. Instruction: Open it\n   Action: Clicked the icon\n"
            "2. Instruction: No, {instruction}\n   Action: Went back",
        ),
    ],
)
def test_o3_is_asked_as_in_the_released_scripts(
    server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    history: tuple[HistoryEntry, ...],
    text: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    shot = picture_file(tmp_path / "1.png", 1920, 1080)
    server.default = reply("  the blue button\n", usage={"prompt_tokens": 1_000_000, "completion_tokens": 500_000})
    (asked,) = ask(opened(O3, server.base_url), query(shot, "click {history}", history=history))

    (body,) = server.bodies
    (message,) = body.pop("messages")
    assert body == {"model": "o3", "max_completion_tokens": 16384}
    assert message["role"] == "user"
    first, image, last = message["content"]
    assert first == {
        "type": "text",
        "text": "Given this webpage, the instruction click {history} and the history, what is the correct element",
    }
    url = image["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == Path(shot.path).read_bytes()
    assert last == {"type": "text", "text": text}
    assert server.requests[0].headers["Authorization"] == "Bearer sk-test"
    assert asked.call is not None
    assert asked.call.cost_usd == pytest.approx(2.0 + 4.0)


# --- templates --------------------------------------------------------------------------------------------------------


@given(st.text(), st.text(min_size=1))
def test_the_users_words_stay_as_they_are(instruction: str, goal: str) -> None:
    part = msgspec.structs.replace(GTA1.user[0], text="<{instruction}|{goal}|{width}>")
    card = msgspec.structs.replace(GTA1, system=None, user=(part,), strip_suffix="")
    asked = msgspec.structs.replace(query(screenshot(), instruction), goal=goal)
    picture = Picture(url_json=msgspec.Raw(b'""'), sizes=ImageSizes(original=SEEN, sent=SEEN, model=SEEN))
    (message,) = render_messages(card, asked, picture)
    assert message.parts == (TextPart(text=f"<{instruction}|{goal}|1932>"),)


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("takes", "options", "expected"),
    [
        (["temperature", "seed"], {}, {"temperature": 0, "max_tokens": 32}),
        (["temperature", "seed"], {"temperature": 0.5}, {"temperature": 0.5, "max_tokens": 32}),
        (["temperature", "seed"], {"temperature": 0.0, "seed": 0}, {"temperature": 0.0, "max_tokens": 32, "seed": 0}),
        (["seed"], {"temperature": 0.5, "seed": 3}, {"temperature": 0, "max_tokens": 32, "seed": 3}),
        ([], {"temperature": 0.5, "seed": 3}, {"temperature": 0, "max_tokens": 32}),
    ],
)
def test_parameters_are_the_cards_and_those_options_that_it_takes(
    takes: list[str], options: dict[str, Any], expected: dict[str, Any]
) -> None:
    card = planner_card(parameters={"temperature": 0, "max_tokens": 32}, takes=takes)
    assert request_parameters(card, ChatOptions(**options)) == expected
    assert card.parameters == {"temperature": 0, "max_tokens": 32}


# --- asking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (b"", (64, 48)),
        (b"GIF89a", (64, 48)),
        (b"\x89PNG\r\n\x1a\nbroken", (64, 48)),
        (b"any", (1000, 2)),  # a shape that the model refuses
    ],
)
def test_a_picture_that_can_not_be_used_is_a_failure(
    server: ChatServer, tmp_path: Path, content: bytes, size: tuple[int, int]
) -> None:
    (tmp_path / "1.png").write_bytes(content)
    (asked,) = ask(opened(GTA1, server.base_url), query(screenshot(tmp_path / "1.png", *size)))
    assert asked.completion is None
    assert asked.failure is not None
    assert asked.failure.kind == "error"
    assert server.count == 0


def test_a_failed_call_is_a_failure_without_secrets(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0123456789")
    shot = picture_file(tmp_path / "1.png", 640, 480)
    server.default = echo(400)
    (asked,) = ask(opened(O3, server.base_url), query(shot))
    assert asked.failure is not None
    assert asked.failure.kind == "error"
    assert asked.failure.message.startswith("HTTP 400: ")
    encoded = base64.b64encode(Path(shot.path).read_bytes()).decode()
    assert encoded[40:60] not in repr(asked)
    assert "sk-proj-0123456789" not in repr(asked)
