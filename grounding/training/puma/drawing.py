"""Candidates out of a model: prompts in, several texts for each out, by sampling within a beam search (paper, A.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from grounding.training.puma.models import device, load_model, load_tokenizer
from grounding.training.puma.records import CandidateRule
from grounding.training.records import Precision


class Drawer:
    """Draws texts from one model. The same batch with the same seed gives the same texts."""

    def __init__(self, model: str, rule: CandidateRule, precision: Precision) -> None:
        self._tokenizer = load_tokenizer(model)
        self._tokenizer.padding_side = "left"
        self._model = load_model(model, precision).to(device()).eval()
        self._rule = rule

    def draw(self, prompts: Sequence[str], seed: str) -> list[list[str]]:
        """The texts for each prompt, in the order in which the model ranks or draws them."""
        import torch

        read: Any = self._tokenizer(list(prompts), return_tensors="pt", padding=True).to(self._model.device)
        read.pop("token_type_ids", None)
        number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:7], "big")
        # Training has a state of chance of its own, which drawing must not move.
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(number)
            made = self._model.generate(**read, **generation(self._rule), pad_token_id=self._tokenizer.pad_token_id)
        texts = self._tokenizer.batch_decode(made[:, read["input_ids"].shape[1] :], skip_special_tokens=True)
        count = self._rule.count
        return [[text.strip() for text in texts[at : at + count]] for at in range(0, len(texts), count)]


def generation(rule: CandidateRule) -> dict[str, Any]:
    """The arguments of ``generate`` that a rule stands for."""
    common = {"max_new_tokens": rule.max_new_tokens, "num_return_sequences": rule.count, "use_cache": True}
    if rule.method == "beam":
        return {**common, "num_beams": rule.beams, "do_sample": False, "early_stopping": True}
    chance = {"do_sample": True, "temperature": rule.temperature, "top_k": rule.top_k, "top_p": 1.0}
    if rule.method == "sample":
        return {**common, **chance, "num_beams": 1}
    return {**common, **chance, "num_beams": rule.beams, "early_stopping": True}
