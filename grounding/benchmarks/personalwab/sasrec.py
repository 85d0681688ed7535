"""Products for a history by SASRec: the network, its training for a shop that has none, and what it recommends.

After Kang and McAuley (2018), with the tensor names of the released checkpoint. Names and shapes leave open where the
residuals go; here, as in the implementation that the release builds on (pmixer/SASRec.pytorch before its option
``norm_first``), the normalised query is added to what attention makes of the unnormalised sequence, and the
feed-forward layer is added to its normalised input.

As in the release products without a number are dropped, the last 30 of the rest count, and bought ones come back too.
"""

import hashlib
import io
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from grounding.atomic import atomic_write
from grounding.benchmarks.personalwab.loader import NUMBERS_FILE, find_files, read_numbers, read_shop
from grounding.benchmarks.personalwab.records import ShopUser
from grounding.errors import UserError
from grounding.options import Display

VERSION, CHECKPOINT = 2, "sasrec.pth"
EPSILON, DROPOUT, BATCH, LEARNING_RATE, BETAS = 1e-8, 0.5, 128, 0.001, (0.9, 0.98)
"""As the release trains, for 1,000 epochs on about 19,000 users."""


class _FeedForward(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv1d(hidden, hidden, kernel_size=1) for _ in range(2))
        self.dropout1, self.dropout2 = nn.Dropout(DROPOUT), nn.Dropout(DROPOUT)

    def forward(self, features: Tensor) -> Tensor:
        inner = torch.relu(self.dropout1(self.conv1(features.transpose(1, 2))))
        outer: Tensor = self.dropout2(self.conv2(inner)).transpose(1, 2)
        return features + outer


class Sasrec(nn.Module):
    """The network, by default of the released model's sizes; products are numbered from 1 to ``items``, 0 fills up.
    Sequences are ``batch x max_length`` numbers of products, filled up on the left.
    """

    def __init__(self, items: int, *, max_length: int = 30, hidden: int = 50, blocks: int = 2, heads: int = 2) -> None:
        super().__init__()
        self.items, self.max_length, self.hidden = items, max_length, hidden
        self.item_emb = nn.Embedding(items + 1, hidden, padding_idx=0)
        self.pos_emb = nn.Embedding(max_length + 1, hidden, padding_idx=0)
        self.emb_dropout = nn.Dropout(DROPOUT)
        every = range(blocks)
        self.attention_layernorms = nn.ModuleList(nn.LayerNorm(hidden, eps=EPSILON) for _ in every)
        self.attention_layers = nn.ModuleList(nn.MultiheadAttention(hidden, heads, DROPOUT) for _ in every)
        self.forward_layernorms = nn.ModuleList(nn.LayerNorm(hidden, eps=EPSILON) for _ in every)
        self.forward_layers = nn.ModuleList(_FeedForward(hidden) for _ in every)
        self.last_layernorm = nn.LayerNorm(hidden, eps=EPSILON)

    def features(self, sequences: Tensor) -> Tensor:
        """``batch x length x hidden``."""
        length = sequences.shape[1]
        places = torch.arange(1, length + 1, device=sequences.device).expand_as(sequences) * (sequences != 0)
        known = self.item_emb(sequences) * self.hidden**0.5 + self.pos_emb(places)
        known = self.emb_dropout(known)
        later = ~torch.tril(torch.ones((length, length), dtype=torch.bool, device=sequences.device))
        attending = zip(self.attention_layernorms, self.attention_layers, strict=True)
        forwarding = zip(self.forward_layernorms, self.forward_layers, strict=True)
        for (attention_norm, attention), (forward_norm, forward) in zip(attending, forwarding, strict=True):
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
        kept = sequence[-self.max_length :]
        filled = [0] * (self.max_length - len(kept)) + kept
        feature = self.features(torch.tensor([filled], device=self.item_emb.weight.device))[0, -1]
        scored: Tensor = self.item_emb(items) @ feature
        return scored


def load_sasrec(path: Path) -> Sasrec:
    try:
        tensors: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        items, hidden = tensors["item_emb.weight"].shape
        length = tensors["pos_emb.weight"].shape[0] - 1
        blocks = sum(name.startswith("attention_layernorms.") and name.endswith(".weight") for name in tensors)
        model = Sasrec(items - 1, max_length=length, hidden=hidden, blocks=blocks)
        model.load_state_dict(tensors)
    except Exception as error:  # noqa: BLE001  torch and pickle raise whatever the bytes make of them
        raise UserError(f"{path}: no checkpoint of a SASRec model: {str(error)[:300]}") from None
    return model.eval()


def train_sasrec(
    sequences: Sequence[Sequence[int]],
    items: int,
    *,
    epochs: int,
    seed: int = 0,
    on_epoch: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> Sasrec:
    """Train a model of the numbers up to ``items``; the same seed gives the same model.

    ``sequences`` are the products of each user by number (from 1), oldest first; those with fewer than two are left
    out. ``on_epoch`` is told of each epoch's number, from 1, and its mean loss.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Sasrec(items).train()
    rows = [sequence[-model.max_length - 1 :] for sequence in sequences if len(sequence) > 1]
    inputs, targets = (np.zeros((len(rows), model.max_length), dtype=np.int64) for _ in range(2))
    for row, sequence in enumerate(rows):
        inputs[row, 1 - len(sequence) :], targets[row, 1 - len(sequence) :] = sequence[:-1], sequence[1:]
    bought = [np.unique(np.concatenate((row, target))) for row, target in zip(inputs, targets, strict=True)]
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.xavier_normal_(parameter)
    with torch.no_grad():
        model.item_emb.weight[0] = 0
        model.pos_emb.weight[0] = 0
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=BETAS)
    for epoch in range(1, epochs + 1):
        losses = []
        order = rng.permutation(len(inputs))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            wrong = np.stack([_not_bought(rng, bought[row], targets[row], items) for row in chosen])
            batch, right = torch.from_numpy(inputs[chosen]), torch.from_numpy(targets[chosen])
            counts = right != 0
            good, bad = model(batch, right)[counts], model(batch, torch.from_numpy(wrong))[counts]
            loss = binary_cross_entropy_with_logits(good, torch.ones_like(good))
            loss = loss + binary_cross_entropy_with_logits(bad, torch.zeros_like(bad))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        on_epoch(epoch, sum(losses) / max(1, len(losses)))
    return model.eval()


def _not_bought(rng: np.random.Generator, bought: np.ndarray, target: np.ndarray, items: int) -> np.ndarray:
    drawn = rng.integers(1, items + 1, size=len(target))
    # A user who has bought nearly everything would be drawn for without end.
    for _ in range(100):
        again = np.isin(drawn, bought) & (target != 0)
        if not again.any():
            break
        drawn[again] = rng.integers(1, items + 1, size=int(again.sum()))
    return np.where(target != 0, drawn, 0)


def last_gains(model: Sasrec, sequences: Sequence[Sequence[int]], items: Sequence[int]) -> list[float]:
    """NDCG at 10 of each sequence's last product among ``items``; others than these are left out."""
    among, place = torch.tensor(list(items)), {item: index for index, item in enumerate(items)}
    gains = []
    for sequence in sequences:
        if len(sequence) > 1 and sequence[-1] in place:
            scores = model.scores(list(sequence[:-1]), among)
            better = int((scores > scores[place[sequence[-1]]]).sum())
            gains.append(1 / math.log2(better + 2) if better < 10 else 0.0)
    return gains


@contextmanager
def one_thread() -> Iterator[None]:
    """The matrices are so small that threads wait for each other far longer than they work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Recommender:
    """Ranks the products of a file of numbers by a checkpoint. Raises UserError where a file is wrong or of another."""

    def __init__(self, checkpoint: Path, numbers: Path) -> None:
        self.numbers, self._model = read_numbers(numbers), load_sasrec(checkpoint)
        for asin, number in self.numbers.items():
            if not 1 <= number <= self._model.items:
                raise UserError(
                    f"the product {asin} has number {number}, and the recommender knows the numbers 1 to "
                    f"{self._model.items}: the file of numbers belongs to another model"
                )
        self._asins, self._among = tuple(self.numbers), torch.tensor(list(self.numbers.values()))
        contents = (checkpoint.read_bytes(), msgspec.json.encode(self.numbers))
        source, digest = (hashlib.sha256(content).hexdigest()[:16] for content in contents)
        self.identity = f"sasrec:{VERSION};{source};numbers={digest}"

    @one_thread()
    def recommend(self, sequence: Sequence[str], k: int) -> tuple[str, ...]:
        """At most ``k`` ASINs, best first, equal scores in the order of the products; none for an unknown sequence."""
        known = [self.numbers[asin] for asin in sequence if asin in self.numbers]
        if not known:
            return ()
        order = self._model.scores(known, self._among).argsort(descending=True, stable=True)[:k].tolist()
        return tuple(self._asins[place] for place in order)


@one_thread()
def train_recommender(
    users: Iterable[ShopUser], numbers: Mapping[str, int], folder: Path, epochs: int, seed: int, display: Display | None
) -> dict[str, float]:
    """Train on the split ``history``, write the checkpoint into a folder, and say how well it ranks. Each user's last
    purchase is held out and ranked among all numbered products. Raises UserError: nobody bought two.
    """
    sequences = [
        [numbers[one.asin] for one in user.oldest_first if one.split == "history" and one.asin in numbers]
        for user in users
    ]
    whole = [sequence for sequence in sequences if len(sequence) > 2]
    seen = [sequence[:-1] if len(sequence) > 2 else sequence for sequence in sequences if len(sequence) > 1]
    if not seen:
        raise UserError("nobody has two purchases in the split history: there is nothing to train a recommender on")
    shown = display in ("plain", "rich") or (display is None and sys.stderr.isatty())

    def told(epoch: int, loss: float) -> None:
        if shown and epoch % max(1, epochs // 10) == 0:
            print(f"training the recommender: epoch {epoch} of {epochs}, loss {loss:.3f}", file=sys.stderr, flush=True)

    model = train_sasrec(seen, max(numbers.values()), epochs=epochs, seed=seed, on_epoch=told)
    gains = last_gains(model, whole, list(numbers.values()))
    content = io.BytesIO()
    torch.save({name: tensor.clone() for name, tensor in model.state_dict().items()}, content)
    atomic_write(folder / CHECKPOINT, content.getvalue())
    recall, ndcg = (sum(one) / max(1, len(gains)) for one in ((gain > 0 for gain in gains), gains))
    counts = {"epochs": epochs, "users": len(seen), "products": len(numbers), "held_out": len(gains)}
    return {**counts, "recall_10": recall, "ndcg_10": ndcg}


def trained_text(trained: Mapping[str, float]) -> str:
    said = "SASRec, {epochs} epochs on {users} users · {held_out} held-out purchases among {products:,} products: "
    return (said + "Recall@10 {recall_10:.3f}, NDCG@10 {ndcg_10:.3f}").format(**trained)


def add_recommender(folder: Path, *, epochs: int, seed: int, fresh: bool, display: Display | None) -> dict[str, float]:
    files = find_files(folder)
    if files.checkpoint is not None and not fresh:
        raise UserError(
            f"{files.checkpoint}: there is a recommender already; --fresh trains one anew, and {CHECKPOINT} beside the "
            "data is taken before one elsewhere"
        )
    shop, beside = read_shop(folder, splits=("train", "test")), files.instructions.parent
    if files.numbers is None or fresh:
        numbers = {asin: place for place, asin in enumerate(shop.products, start=1)}
        atomic_write(beside / NUMBERS_FILE, msgspec.json.encode(numbers))
    else:
        numbers = read_numbers(files.numbers)
    return train_recommender(shop.users.values(), numbers, beside, epochs, seed, display)
