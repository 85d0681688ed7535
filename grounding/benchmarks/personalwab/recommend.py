"""Products for a history: SASRec over the numbered products of a shop, and its training for a shop that has none.

As in the release: products without a number are dropped, the last 30 of the rest count, and the ten best of all
numbered products come back, those that were bought already among them.

Training sees the split ``history`` without each user's last purchase, which is held out: how high it is ranked among
all numbered products is the metric. What tasks are about is never seen.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from grounding.atomic import atomic_write
from grounding.benchmarks.personalwab.embeddings import needs
from grounding.benchmarks.personalwab.loader import find_files, read_shop
from grounding.benchmarks.personalwab.records import ShopUser
from grounding.errors import UserError
from grounding.options import Display
from grounding.records import Record

VERSION = 2
CHECKPOINT, NUMBERS = "sasrec.pth", "product_ids.json"
TOLD = 10
"""So many times it is told how far the training is."""


class Recommender:
    """Ranks products for a sequence of products by a SASRec model. Without one nothing is ever recommended.

    ``identity`` is canonical text of all that can change an answer, ``numbers`` are those of the products.
    """

    def __init__(self, model: Any = None, numbers: Mapping[str, int] | None = None, *, source: str = "") -> None:
        self.numbers = dict(numbers or {})
        self._model, self._asins = model, tuple(self.numbers)
        self.identity = "no recommender"
        if model is not None:
            import torch

            wrong = next((one for one in self.numbers.items() if not 1 <= one[1] <= model.items), None)
            if wrong is not None:
                raise UserError(
                    f"the product {wrong[0]} has number {wrong[1]}, and the recommender knows the numbers 1 to "
                    f"{model.items}: the file of numbers belongs to another model"
                )
            self._among = torch.tensor(list(self.numbers.values()))
            digest = hashlib.sha256(msgspec.json.encode(self.numbers)).hexdigest()[:16]
            self.identity = f"sasrec:{VERSION};{source};numbers={digest}"

    def recommend(self, sequence: Sequence[str], k: int) -> tuple[str, ...]:
        """At most ``k`` ASINs, best first, equal scores in the order of the products; none for an unknown sequence."""
        known = [self.numbers[asin] for asin in sequence if asin in self.numbers]
        if self._model is None or not known:
            return ()
        with _one_thread():
            order = self._model.scores(known, self._among).argsort(descending=True, stable=True)[:k].tolist()
        return tuple(self._asins[place] for place in order)


@contextmanager
def _one_thread() -> Iterator[None]:
    """The matrices are so small that threads wait for each other far longer than they work."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def read_numbers(path: Path) -> dict[str, int]:
    """Read the file that numbers the products, such as the release's ``1000_ids.json``: ``{"B0…": 7, …}``.

    Raises UserError where it is not there or holds something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: expected a JSON object of product ids and numbers; {error}") from None


def open_recommender(checkpoint: Path, numbers: Path) -> Recommender:
    """Load a recommender from a checkpoint and the file that numbers the products.

    Raises UserError where a file is missing or wrong, or torch is not installed.
    """
    with needs("torch"):
        from grounding.benchmarks.personalwab.sasrec import load_sasrec

        model = load_sasrec(checkpoint)
    source = hashlib.sha256(checkpoint.read_bytes()).hexdigest()[:16]
    return Recommender(model, read_numbers(numbers), source=source)


# --- training ---------------------------------------------------------------------------------------------------------


class TrainedRecommender(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A trained recommender: on how many users, and Recall and NDCG at 10 over ``held_out`` last purchases."""

    epochs: int
    users: int
    products: int
    held_out: int
    recall_10: float
    ndcg_10: float

    @property
    def text(self) -> str:
        """In a line."""
        return (
            f"SASRec, {self.epochs} epochs on {self.users} users · {self.held_out} held-out purchases among "
            f"{self.products:,} products: Recall@10 {self.recall_10:.3f}, NDCG@10 {self.ndcg_10:.3f}"
        )


def train_recommender(
    users: Iterable[ShopUser],
    numbers: Mapping[str, int],
    folder: Path,
    *,
    epochs: int,
    seed: int,
    display: Display | None,
) -> TrainedRecommender:
    """Train, write the checkpoint into a folder, and say how well it ranks.

    Raises UserError where torch is not installed, or nobody bought two products.
    """
    with needs("torch"):
        import torch

        from grounding.benchmarks.personalwab.sasrec import last_gains, train_sasrec
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
        if shown and epoch % max(1, epochs // TOLD) == 0:
            print(f"training the recommender: epoch {epoch} of {epochs}, loss {loss:.3f}", file=sys.stderr, flush=True)

    with _one_thread():
        model = train_sasrec(seen, max(numbers.values()), epochs=epochs, seed=seed, on_epoch=told)
        gains = last_gains(model, whole, list(numbers.values()))
    content = io.BytesIO()
    torch.save({name: tensor.clone() for name, tensor in model.state_dict().items()}, content)
    atomic_write(folder / CHECKPOINT, content.getvalue())
    return TrainedRecommender(
        epochs=epochs,
        users=len(seen),
        products=len(numbers),
        held_out=len(gains),
        recall_10=sum(gain > 0 for gain in gains) / max(1, len(gains)),
        ndcg_10=sum(gains) / max(1, len(gains)),
    )


def numbered(asins: Iterable[str]) -> dict[str, int]:
    """A number for every product, from 1, in their order."""
    return {asin: place for place, asin in enumerate(asins, start=1)}


def add_recommender(
    folder: Path, *, epochs: int, seed: int, fresh: bool, display: Display | None
) -> TrainedRecommender:
    """Train a recommender for a shop on disk and put it beside its files.

    Raises UserError where there is no shop or it is damaged, or it has a recommender already.
    """
    files = find_files(folder)
    if files.checkpoint is not None and not fresh:
        raise UserError(
            f"{files.checkpoint}: there is a recommender already; --fresh trains one anew, and {CHECKPOINT} beside the "
            "data is taken before one elsewhere"
        )
    shop = read_shop(folder, splits=("train", "test"))
    beside = files.instructions.parent
    if files.numbers is None or fresh:
        numbers = numbered(shop.products)
        atomic_write(beside / NUMBERS, msgspec.json.encode(numbers))
    else:
        numbers = read_numbers(files.numbers)
    return train_recommender(shop.users.values(), numbers, beside, epochs=epochs, seed=seed, display=display)
