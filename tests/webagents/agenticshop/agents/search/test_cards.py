"""The cards of models with a search tool."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.make import MODELS

from grounding.cards import SearchCard, read_card, read_cards
from grounding.catalogue import print_catalogue
from grounding.errors import UserError
from grounding.webagents.agenticshop.agents.search.interfaces import interface_of
from grounding.webagents.agenticshop.agents.search.prompt import curation_prompts

CARDS = read_cards(MODELS / "search", SearchCard)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_card_states_price_source_and_an_address_without_a_key(card: SearchCard) -> None:
    assert card.price is not None
    assert card.price.date
    assert card.fee is not None
    assert card.source
    assert card.endpoint.base_url is not None
    assert card.endpoint.base_url.startswith("https://")
    assert card.endpoint.key_variable is not None
    assert (MODELS / "search" / f"{card.name}.yaml").exists()
    assert card.successor is None or any(other.name == card.successor for other in CARDS)
    assert interface_of(card, {}, curation_prompts()).request("hi")


def test_all_interfaces_have_a_card_that_is_still_served_but_the_old_one() -> None:
    assert {card.interface for card in CARDS} == {"openai", "anthropic", "gemini", "perplexity", "perplexity-agent"}


def test_a_card_with_a_prompt_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("name: x\ntitle: X\nmodel: x\ninterface: openai\nsystem: Hello.\n")
    with pytest.raises(UserError, match="no prompt of its own"):
        read_card(path, SearchCard)


def test_an_unknown_interface_names_those_that_there_are(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("name: x\ntitle: X\nmodel: x\ninterface: bing\n")
    with pytest.raises(UserError, match="perplexity-agent"):
        read_card(path, SearchCard)


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    print_catalogue("search")
    shown = capsys.readouterr().out
    assert all(card.name in shown for card in CARDS)
    assert "0.014 a search" in shown
