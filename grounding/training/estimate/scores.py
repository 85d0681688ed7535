"""What TRL's trainers hold to turn states into log-probabilities of completions. Pure.

Since TRL 1.16 (``trl.trainer.utils.add_fused_lm_head``) no trainer builds the logits of a sequence: the output layer
works in tiles of at most 4,096 tokens and 32,768 words, once forward and once more backward. On CUDA only scored
tokens go through it, elsewhere every token of the sequences does.
"""

from __future__ import annotations

from grounding.training.estimate.adapters import Trained
from grounding.training.estimate.load import DTYPE_BYTES, TrainingLoad
from grounding.training.estimate.numbers import flow_bytes
from grounding.training.estimate.shapes import ModelShape
from grounding.training.estimate.terms import Term, term

TILE_TOKENS, TILE_WORDS = 4096, 32768
"""``TOKEN_CHUNK_SIZE`` of ``trl.kernels.chunked_logprob`` and ``_CHUNKED_LOGPROB_CHUNK_SIZE`` of
``trl.trainer.utils``; the tile's width is taken in full even of a smaller vocabulary."""

_CPU_COPIES = 5
"""Without Triton the tile is calculated with in float32: itself, scaled, its exponentials and their products."""


def scored_tokens(load: TrainingLoad) -> int:
    """Tokens that go through the output layer in one pass."""
    each = load.example.completion_tokens if load.device == "cuda" else load.example.tokens - 1
    return load.sequences * each


def score_terms(shape: ModelShape, load: TrainingLoad, moved: Trained) -> list[Term]:
    """The terms of a pass with gradients: the tile, the scored states and, where trained, the output layer's gradient.

    States: those of the scored tokens wH, and their gradient in float32 4H.
    """
    tokens, width = scored_tokens(load), shape.text.width
    c, w = DTYPE_BYTES[load.compute], flow_bytes(load)
    rows, words = min(tokens, TILE_TOKENS), TILE_WORDS
    tile = rows * words * c
    said = f"a tile of {rows:,} tokens x {words:,} words x {c} bytes (no logits are kept whole)"
    if load.device == "cpu":
        used = min(words, shape.text.vocabulary)
        tile += _CPU_COPIES * rows * used * 4
        said += f" + {_CPU_COPIES} x {rows:,} x {used:,} x 4 bytes without Triton"
    found = [
        term("logits", tile, said),
        term(
            "scored states",
            tokens * width * (w + 4),
            f"{tokens:,} scored x {width:,} x ({w} + 4) bytes",
        ),
    ]
    if moved.head_trained:
        vocabulary = shape.text.vocabulary
        found.append(
            term(
                "output layer's gradient",
                vocabulary * width * (4 + w),
                f"{vocabulary:,} words x {width:,} x (4 bytes while it is summed up + {w})",
            )
        )
    return found
