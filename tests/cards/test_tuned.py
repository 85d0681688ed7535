"""Cards of tuned models: found by their folder, held against its files, and known by what is in them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.make import model
from fakes.tuned import write_checkpoint, write_peft

from grounding.cards import GrounderCard, find_card, read_card
from grounding.cards.tuned import adapter_facts, check_base, checkpoint_sha256
from grounding.errors import UserError
from grounding.grounders.hf.loading import HfOptions, checkpoint_identity, fetch

CARD: dict[str, Any] = {
    "name": "mine",
    "title": "My model",
    "model": "mine-1234",
    "family": "qwen2_5_vl",
    "user": [{"image": "screenshot"}, {"text": "{instruction}"}],
    "answer": {"form": "point", "space": "rel_1000"},
}


def write_card(folder: Path, **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "card.yaml").write_text(yaml.safe_dump({**CARD, **fields}), encoding="utf-8")
    return folder / "card.yaml"


def adapter_card(folder: Path, base: Path | None = None, **rule: Any) -> GrounderCard:
    if not (folder / "adapter_config.json").exists():
        write_peft(folder)
    checkpoint = {} if base is None else {"checkpoint": str(base), "base_sha256": checkpoint_sha256(base)}
    return read_card(write_card(folder, adapter={"base": "org/base", **checkpoint, **rule}), GrounderCard)


def identity(card: GrounderCard) -> str:
    return model(card, "http://127.0.0.1:1/v1").identity


def test_a_folder_with_a_card_is_a_grounder(tmp_path: Path) -> None:
    adapter_card(tmp_path / "adapter")
    found = find_card(str(tmp_path / "adapter"), tmp_path, GrounderCard, builtin=(), kind="grounder")
    assert found.adapter is not None
    assert found.adapter.path == str(tmp_path / "adapter")
    assert found.adapter.rank == 8
    assert found.adapter.sha256 == adapter_facts(tmp_path / "adapter").sha256
    assert (found.checkpoint, found.checkpoint_revision) == ("org/base", "main")


def test_the_identity_is_of_what_is_in_the_folder_and_not_of_where_it_lies(tmp_path: Path) -> None:
    here = adapter_card(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    moved = read_card(tmp_path / "b" / "card.yaml", GrounderCard)
    assert here.adapter is not None
    assert moved.adapter is not None
    assert here.adapter.path != moved.adapter.path
    assert identity(here) == identity(moved)
    write_peft(tmp_path / "b", weights=b"\2" * 64)
    assert identity(read_card(tmp_path / "b" / "card.yaml", GrounderCard)) != identity(here)


BREAK: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda folder: (folder / "adapter_config.json").unlink(), r"adapter\.path: there is no adapter_con"),
    "no weights": (lambda folder: (folder / "adapter_model.safetensors").unlink(), r"safetensors: can't be read"),
    "not json": (lambda folder: (folder / "adapter_config.json").write_text("["), "not the configuration of a LoRA"),
    "no rank": (lambda folder: (folder / "adapter_config.json").write_text("{}"), "not the configuration of a LoRA"),
    "another kind": (lambda folder: write_peft(folder, peft_type="IA3"), "of the kind IA3, expected LORA"),
    "damaged": (lambda folder: (folder / "adapter_model.safetensors").write_bytes(b"x" * 99), "not a safetensors file"),
    "others": (
        lambda folder: write_peft(folder, weights=b"\3" * 64),
        r"adapter\.sha256: the files in .* are not those",
    ),
}


@pytest.mark.parametrize("name", BREAK)
def test_what_is_wrong_with_the_files_is_said(tmp_path: Path, name: str) -> None:
    sha256 = adapter_facts(write_peft(tmp_path / "a")).sha256
    card = write_card(tmp_path / "a", adapter={"base": "org/base", "sha256": sha256})
    read_card(card, GrounderCard)
    spoil, said = BREAK[name]
    spoil(tmp_path / "a")
    with pytest.raises(UserError, match=said):
        read_card(card, GrounderCard)


def test_a_card_is_held_against_the_files(tmp_path: Path) -> None:
    write_peft(tmp_path / "a")
    with pytest.raises(UserError, match=r"adapter\.rank: 16, and .*adapter_config\.json says 8"):
        adapter_card(tmp_path / "a", rank=16)
    with pytest.raises(UserError, match="field adapter: belongs to another model's weights"):
        read_card(write_card(tmp_path / "a", adapter={"base": "b"}, weights={}), GrounderCard)


def test_an_adapter_goes_on_the_weights_that_it_was_trained_on(tmp_path: Path) -> None:
    base = write_checkpoint(tmp_path / "base")
    card = adapter_card(tmp_path / "a", base)
    assert fetch(card, HfOptions()) == base
    check_base(card, write_checkpoint(tmp_path / "copy"))
    # A tokenizer beside the weights is none of them.
    (tmp_path / "copy" / "tokenizer.json").write_text("{}")
    assert fetch(card, HfOptions(model_path=str(tmp_path / "copy"))) == tmp_path / "copy"
    for other in (write_checkpoint(tmp_path / "x", b"\5" * 64), write_checkpoint(tmp_path / "y", hidden_size=9)):
        for ask in (fetch, checkpoint_identity):
            with pytest.raises(UserError, match=rf"mine: its adapter was trained on org/base \(weights in {base}\)"):
                ask(card, HfOptions(model_path=str(other)))


def test_whole_weights_lie_beside_their_card(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "tuned")
    card = read_card(write_card(folder, weights={"sha256": checkpoint_sha256(folder)}), GrounderCard)
    assert card.checkpoint == str(folder)
    assert fetch(card, HfOptions()) == folder
    moved = folder.rename(tmp_path / "moved")
    assert identity(read_card(moved / "card.yaml", GrounderCard)) == identity(card)
    write_checkpoint(moved, b"\5" * 64)
    with pytest.raises(UserError, match=r"weights\.sha256: the files in .* are not those"):
        read_card(moved / "card.yaml", GrounderCard)
