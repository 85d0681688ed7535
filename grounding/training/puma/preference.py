"""How often a model finds a pair's better parameter the likelier one: held-out pairs and a model in, figures out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding.training.puma.models import device, load_model, load_tokenizer
from grounding.training.puma.records import PairLikelihood, Preference, PreferencePair
from grounding.training.records import Precision


def likelihoods(
    model: str, adapter: str | None, pairs: Sequence[PreferencePair], precision: Precision, max_tokens: int
) -> tuple[PairLikelihood, ...]:
    """The likelihoods of every pair under a model, with the end of text behind each parameter, as DPO has it.

    Args:
        model: Its folder or name.
        adapter: The folder of adapters upon it, if any.
        pairs: The pairs.
        precision: In what numbers it lies.
        max_tokens: Prompt and parameter are cut after so many tokens, as in training.
    """
    if not pairs:
        return ()
    tokenizer, loaded = load_tokenizer(model), load_model(model, precision)
    if adapter is not None:
        from peft import PeftModel

        loaded = PeftModel.from_pretrained(loaded, adapter)
    loaded = loaded.to(device()).eval()
    found = []
    for pair in pairs:
        chosen, chosen_tokens = _likelihood(tokenizer, loaded, pair.prompt, pair.chosen, max_tokens)
        rejected, rejected_tokens = _likelihood(tokenizer, loaded, pair.prompt, pair.rejected, max_tokens)
        found.append(
            PairLikelihood(
                task=pair.task,
                type=pair.type,
                chosen=chosen,
                rejected=rejected,
                chosen_tokens=chosen_tokens,
                rejected_tokens=rejected_tokens,
            )
        )
    return tuple(found)


def _likelihood(tokenizer: Any, model: Any, prompt: str, text: str, max_tokens: int) -> tuple[float, int]:
    """The logarithm of a text's probability after a prompt, and its tokens."""
    import torch

    before = tokenizer(prompt)["input_ids"]
    ids = tokenizer(prompt + text + tokenizer.eos_token)["input_ids"][:max_tokens]
    start = next((at for at, (one, other) in enumerate(zip(before, ids, strict=False)) if one != other), len(before))
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids], device=model.device)).logits[0, start - 1 : -1].float()
    said = torch.tensor(ids[start:], device=logits.device)
    logs = logits.log_softmax(-1).gather(-1, said[:, None])
    return float(logs.sum()), len(said)


def preference(after: Sequence[PairLikelihood], before: Sequence[PairLikelihood] | None = None) -> Preference:
    """The accuracies of pairs; with those of the model before DPO also that of DPO's own reward. Ties count as half."""
    if not after:
        return Preference(pairs=0, whole=None, per_token=None)
    whole = [_won(one.chosen - one.rejected) for one in after]
    means = [_won(one.chosen / max(one.chosen_tokens, 1) - one.rejected / max(one.rejected_tokens, 1)) for one in after]
    reward = None
    if before is not None:
        gains = [
            _won((one.chosen - was.chosen) - (one.rejected - was.rejected))
            for one, was in zip(after, before, strict=True)
        ]
        reward = sum(gains) / len(gains)
    return Preference(pairs=len(after), whole=sum(whole) / len(whole), per_token=sum(means) / len(means), reward=reward)


def _won(margin: float) -> float:
    return 1.0 if margin > 0 else (0.5 if margin == 0 else 0.0)
