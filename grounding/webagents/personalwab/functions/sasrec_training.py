"""Training and evaluation of SASRec on the sequences of a data set's users.

As in the release: Adam (0.9, 0.98) at 0.001, batches of 128, binary cross-entropy with one product drawn for each that
was bought. A user's products of the splits ``history`` are trained on, so that nothing of a task leaks into the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from grounding.records import Record
from grounding.webagents.personalwab.functions.sasrec import Sasrec, SasrecShape

BETAS = (0.9, 0.98)


class SasrecTraining(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How it is trained. ``epochs`` of the release are 1,000, over about 19,000 users."""

    epochs: int = 200
    batch: int = 128
    learning_rate: float = 0.001
    seed: int = 0


class RankedShare(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Recall and NDCG at 10 over ``n`` last products, each ranked among all."""

    n: int
    recall_10: float
    ndcg_10: float


def train_sasrec(
    sequences: Sequence[Sequence[int]],
    shape: SasrecShape,
    training: SasrecTraining,
    *,
    on_epoch: Callable[[int, float], None] | None = None,
) -> Sasrec:
    """Train a model on one processor; the same seed gives the same model.

    Args:
        sequences: The products of each user by number (from 1), oldest first; those with fewer than two are left out.
        shape: The sizes of the model.
        training: How it is trained.
        on_epoch: Told of each epoch's number, from 1, and its mean loss.
    """
    torch.manual_seed(training.seed)
    rng = np.random.default_rng(training.seed)
    inputs, targets = _windows(sequences, shape.max_length)
    bought = [np.unique(np.concatenate((row, target))) for row, target in zip(inputs, targets, strict=True)]
    model = Sasrec(shape).train()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.xavier_normal_(parameter)
    with torch.no_grad():
        model.item_emb.weight[0] = 0
        model.pos_emb.weight[0] = 0
    optimizer = torch.optim.Adam(model.parameters(), lr=training.learning_rate, betas=BETAS)
    for epoch in range(1, training.epochs + 1):
        losses = []
        order = rng.permutation(len(inputs))
        for start in range(0, len(order), training.batch):
            chosen = order[start : start + training.batch]
            wrong = np.stack([_not_bought(rng, bought[row], targets[row], shape.items) for row in chosen])
            batch, right = torch.from_numpy(inputs[chosen]), torch.from_numpy(targets[chosen])
            counts = right != 0
            good, bad = model(batch, right)[counts], model(batch, torch.from_numpy(wrong))[counts]
            loss = binary_cross_entropy_with_logits(good, torch.ones_like(good))
            loss = loss + binary_cross_entropy_with_logits(bad, torch.zeros_like(bad))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        if on_epoch is not None and losses:
            on_epoch(epoch, sum(losses) / len(losses))
    return model.eval()


def _windows(sequences: Sequence[Sequence[int]], length: int) -> tuple[np.ndarray, np.ndarray]:
    rows = [sequence for sequence in sequences if len(sequence) > 1]
    inputs = np.zeros((len(rows), length), dtype=np.int64)
    targets = np.zeros_like(inputs)
    for row, sequence in enumerate(rows):
        before, after = list(sequence[:-1])[-length:], list(sequence[1:])[-length:]
        inputs[row, length - len(before) :] = before
        targets[row, length - len(after) :] = after
    return inputs, targets


def _not_bought(
    rng: np.random.Generator,
    bought: np.ndarray,
    target: np.ndarray,
    items: int,
) -> np.ndarray:
    drawn = rng.integers(1, items + 1, size=len(target))
    again = np.isin(drawn, bought) & (target != 0)
    # A user who has bought nearly everything would be drawn for without end.
    for _ in range(100):
        if not again.any():
            break
        drawn[again] = rng.integers(1, items + 1, size=int(again.sum()))
        again = np.isin(drawn, bought) & (target != 0)
    return np.where(target != 0, drawn, 0)


def evaluate_sasrec(model: Sasrec, sequences: Sequence[Sequence[int]], items: Sequence[int]) -> RankedShare:
    """Rank each sequence's last product among ``items`` from the products before it."""
    among = torch.tensor(list(items))
    place = {item: index for index, item in enumerate(items)}
    gains = []
    for sequence in sequences:
        if len(sequence) < 2 or sequence[-1] not in place:
            continue
        scores = model.scores(list(sequence[:-1]), among)
        better = int((scores > scores[place[sequence[-1]]]).sum())
        gains.append(1 / math.log2(better + 2) if better < 10 else 0.0)
    n = len(gains)
    hits = sum(gain > 0 for gain in gains)
    return RankedShare(n=n, recall_10=hits / n if n else 0.0, ndcg_10=sum(gains) / n if n else 0.0)
