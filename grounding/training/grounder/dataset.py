"""Examples as TRL takes them: a table of numbers, and the pictures read when a row is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.training.grounder.records import GrounderExample
from grounding.training.grounder.verbatim import rendered, verbatim_message

EXAMPLE = "example"
"""The column with an example's place in the list; rewards find by it what was right."""


class PromptRows:
    """Makes rows with prompt and picture; ``processor`` is the checkpoint's own, with its own template.

    A prompt that stands in a batch several times is read once.
    """

    def __init__(self, examples: Sequence[GrounderExample], card: GrounderCard, processor: Any) -> None:
        self._examples, self._card, self._processor = examples, card, processor

    def __call__(self, batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        """Rows by their numbers: columns ``example``, ``prompt`` (one message) and ``image``.

        Raises:
            UserError: a screenshot can't be read.
        """
        made = {number: self._made(number) for number in dict.fromkeys(batch[EXAMPLE])}
        rows = [made[number] for number in batch[EXAMPLE]]
        return {EXAMPLE: list(batch[EXAMPLE]), "prompt": [row[0] for row in rows], "image": [row[1] for row in rows]}

    def _made(self, number: int) -> tuple[list[dict[str, Any]], Any]:
        prompt, text = rendered(self._processor, self._card, self._examples[number].query)
        return verbatim_message(text, self._processor.image_token), prompt.image


def numbers(places: Iterable[int]) -> Any:
    """A ``datasets.Dataset`` with nothing but examples' places in the list."""
    # By its name, since a folder of data sets called so may lie in the working directory.
    library = importlib.import_module("datasets")
    return library.Dataset.from_dict({EXAMPLE: list(places)})


def lazy_rows(places: Iterable[int], rows: PromptRows) -> Any:
    """The same, whose rows get their prompt and picture when they are asked for."""
    table = numbers(places)
    # Named here, since the library would otherwise hash the function with all that it holds.
    table.set_format("custom", transform=rows, new_fingerprint=f"{table._fingerprint}-rows")
    return table


def check_marks(examples: Sequence[GrounderExample], image_token: str) -> None:
    """Make sure that no user's words hold the token that stands for the picture.

    Raises:
        UserError: some do; names the first.
    """
    for example in examples:
        query = example.query
        told = [query.instruction, query.goal]
        told += [text for entry in query.history for text in (entry.instruction, entry.action)]
        if any(image_token in text for text in told):
            raise UserError(
                f"step {example.step.id}: its words hold {image_token}, which stands for the picture in this model's "
                "prompts: leave the step out"
            )
