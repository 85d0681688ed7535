"""A LoRA adapter of random weights on the tiny checkpoint, written by PEFT itself, with a card beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from fakes.make import grounder_card

from grounding.cards import AdapterRule, GrounderCard
from grounding.cards.tuned import checkpoint_sha256

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")

CARD = grounder_card(
    name="tiny",
    title="Tiny model",
    model="org/tiny",
    family="qwen2_5_vl",
    system="The image is {height} high and {width} wide.",
    image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 200000},
    parameters={"temperature": 0, "max_tokens": 24, "repetition_penalty": 1.0},
)


def write_lora(
    output: Path, checkpoint: Path, *, rank: int = 4, seed: int = 0, strength: float = 0.5, **more: Any
) -> Path:
    """What a stage of training leaves: an adapter whose second matrices aren't 0, as they are in a fresh one."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForImageTextToText

    torch.manual_seed(seed)
    model = AutoModelForImageTextToText.from_pretrained(checkpoint, dtype=torch.float32)
    rule = {"target_modules": list(TARGETS), "exclude_modules": r"(.*\.)?visual\..*", **more}
    adapted = get_peft_model(model, LoraConfig(r=rank, lora_alpha=2 * rank, task_type="CAUSAL_LM", **rule))
    with torch.no_grad():
        for name, weights in adapted.named_parameters():
            if "lora_B" in name:
                weights.normal_(std=strength)
    adapted.save_pretrained(output)
    return output


def tuned(checkpoint: Path, card: GrounderCard = CARD) -> GrounderCard:
    """The card of a model that was tuned from a checkpoint, before its weights are known."""
    rule = AdapterRule(base="org/tiny", checkpoint=str(checkpoint), base_sha256=checkpoint_sha256(checkpoint))
    return msgspec.structs.replace(card, adapter=rule)
