"""The cards that come along: right, told apart, complete, and without a secret."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest
from fakes.make import MODELS

from grounding.cards import ChatCard, GrounderCard, PlannerCard, SearchCard, find_card, read_cards

BUNDLED: list[tuple[str, type[ChatCard]]] = [
    ("grounders", GrounderCard),
    ("planners", PlannerCard),
    ("search", SearchCard),
]


@pytest.mark.parametrize(("kind", "card_type"), BUNDLED)
def test_all_bundled_cards_are_right_and_can_be_told_apart(kind: str, card_type: type[ChatCard]) -> None:
    cards = read_cards(MODELS / kind, card_type)
    assert len(cards) == len(list((MODELS / kind).iterdir())) > 0
    names = [name for card in cards for name in {card.name, card.model or card.name, *card.aliases}]
    assert len(names) == len(set(names))
    for card in cards:
        assert card.source
        assert card.title
        assert card.endpoint.base_url or card.endpoint.how_to_serve
        for name in {card.name, card.model or card.name, *card.aliases}:
            assert find_card(name, MODELS / kind, card_type, builtin=(), kind=kind) == card


GROUNDERS = read_cards(MODELS / "grounders", GrounderCard)


@pytest.mark.parametrize(
    ("alias", "model"),
    [
        ("gta1", "Salesforce/GTA1-7B-2507"),
        ("uground", "osunlp/UGround-V1-7B"),
        ("os-atlas", "OS-Copilot/OS-Atlas-Base-7B"),
        ("os-atlas-pro", "OS-Copilot/OS-Atlas-Pro-7B"),
        ("aria-ui", "Aria-UI/Aria-UI-base"),
        ("ui-tars", "ByteDance-Seed/UI-TARS-1.5-7B"),
        ("gui-actor", "microsoft/GUI-Actor-7B-Qwen2.5-VL"),
        ("showui", "showlab/ShowUI-2B"),
        ("gui-r1", "ritzzai/GUI-R1/GUI-R1-7B"),
        ("gui-owl", "mPLUG/GUI-Owl-7B"),
        ("seeclick", "cckevinn/SeeClick"),
        ("qwen2.5-vl", "Qwen/Qwen2.5-VL-7B-Instruct"),
        ("qwen3-vl", "Qwen/Qwen3-VL-8B-Instruct"),
    ],
)
def test_a_short_name_means_one_release(alias: str, model: str) -> None:
    assert find_card(alias, MODELS / "grounders", GrounderCard, builtin=(), kind="grounder").model == model


@pytest.mark.parametrize("card", GROUNDERS, ids=lambda card: card.name)
def test_what_every_bundled_grounder_states(card: GrounderCard) -> None:
    assert card.family is not None
    assert card.revision
    assert card.disagreements
    assert "som" not in (card.name, *card.aliases)
    if card.serving.how not in ("vllm", "vllm-flags"):
        return
    # What is shown to the user and what is given to a server that is started here are the same.
    shown = shlex.split(card.endpoint.how_to_serve.partition("; then")[0])
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
