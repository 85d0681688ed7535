"""SASRec: the next product of a sequence, by self-attention over the products before (Kang and McAuley, 2018).

The layers carry the tensor names of the released checkpoint (``item_emb``, ``pos_emb``, ``attention_layernorms``,
``attention_layers``, ``forward_layernorms``, ``forward_layers``, ``last_layernorm``), so that it loads as it is. Names
and shapes leave open where the residuals go; here, as in the implementation that the release builds on at that time
(pmixer/SASRec.pytorch before its option ``norm_first``), the normalised query is added to what attention makes of the
unnormalised sequence, and the feed-forward layer is added to its normalised input.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from grounding.errors import UserError
from grounding.records import Record

EPSILON = 1e-8


class SasrecShape(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The sizes of a model. Products are numbered from 1; 0 fills up. The defaults are the released model's."""

    items: int
    max_length: int = 30
    hidden: int = 50
    blocks: int = 2
    heads: int = 2
    dropout: float = 0.5


class _FeedForward(nn.Module):
    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(hidden, hidden, kernel_size=1)
        self.dropout1 = nn.Dropout(dropout)
        self.conv2 = nn.Conv1d(hidden, hidden, kernel_size=1)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        inner = torch.relu(self.dropout1(self.conv1(features.transpose(1, 2))))
        outer: Tensor = self.dropout2(self.conv2(inner)).transpose(1, 2)
        return features + outer


class Sasrec(nn.Module):
    """The network. Sequences are ``batch x max_length`` numbers of products, filled up with 0 on the left."""

    def __init__(self, shape: SasrecShape) -> None:
        super().__init__()
        self.shape = shape
        hidden, blocks = shape.hidden, range(shape.blocks)
        self.item_emb = nn.Embedding(shape.items + 1, hidden, padding_idx=0)
        self.pos_emb = nn.Embedding(shape.max_length + 1, hidden, padding_idx=0)
        self.emb_dropout = nn.Dropout(shape.dropout)
        self.attention_layernorms = nn.ModuleList(nn.LayerNorm(hidden, eps=EPSILON) for _ in blocks)
        self.attention_layers = nn.ModuleList(nn.MultiheadAttention(hidden, shape.heads, shape.dropout) for _ in blocks)
        self.forward_layernorms = nn.ModuleList(nn.LayerNorm(hidden, eps=EPSILON) for _ in blocks)
        self.forward_layers = nn.ModuleList(_FeedForward(hidden, shape.dropout) for _ in blocks)
        self.last_layernorm = nn.LayerNorm(hidden, eps=EPSILON)

    @property
    def items(self) -> int:
        """The greatest number of a product."""
        return self.shape.items

    def features(self, sequences: Tensor) -> Tensor:
        """What is known at each place of the sequences: ``batch x length x hidden``."""
        length = sequences.shape[1]
        places = torch.arange(1, length + 1, device=sequences.device).expand_as(sequences) * (sequences != 0)
        known = self.item_emb(sequences) * self.shape.hidden**0.5 + self.pos_emb(places)
        known = self.emb_dropout(known)
        later = ~torch.tril(torch.ones((length, length), dtype=torch.bool, device=sequences.device))
        layers = zip(
            self.attention_layernorms,
            self.attention_layers,
            self.forward_layernorms,
            self.forward_layers,
            strict=True,
        )
        for attention_norm, attention, forward_norm, forward in layers:
            by_place = known.transpose(0, 1)
            query = attention_norm(by_place)
            attended, _ = attention(query, by_place, by_place, attn_mask=later, need_weights=False)
            known = forward(forward_norm((query + attended).transpose(0, 1)))
        last: Tensor = self.last_layernorm(known)
        return last

    def forward(self, sequences: Tensor, items: Tensor) -> Tensor:
        """The scores of ``items`` at each place: the same shape as ``items``, one product a place."""
        scored: Tensor = (self.features(sequences) * self.item_emb(items)).sum(dim=-1)
        return scored

    @torch.no_grad()
    def scores(self, sequence: list[int], items: Tensor) -> Tensor:
        """How likely each of ``items`` comes after the sequence, as logits; the last ``max_length`` products count."""
        kept = sequence[-self.shape.max_length :]
        filled = [0] * (self.shape.max_length - len(kept)) + kept
        feature = self.features(torch.tensor([filled], device=self.item_emb.weight.device))[0, -1]
        scored: Tensor = self.item_emb(items) @ feature
        return scored


def load_sasrec(path: Path, *, heads: int = 2) -> Sasrec:
    """Load a checkpoint: the released one, or one that was trained here. Its sizes are read from its tensors.

    Args:
        path: A file of tensors by name, as ``torch.save`` of a state dict makes it. Nothing in it is executed.
        heads: Heads of the attention layers, which no tensor's shape tells.

    Raises:
        UserError: it can't be read, or is another model's.
    """
    import pickle

    try:
        tensors: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise UserError(f"{path}: no checkpoint that can be read: {str(error)[:300]}") from None
    try:
        items, hidden = tensors["item_emb.weight"].shape
        shape = SasrecShape(
            items=items - 1,
            max_length=tensors["pos_emb.weight"].shape[0] - 1,
            hidden=hidden,
            blocks=sum(name.startswith("attention_layernorms.") and name.endswith(".weight") for name in tensors),
            heads=heads,
        )
        model = Sasrec(shape)
        model.load_state_dict(tensors)
    except (KeyError, AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{path}: not the tensors of a SASRec model: {str(error)[:300]}") from None
    return model.eval()
