"""Adapters in this process: they do what their numbers say, and one that is for another model is refused."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest
from fakes.make import picture_file, query

from grounding.cards import GrounderCard, read_card
from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.grounders.hf import HfOptions, open_hf

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
for package in ("torch", "torchvision", "transformers", "peft"):
    pytest.importorskip(package, reason=f"no {package} here: pip install 'grounding[train]'")

OPTIONS = HfOptions(dtype="float32", device="cpu")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from grounders.hf.tiny import write_plain

    return write_plain(tmp_path_factory.mktemp("plain") / "tiny")


@pytest.fixture(scope="module")
def adapter(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from .tiny_adapter import write_adapter

    folder = tmp_path_factory.mktemp("adapter") / "a"
    write_adapter(folder, checkpoint)
    return folder


def answer(card: GrounderCard, folder: Path, options: HfOptions = OPTIONS) -> str | None:
    async def scenario() -> str | None:
        grounder = open_hf(card, options, ChatOptions())
        try:
            await grounder.check()
            return (await grounder.ground(query(picture_file(folder / "p.png", 224, 140)))).raw
        finally:
            await grounder.aclose()

    return asyncio.run(scenario())


def merged(checkpoint: Path, adapter: Path, out: Path) -> Path:
    """The base's weights with the product of the low-rank ones added, by plain arithmetic: W + B A alpha / r."""
    import torch
    from safetensors.torch import load_file

    from grounding.grounders.hf.loading import load

    from .tiny_adapter import CARD

    low = load_file(adapter / "adapter_model.safetensors")
    model = load(checkpoint, CARD, OPTIONS).model
    named = dict(model.named_parameters())
    with torch.no_grad():
        for name in [name for name in low if name.endswith("lora_A.weight")]:
            place = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
            product = low[name.replace("lora_A", "lora_B")].double() @ low[name].double()
            named[f"{place}.weight"] += (2.0 * product).float()  # alpha is twice the rank.
    shutil.copytree(checkpoint, out)
    model.save_pretrained(out)
    return out


def test_an_adapter_answers_as_the_sum_of_its_weights_would(checkpoint: Path, adapter: Path, tmp_path: Path) -> None:
    from .tiny_adapter import CARD

    tuned = read_card(adapter / "card.yaml", GrounderCard)
    base = msgspec.structs.replace(OPTIONS, model_path=str(checkpoint))
    of_base = answer(CARD, tmp_path, base)
    of_tuned = answer(tuned, tmp_path)
    by_hand = msgspec.structs.replace(OPTIONS, model_path=str(merged(checkpoint, adapter, tmp_path / "merged")))
    assert of_tuned is not None
    assert of_tuned != of_base
    assert of_tuned == answer(CARD, tmp_path, by_hand)


def test_an_adapter_of_another_shape_is_refused(adapter: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(adapter, tmp_path / "a")
    stored = load_file(adapter / "adapter_model.safetensors")
    first = next(name for name in stored if "lora_A" in name)

    def refused(tensors: dict[str, object], said: str) -> None:
        save_file(tensors, tmp_path / "a" / "adapter_model.safetensors")
        text = (adapter / "card.yaml").read_text()
        unchecked = "\n".join(line for line in text.splitlines() if not line.startswith("  sha256:"))
        (tmp_path / "a" / "card.yaml").write_text(unchecked)
        card = read_card(tmp_path / "a" / "card.yaml", GrounderCard)
        with pytest.raises(UserError, match=said):
            answer(card, tmp_path)

    refused({name: each for name, each in stored.items() if name != first}, r"the adapter lacks base_model\.")
    more = first.replace("layers.0", "layers.9")
    refused({**stored, more: stored[first].clone()}, r"has weights that the model has no place for: .*layers\.9")
    refused({**stored, first: stored[first][:, :7].contiguous()}, "can't be put on")
