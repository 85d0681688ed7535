"""``grounding list``: everything that there is, with what one needs to choose it."""

from __future__ import annotations

import pytest
from fakes.make import MODELS

from grounding.cards import GrounderCard, read_cards
from grounding.cli.catalogue import print_catalogue

GROUNDERS = read_cards(MODELS / "grounders", GrounderCard)


@pytest.mark.parametrize("width", [80, 100, 119, 120, 200])
def test_nothing_is_cut_short_on_any_page(capsys: pytest.CaptureFixture[str], width: int) -> None:
    print_catalogue("grounders", width=width)
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in out
    framed = [line for line in lines if line.startswith("│")]
    assert bool(framed) == (width >= 120)
    assert all(line.rstrip().endswith("│") for line in framed)
    words = set(out.split())
    for card in GROUNDERS:
        assert {card.name, card.model, *(alias for alias in card.aliases if "/" not in alias)} <= words
