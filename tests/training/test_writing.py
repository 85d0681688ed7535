"""What a training leaves: a folder that the evaluation takes for a grounder, wherever it is put."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from fakes.make import bundled_grounders, grounder_card
from fakes.tuned import write_checkpoint, write_peft

from grounding.cards import AdapterRule, GrounderCard, read_card
from grounding.cards.tuned import checkpoint_sha256
from grounding.training.grounder import write_tuned

CARD = grounder_card(name="g", title="G", model="org/g", family="qwen2_5_vl")


def tuned(weights: Path) -> GrounderCard:
    rule = AdapterRule(base="org/g", checkpoint=str(weights), base_sha256=checkpoint_sha256(weights))
    return msgspec.structs.replace(CARD, adapter=rule)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "base")


def test_an_adapter_gets_a_card_and_can_be_moved(tmp_path: Path, base: Path) -> None:
    output = write_peft(tmp_path / "output", base_model_name_or_path=str(base))
    card = write_tuned(tmp_path / "run" / "adapter", output, tuned(base), base=base)
    assert card.adapter is not None
    assert card.name == card.model == f"g-{card.adapter.sha256[:8]}"
    assert (card.adapter.base, card.adapter.checkpoint, card.adapter.rank) == ("org/g", str(base), 8)
    config = json.loads((tmp_path / "run" / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "org/g"
    moved = (tmp_path / "run" / "adapter").rename(tmp_path / "moved")
    again = read_card(moved / "card.yaml", GrounderCard)
    assert again.adapter is not None
    assert again.adapter.path == str(moved)
    assert sorted(path.name for path in moved.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "card.yaml",
    ]


def test_whole_weights_get_the_bases_tokenizer(tmp_path: Path, base: Path) -> None:
    output = write_checkpoint(tmp_path / "output", b"\7" * 64)
    (output / "tokenizer.json").write_text('{"of": "the training"}', encoding="utf-8")
    (output / "chat_template.jinja").write_text("as it served the training", encoding="utf-8")
    card = write_tuned(tmp_path / "a", output, tuned(base), base=base)
    assert card.adapter is None
    assert card.weights is not None
    assert card.checkpoint == str(tmp_path / "a")
    assert (tmp_path / "a" / "tokenizer.json").read_text() == '{"of": "the base"}'
    assert not (tmp_path / "a" / "chat_template.jinja").exists()
    assert (tmp_path / "a" / "model.safetensors").read_bytes() == (output / "model.safetensors").read_bytes()


@pytest.mark.parametrize("card", bundled_grounders(), ids=lambda card: card.name)
def test_every_bundled_card_comes_back_from_its_text(card: GrounderCard) -> None:
    assert msgspec.yaml.decode(msgspec.yaml.encode(card), type=GrounderCard) == card
