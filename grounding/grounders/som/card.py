"""The card of a Set-of-Mark pipeline: a chat model's card with the rules for the marks."""

from pathlib import Path
from typing import Annotated

import msgspec

from grounding.cards import ChatCard, read_card
from grounding.records import Record

NAMES = ("som", "set-of-mark")


class MarksRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How regions are found and shown.

    ``sam`` is a folder with SAM weights in the format of transformers, or their name on the Hugging Face hub; without
    it regions are found by a built-in method. ``short_side`` is that of the marked picture, in pixels; ``alpha`` how
    much of a region's colour is laid over it; ``outline`` draws its edge. Of more than ``most`` regions the smallest
    get no number.
    """

    sam: str | None = None
    short_side: Annotated[int, msgspec.Meta(ge=64, le=4096)] = 1000
    alpha: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    outline: bool = True
    most: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400


class SomCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat model that answers with the number of a mark; the picture of its prompt is the marked one."""

    marks: MarksRule


def is_som(name: str) -> bool:
    return name in NAMES or (name.endswith((".yaml", ".yml")) and _has_marks(Path(name)))


def find_som_card(name: str, folder: Path) -> SomCard | None:
    """The Set-of-Mark card that a user means by its name, its alias or a path; None where another grounder is meant.
    Raises UserError: the card can't be read or a field is wrong.
    """
    if not is_som(name):
        return None
    return read_card(folder / "som.yaml" if name in NAMES else Path(name), SomCard)


def _has_marks(path: Path) -> bool:
    """Whether a card is of this kind. What is wrong with another card is for its own reader to say."""
    try:
        fields = msgspec.yaml.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(fields, dict) and "marks" in fields
