"""The cards that come along: right, told apart, complete, and without a secret."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

import msgspec
import pytest
from fakes.chat_server import ChatServer, clicking
from fakes.make import MODELS, model, picture_file

from grounding.cards import ChatCard, GrounderCard, PlannerCard, SearchCard, find_card, read_cards
from grounding.data.images import picture_sizes, prepare_picture
from grounding.grounders.som.card import SomCard
from grounding.llm.budget import Budget
from grounding.llm.chat import NO_PICTURES, Exchange
from grounding.llm.wire import ImagePart, Message, TextPart

BUNDLED: list[tuple[str, type[ChatCard]]] = [
    ("grounders", GrounderCard),
    ("planners", PlannerCard),
    ("search", SearchCard),
    ("pipelines", SomCard),
]
EVERY_CARD = [card for kind, card_type in BUNDLED for card in read_cards(MODELS / kind, card_type)]


@pytest.mark.parametrize(("kind", "card_type"), BUNDLED)
def test_all_bundled_cards_are_right_and_can_be_told_apart(kind: str, card_type: type[ChatCard]) -> None:
    cards = read_cards(MODELS / kind, card_type)
    assert cards
    assert not [path for path in (MODELS / kind).iterdir() if path.suffix != ".yaml"]
    named = {
        card.name: {card.name, *card.aliases} | ({card.model} - {"", card.extends and card.model}) for card in cards
    }
    names = [name for called in named.values() for name in called]
    assert len(names) == len(set(names))
    for card in cards:
        assert card.source
        assert card.title
        assert card.endpoint.base_url or card.how_to_serve
        for name in named[card.name]:
            assert find_card(name, MODELS / kind, card_type, builtin=(), kind=kind) == card


@pytest.mark.parametrize("card", EVERY_CARD, ids=lambda card: f"{type(card).__name__}-{card.name}")
def test_every_card_asks_with_pictures_and_in_words_alone(card: ChatCard, tmp_path: Path) -> None:
    shot = picture_file(tmp_path / "1.png", 640, 480)
    picture, words = prepare_picture(shot, card.image), TextPart(text="Save")
    shown = Message(role="user", parts=(words, ImagePart(url_json=picture.url_json)))
    told = Message(role="user", parts=(words,))

    async def ask(url: str) -> tuple[Exchange, Exchange]:
        asked = model(card, url, budget=Budget(1e6))
        try:
            counted = asked.request(lambda: [told], NO_PICTURES).tokens
            assert counted is None or (counted.images == 0 and counted.input_most)
            return (
                await asked.send(lambda: [shown], picture_sizes(shot.size, card.image)),
                await asked.send(lambda: [told], NO_PICTURES),
            )
        finally:
            await asked.aclose()

    with ChatServer(clicking(card, 1, 2)) as server:
        for answer in asyncio.run(ask(server.base_url)):
            assert answer.failure is None
            assert answer.call is not None
            assert (answer.call.cost_usd is None) == (card.price is None)


GROUNDERS = read_cards(MODELS / "grounders", GrounderCard)


@pytest.mark.parametrize("card", GROUNDERS, ids=lambda card: card.name)
def test_what_every_bundled_grounder_states(card: GrounderCard) -> None:
    assert card.family is not None
    assert card.revision
    assert card.disagreements
    assert card.verified
    assert "som" not in (card.name, *card.aliases)
    if card.endpoint.base_url or card.serving.how not in ("vllm", "vllm-flags"):
        return
    # What is shown to the user and what is given to a server that is started here are the same.
    shown = shlex.split(card.how_to_serve.partition("; then")[0])
    flags = list(card.serving.flags)
    assert shown[shown.index("8000") + 1 :][-len(flags) :] == flags
    assert card.model in shown
    assert card.parameters["temperature"] == 0
    assert "repetition_penalty" in card.parameters  # The checkpoint's own would be taken otherwise.
    if card.image.max_pixels is not None:
        limits = {"min_pixels": card.image.min_pixels, "max_pixels": card.image.max_pixels}
        assert msgspec.json.decode(flags[flags.index("--mm-processor-kwargs") + 1]) == limits


@pytest.mark.parametrize("path", sorted(MODELS.glob("*/*.yaml")), ids=lambda path: path.stem)
def test_no_bundled_card_holds_a_key(path: Path) -> None:
    assert not re.search(r"sk-[A-Za-z0-9]{8}|Bearer ", path.read_text(encoding="utf-8"))
