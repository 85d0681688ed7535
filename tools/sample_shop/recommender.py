"""The sample's recommender: sequences of products in, a checkpoint and how well it ranks out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

EPOCHS = 250


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """Recall and NDCG at 10 on held-out purchases: the model's, and those of what sells most and is not yet owned."""

    n: int
    recall_10: float
    ndcg_10: float
    popular_recall_10: float
    popular_ndcg_10: float


def train(sequences: Sequence[Sequence[int]], items: int, out: Path, *, epochs: int = EPOCHS) -> None:
    """Train SASRec on sequences of the numbers 1 to ``items`` and save its tensors; the same each time."""
    import torch

    from grounding.benchmarks.personalwab.sasrec import train_sasrec

    torch.set_num_threads(1)
    model = train_sasrec(sequences, items, epochs=epochs)
    torch.save({name: tensor.clone() for name, tensor in model.state_dict().items()}, out)


def evaluate(checkpoint: Path, histories: Mapping[str, Sequence[int]], later: Mapping[str, Sequence[int]]) -> Ranked:
    """Rank each later purchase, from all purchases before it, among all products that anybody has bought before."""
    from grounding.benchmarks.personalwab.sasrec import last_gains, load_sasrec

    sold = Counter(number for sequence in histories.values() for number in sequence)
    among = sorted(sold)
    sequences = [
        [*histories[user], *numbers[: place + 1]]
        for user, numbers in later.items()
        for place in range(len(numbers))
        if len(histories[user]) + place > 0
    ]
    own = last_gains(load_sasrec(checkpoint), sequences, among)
    best_sold = sorted(sold, key=lambda number: (-sold[number], number))
    ranks = [
        [number for number in best_sold if number not in earlier].index(last)
        for *earlier, last in sequences
        if last in sold
    ]
    gains = [1 / math.log2(rank + 2) if rank < 10 else 0.0 for rank in ranks]
    return Ranked(
        n=len(own),
        recall_10=sum(gain > 0 for gain in own) / len(own),
        ndcg_10=sum(own) / len(own),
        popular_recall_10=sum(gain > 0 for gain in gains) / len(gains),
        popular_ndcg_10=sum(gains) / len(gains),
    )
