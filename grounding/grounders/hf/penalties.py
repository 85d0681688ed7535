"""Frequency and presence penalties as servers have them; transformers has none. Torch is imported in the functions."""

from __future__ import annotations

from typing import Any

from grounding.grounders.hf.generation import Generation


def written_penalties(generation: Generation, prompt_length: int) -> Any:
    """Processors of logits for ``generate``: none, or one that makes tokens already written less likely.

    A token written ``n`` times loses ``n * frequency_penalty + presence_penalty``, the prompt doesn't count.
    Source: the OpenAI API reference, "Frequency and presence penalties", which vLLM follows.
    """
    if not generation.frequency_penalty and not generation.presence_penalty:
        return None
    from transformers import LogitsProcessorList

    class _Written:
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            return penalised(input_ids[:, prompt_length:], scores, generation)

    return LogitsProcessorList([_Written()])


def penalised(written: Any, scores: Any, generation: Generation) -> Any:
    """Scores of the next token, shape (batch, vocabulary), less the penalties for ``written``, shape (batch, n)."""
    import torch

    counts = torch.zeros_like(scores).scatter_add_(1, written, torch.ones_like(written, dtype=scores.dtype))
    return scores - generation.frequency_penalty * counts - generation.presence_penalty * (counts > 0)
