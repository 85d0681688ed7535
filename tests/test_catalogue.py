"""``grounding list``: everything that there is, with what one needs to choose it."""

from __future__ import annotations

import pytest
from fakes.make import MODELS

from grounding.cards import GrounderCard, PlannerCard, read_cards
from grounding.catalogue import print_catalogue
from grounding.grounders import BUILTIN

GROUNDERS = read_cards(MODELS / "grounders", GrounderCard)


@pytest.fixture
def rows(capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """The cells of the table of grounders by the first of their names; lines that go on are joined."""
    print_catalogue("grounders")
    found: dict[str, list[str]] = {}
    last: list[str] = []
    for line in capsys.readouterr().out.splitlines():
        if not line.startswith("│"):
            continue
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if cells[2]:  # the space, which never goes on
            last = found[cells[0]] = cells
        else:
            last[:] = [f"{before} {more}".strip() for before, more in zip(last, cells, strict=True)]
    return found


def test_every_grounder_is_shown(rows: dict[str, list[str]]) -> None:
    assert list(rows)[: len(BUILTIN)] == list(BUILTIN)
    assert len(rows) == len(BUILTIN) + len(GROUNDERS)


@pytest.mark.parametrize("card", GROUNDERS, ids=lambda card: card.name)
def test_a_card_is_shown_with_what_one_needs_to_choose_it(rows: dict[str, list[str]], card: GrounderCard) -> None:
    names, model, space, prompt, runs = rows[card.name]
    assert names.split() == [card.name, *(alias for alias in card.aliases if "/" not in alias)]
    assert model == card.model
    assert space == card.answer.space
    assert prompt == card.order
    how = {"vllm": "vLLM", "vllm-flags": "vLLM, with flags", "in-process": "in this process"}
    assert runs == how.get(card.serving.how, "recorded answers")


def test_no_line_is_wider_than_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    print_catalogue("grounders")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    assert "…" not in out


def test_a_planner_is_shown_with_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    print_catalogue("planners")
    out = capsys.readouterr().out
    for card in read_cards(MODELS / "planners", PlannerCard):
        assert card.name in out
        assert card.endpoint.key_variable is None or card.endpoint.key_variable in out
