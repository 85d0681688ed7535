"""What a training leaves: a folder that the evaluation takes for a grounder, wherever it is put."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import grounder_card
from fakes.tuned import write_checkpoint, write_peft

from grounding.cards import GrounderCard, PublishedScore, read_card, read_cards
from grounding.errors import UserError
from grounding.places import models_dir
from grounding.training.adapters import TunedFrom, tuned_card, write_tuned
from grounding.training.adapters.cards import slug
from grounding.training.adapters.writing import card_text
from grounding.tuned import checkpoint_sha256

CARD = grounder_card(name="g", title="G", model="org/g", family="qwen2_5_vl", aliases=["h"], revision="r1")


def tuned_from(weights: Path, card: GrounderCard = CARD, **changes: Any) -> TunedFrom:
    usual = TunedFrom(
        card=card,
        checkpoint=str(weights),
        revision="main",
        base_sha256=checkpoint_sha256(weights),
        dataset="sample-web",
        held_out="participant=3",
        run_id="train-g_1",
        recipe="tiny",
        history=10,
    )
    return msgspec.structs.replace(usual, **changes)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "base")


def test_an_adapter_gets_a_card_and_can_be_moved(tmp_path: Path, base: Path) -> None:
    output = write_peft(tmp_path / "output", base_model_name_or_path=str(base))
    card = write_tuned(tmp_path / "run" / "adapter", output, tuned_from(base), base=base)
    assert card.adapter is not None
    assert card.name == card.model == f"g-sample-web-without-participant-3-{card.adapter.sha256[:8]}"
    assert (card.adapter.base, card.adapter.checkpoint, card.adapter.rank) == ("org/g", str(base), 8)
    assert (card.title, card.aliases) == ("G, tuned on sample-web without participant 3", ())
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


def test_a_base_from_the_hub_is_named_and_not_where_it_was_stored(tmp_path: Path, base: Path) -> None:
    output = write_peft(tmp_path / "output")
    card = write_tuned(tmp_path / "a", output, tuned_from(base, checkpoint="org/g", revision="r1"), base=base)
    assert card.adapter is not None
    assert (card.adapter.checkpoint, card.adapter.revision, card.checkpoint) == ("", "r1", "org/g")
    assert str(tmp_path) not in (tmp_path / "a" / "card.yaml").read_text()


def test_an_adapter_that_is_tuned_on_keeps_its_base(tmp_path: Path, base: Path) -> None:
    first = write_tuned(tmp_path / "a", write_peft(tmp_path / "o"), tuned_from(base), base=base)
    output = write_peft(tmp_path / "p", weights=b"\7" * 64)
    second = write_tuned(tmp_path / "b", output, tuned_from(base, first), base=base)
    assert first.adapter is not None
    assert second.adapter is not None
    assert second.adapter.base == "org/g"
    assert second.adapter.sha256 != first.adapter.sha256


def test_whole_weights_get_the_bases_tokenizer(tmp_path: Path, base: Path) -> None:
    output = write_checkpoint(tmp_path / "output", b"\7" * 64)
    (output / "tokenizer.json").write_text('{"of": "the training"}', encoding="utf-8")
    (output / "chat_template.jinja").write_text("as it served the training", encoding="utf-8")
    card = write_tuned(tmp_path / "a", output, tuned_from(base), base=base)
    assert card.adapter is None
    assert card.weights is not None
    assert card.checkpoint == str(tmp_path / "a")
    assert (tmp_path / "a" / "tokenizer.json").read_text() == '{"of": "the base"}'
    assert not (tmp_path / "a" / "chat_template.jinja").exists()
    assert (tmp_path / "a" / "model.safetensors").read_bytes() == (output / "model.safetensors").read_bytes()


def test_an_output_without_weights_is_refused_and_leaves_the_folder_alone(tmp_path: Path, base: Path) -> None:
    write_tuned(tmp_path / "a", write_peft(tmp_path / "o"), tuned_from(base), base=base)
    before = (tmp_path / "a" / "card.yaml").read_bytes()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"holds neither adapter_model\.safetensors nor a model"):
        write_tuned(tmp_path / "a", tmp_path / "empty", tuned_from(base), base=base)
    assert (tmp_path / "a" / "card.yaml").read_bytes() == before


def test_what_is_said_of_the_base_is_not_said_of_the_tuned_model(base: Path) -> None:
    published = PublishedScore(benchmark="b", value=90.0, source="s")
    card = msgspec.structs.replace(CARD, published=(published,), disagreements=("d",), successor="x")
    found = tuned_card(tuned_from(base, card), sha256="0" * 64, rank=8)
    assert (found.published, found.disagreements, found.successor, found.revision) == ((), (), None, "main")
    assert (found.user, found.answer, found.image, found.family) == (CARD.user, CARD.answer, CARD.image, CARD.family)


@pytest.mark.parametrize("card", read_cards(models_dir() / "grounders", GrounderCard), ids=lambda card: card.name)
def test_every_bundled_card_comes_back_from_its_text(card: GrounderCard) -> None:
    assert msgspec.yaml.decode(card_text(card), type=GrounderCard) == card


def test_a_name_can_stand_anywhere() -> None:
    assert slug("task=Buy a gift & more/../x") == "task-Buy-a-gift-more-..-x"
    assert slug("///") == "tuned"
    assert len(slug("x" * 500)) == 80
