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
from fakes.make import MODELS, picture_file, query
from PIL import Image

from grounding.budget import Budget
from grounding.cards import ChatCard, GrounderCard, read_cards
from grounding.chat import ChatOptions, open_chat
from grounding.errors import UserError
from grounding.records import HistoryEntry

CARDS = {card.name: card for card in read_cards(MODELS / "grounders", GrounderCard)}
SERVED = [name for name, card in CARDS.items() if card.serving.how in ("vllm", "vllm-flags")]

HASHES = {
    "aria-ui": "6c39ec2e",
    "gta1": "50c9351b",
    "gta1-32b": "828a23eb",
    "gta1-7b": "828a23eb",
    "gui-actor": "f21caec5",
    "gui-actor-qwen2-vl": "828a23eb",
    "gui-owl": "dff021fa",
    "gui-owl-1.5": "87c87c55",
    "gui-r1": "f6c25216",
    "gui-r1-3b": "f6c25216",
    "holo1.5": "baeead07",
    "infigui-g1": "dae68f82",
    "os-atlas": "ecaf2666",
    "os-atlas-pro": "86daea7c",
    "qwen2.5-vl": "4dae53fe",
    "qwen2.5-vl-72b": "4dae53fe",
    "qwen3-vl": "9118ad50",
    "seeclick": "16bd7694",
    "showui": "d7432562",
    "uground": "57542062",
    "uground-2b": "57542062",
    "uground-72b": "57542062",
    "ui-tars": "f8461583",
    "ui-tars-dpo": "4db22d8d",
    "ui-venus-1.5": "439bd65e",
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

# Parts of the user message, sizes sent for 1920 x 1080 and 1280 x 720, parameters, where the size stands in words.
WIRE: dict[str, tuple[str, tuple[tuple[int, int], tuple[int, int]], dict[str, Any], str]] = {
    "gta1": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 32}, "height {h} and width {w}."),
    "gui-owl": ("text image", FACTOR_28, {**UNTIL, "max_tokens": 2048}, "screen's resolution is {w}x{h}."),
    "gui-owl-1.5": ("image text", FACTOR_32, {**UNTIL, "max_tokens": 2048}, "screen's resolution is 1000x1000."),
    "gui-r1": ("text image text", ((1484, 840), (1288, 728)), R1, ""),
    "gui-r1-3b": ("text image text", ((1484, 840), (1288, 728)), R1, ""),
    "holo1.5": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 32, "structured_outputs": {"json": CLICK}}, ""),
    "infigui-g1": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 1024}, "The screen's resolution is {w}x{h}.\n"),
    "os-atlas": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 128, "skip_special_tokens": False}, ""),
    "os-atlas-pro": ("text image text", AS_IT_IS, {**UNTIL, "max_tokens": 256}, ""),
    "qwen2.5-vl": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 100, **PREFILLED}, "resolution is {w}x{h}.\n"),
    "qwen2.5-vl-72b": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 100, **PREFILLED}, "resolution is {w}x{h}.\n"),
    "qwen3-vl": ("image text", FACTOR_32, {**UNTIL, "max_tokens": 2048}, "resolution is 1000x1000.\\n"),
    "showui": ("text image text", ((1344, 756), (1288, 728)), {**UNTIL, "max_tokens": 128}, ""),
    "uground": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 64}, ""),
    "uground-2b": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 64}, ""),
    "uground-72b": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 64}, ""),
    "ui-tars": ("image text", FACTOR_28, {**UNTIL, "max_tokens": 400}, ""),
    "ui-tars-dpo": ("image text", AS_IT_IS, {**UNTIL, "frequency_penalty": 1, "max_tokens": 128}, ""),
    "ui-venus-1.5": ("image text", AS_IT_IS, {**UNTIL, "max_tokens": 128}, ""),
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
    history = {"gui-owl": "No history. This is the first step."}.get(name, "None")
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


@pytest.mark.parametrize("name", ["gui-owl", "gui-r1", "gui-r1-3b", "os-atlas-pro"])
def test_the_history_stands_where_the_prompt_has_its_place(server: ChatServer, tmp_path: Path, name: str) -> None:
    card = CARDS[name]
    assert card.uses_history
    history = (HistoryEntry(instruction="open it", action="Clicked the icon"),)
    body = sent(card, server, tmp_path / "1.png", (640, 480), history=history)
    texts = [part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text"]
    assert sum("1. Instruction: open it\n   Action: Clicked the icon" in text for text in texts) == 1
    assert not any(card.no_history in text for text in texts)


def test_other_prompts_have_no_place_for_a_history() -> None:
    assert {name for name, card in CARDS.items() if card.uses_history} == {
        "gui-owl",
        "gui-r1",
        "gui-r1-3b",
        "os-atlas-pro",
    }


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.serving.how == "in-process"])
def test_a_pointer_head_is_not_asked_for_text(server: ChatServer, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="pointer head"):
        sent(CARDS[name], server, tmp_path / "1.png", (64, 48))
    assert server.count == 0
