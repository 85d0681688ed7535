"""What each bundled card sends: the exact body, on two sizes of screenshot, and that no prompt changes unawares.

The prompts are wire format: a model was trained to them, and its published figures come from them. Each is the text of
the file that its card names as ``source``; a hash below may change only together with that.
"""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import ChatServer
from fakes.make import bundled_grounders, picture_file, query
from PIL import Image

from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.records import HistoryEntry

CARDS = {card.name: card for card in bundled_grounders()}
SERVED = [
    name
    for name, card in CARDS.items()
    if card.serving.how in ("vllm", "vllm-flags") and card.endpoint.interface == "chat"
]

HASHES = {
    "aria-ui": "6c39ec2e",
    "aria-ui-realwebassist": "a7d6621c",
    "claude-computer": "936ce30c",
    "claude-opus-computer": "936ce30c",
    "gemini-3.1-pro": "b22b9c10",
    "gpt-5": "4e894aa1",
    "gta1": "50c9351b",
    "gta1-7b": "828a23eb",
    "gui-actor": "f21caec5",
    "gui-actor-qwen2-vl": "828a23eb",
    "gui-g2": "2b3351a0",
    "gui-owl": "dff021fa",
    "gui-owl-1.5": "87c87c55",
    "gui-r1": "f6c25216",
    "holo1.5": "baeead07",
    "holo2": "cbc3f475",
    "infigui-g1": "dae68f82",
    "mai-ui": "4ec4787f",
    "openai-computer": "142034d1",
    "os-atlas": "ecaf2666",
    "os-atlas-pro": "7bfb5e1c",
    "os-atlas-realwebassist": "535ed5f0",
    "qwen2.5-vl": "4dae53fe",
    "qwen3-vl": "9118ad50",
    "phi-ground": "a6b61403",
    "qwen3.5-122b": "9118ad50",
    "se-gui": "fc083320",
    "seeclick": "16bd7694",
    "showui": "d7432562",
    "uground": "57542062",
    "uground-after-planner": "2d13d7b8",
    "uground-realwebassist": "535ed5f0",
    "ui-ins": "edefe0e5",
    "ui-tars": "f8461583",
    "ui-tars-dpo": "4db22d8d",
    "ui-tars-start-box": "c4bccc3d",
    "ui-venus-1.5": "f0f755ae",
    "ui-venus-ground": "2b3351a0",
    "ui-venus-ground-72b": "edef376d",
}

FACTOR_28 = ((1932, 1092), (1288, 728))
FACTOR_32 = ((1920, 1088), (1280, 704))
AS_IT_IS = ((1920, 1080), (1280, 720))
UNTIL = {"temperature": 0, "repetition_penalty": 1.0}
PREFILLED = {"add_generation_prompt": False, "continue_final_message": True}
R1 = {"temperature": 0, "top_p": 0.001, "repetition_penalty": 1.05, "max_tokens": 1024}
CLICK = {
    "description": "Click at absolute coordinates.",
    "properties": {
        "action": {"const": "click_absolute", "default": "click_absolute", "title": "Action", "type": "string"},
        "x": {
            "description": "The x coordinate, number of pixels from the left edge.",
            "title": "X",
            "type": "integer",
        },
        "y": {"description": "The y coordinate, number of pixels from the top edge.", "title": "Y", "type": "integer"},
    },
    "required": ["x", "y"],
    "title": "ClickAbsoluteAction",
    "type": "object",
}

COORDINATES = {
    "properties": {
        axis: {
            "description": f"The {axis} coordinate, normalized between 0 and 1000.",
            "maximum": 1000,
            "minimum": 0,
            "title": axis.upper(),
            "type": "integer",
        }
        for axis in "xy"
    },
    "required": ["x", "y"],
    "title": "ClickCoordinates",
    "type": "object",
}

# Parts of the user message, sizes sent for 1920 x 1080 and 1280 x 720, parameters, where the size stands in words.
WIRE: dict[str, tuple[str, tuple[tuple[int, int], tuple[int, int]], dict[str, Any], str]] = {
    "gta1": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 32}, "height {h} and width {w}."),
    "phi-ground": ("text image", ((1008, 672), (1008, 672)), {**UNTIL, "max_tokens": 64}, ""),
    "gui-owl": ("text image", FACTOR_28, {**UNTIL, "max_tokens": 2048}, "screen's resolution is {w}x{h}."),
    "gui-owl-1.5": ("image text", FACTOR_32, {**UNTIL, "max_tokens": 2048}, "screen's resolution is 1000x1000."),
    "gui-r1": ("text image text", FACTOR_28, R1, ""),
    "holo1.5": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 32, "structured_outputs": {"json": CLICK}}, ""),
    "gemini-3.1-pro": ("text text image", AS_IT_IS, {"max_tokens": 32768}, ""),
    "gpt-5": ("image text", AS_IT_IS, {"max_completion_tokens": 16384, "reasoning_effort": "high"}, ""),
    "gui-g2": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 128}, ""),
    "holo2": (
        "image text",
        FACTOR_32,
        {
            **UNTIL,
            "max_tokens": 32,
            "chat_template_kwargs": {"thinking": False},
            "structured_outputs": {"json": COORDINATES},
        },
        "",
    ),
    "infigui-g1": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 1024}, "The screen's resolution is {w}x{h}.\n"),
    "mai-ui": ("text image", FACTOR_32, {**UNTIL, "max_tokens": 256}, ""),
    "os-atlas": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 128, "skip_special_tokens": False}, ""),
    "os-atlas-realwebassist": (
        "image text text",
        AS_IT_IS,
        {**UNTIL, "max_tokens": 128, "skip_special_tokens": False},
        "",
    ),
    "os-atlas-pro": ("text image text", AS_IT_IS, {**UNTIL, "max_tokens": 256}, ""),
    "qwen2.5-vl": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 100, **PREFILLED}, "resolution is {w}x{h}.\n"),
    "qwen3-vl": ("image text", FACTOR_32, {**UNTIL, "max_tokens": 2048}, "resolution is 1000x1000.\\n"),
    "qwen3.5-122b": (
        "image text",
        FACTOR_32,
        {**UNTIL, "max_tokens": 2048, "chat_template_kwargs": {"enable_thinking": False}},
        "resolution is 1000x1000.\\n",
    ),
    "se-gui": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 256}, "screen's resolution is {w}x{h}.\n"),
    "showui": ("text image text", ((1344, 756), (1288, 728)), {**UNTIL, "max_tokens": 128}, ""),
    "uground": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 64}, ""),
    "uground-after-planner": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 128}, ""),
    "uground-realwebassist": ("image text text", AS_IT_IS, {**UNTIL, "max_tokens": 128}, ""),
    "ui-tars": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 400}, ""),
    "ui-tars-start-box": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 400}, ""),
    "ui-tars-dpo": ("image text", AS_IT_IS, {**UNTIL, "frequency_penalty": 1, "max_tokens": 128}, ""),
    "ui-ins": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 256}, ""),
    "ui-venus-1.5": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 128}, ""),
    "ui-venus-ground": ("image text", ((1932, 1092), (1904, 1064)), {**UNTIL, "max_tokens": 128}, ""),
    "ui-venus-ground-72b": ("image text", ((2352, 1344), (2352, 1344)), {**UNTIL, "max_tokens": 128}, ""),
}

WORDS = 'press "Löschen" {width}\nthen (ok).'


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def sent(card: ChatCard, server: ChatServer, path: Path, size: tuple[int, int], **more: Any) -> dict[str, Any]:
    """The body that the server gets for one step."""
    asked = query(picture_file(path, *size), WORDS, **more)

    async def run() -> None:
        chosen = ChatOptions(base_url=server.base_url)
        model = open_chat(card, chosen, flag="--base-url", budget=Budget(None), on_retry=lambda: None).model
        try:
            await model.ask(asked)
        finally:
            await model.aclose()

    asyncio.run(run())
    (body,) = server.bodies
    return body


def test_every_card_is_here() -> None:
    assert set(HASHES) == set(CARDS)
    assert set(WIRE) == set(SERVED)


@pytest.mark.parametrize("name", sorted(CARDS))
def test_no_prompt_changes_unawares(name: str) -> None:
    card = CARDS[name]
    assert card.prompt_hash == HASHES[name], f"is it still the text of: {card.source}?"


def filled(text: str, seen: tuple[int, int], words: str, history: str) -> str:
    """A template with its fields, in another way than the package's own: the words come last."""
    text = text.replace("{width}", str(seen[0])).replace("{height}", str(seen[1])).replace("{history}", history)
    before, _, after = text.partition("{instruction}")
    return f"{before}{words}{after}" if "{instruction}" in text else text


@pytest.mark.parametrize("of_720_lines", [False, True], ids=["1080", "720"])
@pytest.mark.parametrize("name", sorted(WIRE))
def test_the_body_of_a_request(server: ChatServer, tmp_path: Path, name: str, of_720_lines: bool) -> None:
    card = CARDS[name]
    order, sizes, parameters, size_in_words = WIRE[name]
    seen = sizes[of_720_lines]
    original = AS_IT_IS[of_720_lines]
    body = sent(card, server, tmp_path / "1.png", original)

    messages = body.pop("messages")
    assert body == {"model": card.model, **parameters}
    assert list(body) == ["model", *card.parameters, *([] if card.prefill is None else PREFILLED)]

    words = WORDS.removesuffix(".") if name == "ui-venus-1.5" else WORDS
    history = {"gui-owl": "No history. This is the first step."}.get(name, "" if "realwebassist" in name else "None")
    said: list[str] = []
    if card.system is not None:
        said.append(filled(card.system, seen, words, history))
        assert messages.pop(0) == {"role": "system", "content": said[0]}
    if card.prefill is not None:
        assert messages.pop() == {"role": "assistant", "content": card.prefill}
    (user,) = messages
    assert user["role"] == "user"
    assert [part["type"].removesuffix("_url") for part in user["content"]] == order.split()

    texts = [part.text for part in card.user if part.text is not None]
    said += [filled(text, seen, words, history) for text in texts]
    assert [part["text"] for part in user["content"] if part["type"] == "text"] == said[-len(texts) :]
    assert any(size_in_words.format(w=seen[0], h=seen[1]) in text for text in said)

    (image,) = (part["image_url"]["url"] for part in user["content"] if part["type"] == "image_url")
    content = base64.b64decode(image.removeprefix("data:image/png;base64,"), validate=True)
    with Image.open(io.BytesIO(content)) as opened:
        assert opened.size == seen
    if sizes is AS_IT_IS:
        assert content == (tmp_path / "1.png").read_bytes()


@pytest.mark.parametrize("name", ["gui-owl", "gui-r1", "os-atlas-pro"])
def test_the_history_stands_where_the_prompt_has_its_place(server: ChatServer, tmp_path: Path, name: str) -> None:
    card = CARDS[name]
    assert card.uses_history
    history = (HistoryEntry(instruction="open it", action="Clicked the icon"),)
    body = sent(card, server, tmp_path / "1.png", (640, 480), history=history)
    texts = [part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text"]
    assert sum("1. Instruction: open it\n   Action: Clicked the icon" in text for text in texts) == 1
    assert not any(card.no_history in text for text in texts)


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.serving.how == "in-process"])
def test_a_pointer_head_is_not_asked_for_text(server: ChatServer, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="pointer head"):
        sent(CARDS[name], server, tmp_path / "1.png", (64, 48))
    assert server.count == 0
