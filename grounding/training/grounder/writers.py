"""Who writes the replies that GRPO learns from: the model itself, or vLLM with its weights. Pure but for a look."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.pictures import picture_sizes
from grounding.training.grounder.records import GrounderExample, GrpoRule

_SPARE_TOKENS = 64


def vllm_mode(
    rule: GrpoRule, *, resized_there: bool = False, installed: bool | None = None, gpu: bool | None = None
) -> str | None:
    """How vLLM writes the replies, in TRL's words; None where the model itself does.

    Args:
        rule: What is asked for.
        resized_there: Whether the card leaves it to the server to resize pictures within its limits: TRL has no way to
            tell vLLM of them.
        installed: Whether vLLM is there; None to look.
        gpu: Whether torch sees one; None to look.

    Raises:
        UserError: vLLM is asked for and can't be had.
    """
    if rule.use_vllm == "never" or (rule.use_vllm == "auto" and resized_there):
        return None
    if resized_there:
        raise UserError(
            f"field grpo.use_vllm: {rule.use_vllm}, and the card's image.resize is server, which TRL can't tell vLLM "
            "of; use never, or a card with resize client"
        )
    if rule.use_vllm == "server":
        return "server"
    if installed is None:
        installed = importlib.util.find_spec("vllm") is not None
    if gpu is None:
        import torch

        gpu = torch.cuda.is_available()
    if installed and gpu:
        return "colocate"
    if rule.use_vllm == "auto":
        return None
    lacking = "torch sees no GPU (TRL runs vLLM inside training on GPUs only)" if installed else "vLLM is not installed"
    raise UserError(
        f"field grpo.use_vllm: colocate, and {lacking}; use never (the model writes its replies itself), auto, or "
        "server with the address of one"
    )


def longest_prompt(card: GrounderCard, examples: Sequence[GrounderExample]) -> int | None:
    """No prompt has more tokens than this; None where the checkpoint decides how large it sees a picture.

    Counted as one token a byte of text and one for each square of ``factor`` pixels, and some for the template.
    """
    factor = card.image.factor
    if card.image.resize == "none" or factor is None:
        return None
    own = sum(len(text.encode()) for text in (card.system, card.prefill, *(part.text for part in card.user)) if text)

    def told(example: GrounderExample) -> int:
        query = example.query
        texts = [query.instruction, query.goal]
        texts += [
            text for entry in query.history for text in (entry.instruction, entry.action, " Instruction: Action: ")
        ]
        size = picture_sizes(query.screenshot.size, card.image).model
        return sum(len(text.encode()) for text in texts) + size.width * size.height // factor**2

    return own + max(map(told, examples), default=0) + _SPARE_TOKENS
