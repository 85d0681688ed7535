"""Products for a history: SASRec over the numbered products of a shop.

As in the release: products without a number are dropped, the last 30 of the rest count, a sequence of fewer than four
is led by its first product three times more, and the ten best of all numbered products come back. ``official`` keeps
products that the user has bought already; ``paper`` leaves out those of the sequence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from grounding.errors import UserError
from grounding.webagents.personalwab.extras import needs

RESULTS = 10
SHORT = 4
VERSION = 1


class Recommender(Protocol):
    """Ranks products for a sequence of products. ``identity`` is canonical text of all that can change an answer."""

    @property
    def identity(self) -> str:
        """Canonical text of the model, the products and the rules."""
        ...

    def recommend(self, sequence: Sequence[str], k: int = RESULTS) -> tuple[str, ...]:
        """At most ``k`` ASINs, best first; none where no ASIN of the sequence is known."""
        ...


class SequenceModel(Protocol):
    """What scores the numbers of products; a :class:`~.sasrec.Sasrec` is one."""

    @property
    def items(self) -> int:
        """The greatest number that it knows."""
        ...

    def scores(self, sequence: list[int], items: Any) -> Any:
        """A tensor with a score for each of the tensor ``items`` of numbers."""
        ...


class SasrecRecommender:
    """A trained model and the numbers of the products that it may recommend."""

    def __init__(
        self, model: SequenceModel, number_of: Mapping[str, int], *, leave_out_bought: bool, source: str
    ) -> None:
        import torch

        outside = [asin for asin, number in number_of.items() if not 1 <= number <= model.items]
        if outside:
            raise UserError(
                f"the product {outside[0]} has number {number_of[outside[0]]}, and the recommender knows the numbers 1 "
                f"to {model.items}: the file of numbers belongs to another model"
            )
        self._model = model
        self._number_of = dict(number_of)
        self._asins = tuple(self._number_of)
        self._numbers = torch.tensor([self._number_of[asin] for asin in self._asins])
        self._leave_out_bought = leave_out_bought
        numbers = hashlib.sha256(msgspec.json.encode(self._number_of)).hexdigest()[:16]
        self.identity = f"sasrec:{VERSION};{source};numbers={numbers};without_bought={leave_out_bought}"

    @property
    def size(self) -> int:
        """How many products it chooses from."""
        return len(self._asins)

    def recommend(self, sequence: Sequence[str], k: int = RESULTS) -> tuple[str, ...]:
        """At most ``k`` ASINs, best first, equal scores in the order of the products."""
        import torch

        known = [self._number_of[asin] for asin in sequence if asin in self._number_of]
        if not known:
            return ()
        if len(known) < SHORT:
            known = [known[0]] * 3 + known
        threads = torch.get_num_threads()
        # The matrices are so small that threads wait for each other far longer than they work.
        torch.set_num_threads(1)
        try:
            scores = self._model.scores(known, self._numbers)
        finally:
            torch.set_num_threads(threads)
        order = torch.argsort(scores, descending=True, stable=True).tolist()
        bought = set(sequence) if self._leave_out_bought else set()
        ranked = (self._asins[place] for place in order)
        found = []
        for asin in ranked:
            if asin not in bought:
                found.append(asin)
            if len(found) == k:
                break
        return tuple(found)


class NoRecommender:
    """A shop without a recommender: nothing is ever recommended."""

    identity = "no recommender"

    def recommend(self, sequence: Sequence[str], k: int = RESULTS) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing."""
        return ()


def read_numbers(path: Path) -> dict[str, int]:
    """Read the file that numbers the products, such as the release's ``1000_ids.json``: ``{"B0…": 7, …}``.

    Raises:
        UserError: it is not there or holds something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: expected a JSON object of product ids and numbers; {error}") from None


def open_recommender(checkpoint: Path, numbers: Path, *, leave_out_bought: bool) -> SasrecRecommender:
    """Load a recommender from a checkpoint and the file that numbers the products.

    Raises:
        UserError: a file is missing or wrong, or torch is not installed.
    """
    with needs("torch"):
        from grounding.webagents.personalwab.functions.sasrec import load_sasrec

        model = load_sasrec(checkpoint)
    source = hashlib.sha256(checkpoint.read_bytes()).hexdigest()[:16]
    return SasrecRecommender(model, read_numbers(numbers), leave_out_bought=leave_out_bought, source=source)
