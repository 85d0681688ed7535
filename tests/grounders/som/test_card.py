"""The card of the pipeline: what the baseline sends, and what may be changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.make import MODELS

from grounding.errors import UserError
from grounding.grounders.som.card import SomCard, find_som_card, is_som

PIPELINES = MODELS / "pipelines"
TEXT = (PIPELINES / "som.yaml").read_text(encoding="utf-8")


def changed(folder: Path, old: str, new: str) -> Path:
    assert old in TEXT
    path = folder / "mine.yaml"
    path.write_text(TEXT.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["som", "set-of-mark"])
def test_the_card_is_the_baseline(name: str) -> None:
    card = find_som_card(name, PIPELINES)
    assert isinstance(card, SomCard)
    assert [part.text for part in card.user] == [
        "Which is the correct mark corresponding to the instruction: {instruction}? "
        "Respond with only the number and nothing else.",
        None,
        "Here is some history: {history}",
    ]
    assert (card.model, card.marks.short_side, card.marks.alpha, card.marks.sam) == ("gpt-4o", 1000, 0.1, None)
    assert card.uses_history
    assert card.parameters == {}
    assert card.price is not None
    assert (card.price.input_usd, card.price.cached_input_usd, card.price.output_usd) == (2.5, 1.25, 10.0)


def test_other_names_and_cards_are_not_meant(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("{", encoding="utf-8")
    for name in ("gta1", "som2", str(MODELS / "grounders" / "gta1-7b-2507.yaml"), str(broken), "nowhere.yaml"):
        assert not is_som(name)
        assert find_som_card(name, PIPELINES) is None


def test_a_card_of_ones_own(tmp_path: Path) -> None:
    card = find_som_card(str(changed(tmp_path, "marks:\n", "marks:\n  sam: /weights\n")), PIPELINES)
    assert card is not None
    assert card.marks.sam == "/weights"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("short_side: 1000", "short_side: 3", "short_side"),
        ("alpha: 0.1", "alpha: 2", "alpha"),
        ("outline: true", "outlines: true", "outlines"),
        ("most: 400", "most: 0", "most"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, old: str, new: str, field: str) -> None:
    with pytest.raises(UserError, match=field):
        find_som_card(str(changed(tmp_path, old, new)), PIPELINES)
