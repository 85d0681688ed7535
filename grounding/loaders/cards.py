"""Data set cards: a YAML file in; what a data set is, where it comes from and which layout reads it, out."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.places import datasets_dir
from grounding.records import Record


class ExpectedCounts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the publication says the data set holds, to compare a copy with; None where it does not say."""

    participants: int | None = None
    tasks: int | None = None
    instructions: int | None = None
    scored_instructions: int | None = None
    steps: int | None = None
    scored_steps: int | None = None


class DatasetCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One data set.

    ``layout`` names the loader. ``path`` is the data set's folder beside the card where it comes with the package,
    None where it has to be fetched: ``download`` says how. ``licence`` is that of the data.
    """

    name: str
    title: str
    layout: str
    source: str
    licence: str
    path: str | None = None
    download: str = ""
    citation: str = ""
    notes: str = ""
    expected: ExpectedCounts = ExpectedCounts()


def dataset_cards() -> dict[str, DatasetCard]:
    """The cards that come with the package, by name, in alphabetical order.

    Raises:
        UserError: A card is wrong.
    """
    cards = {}
    for file in sorted(datasets_dir().glob("*.yaml")):
        card = read_card(file)
        if card.name != file.stem:
            raise UserError(f"{file}: name = {card.name!r}: must be the name of the file, {file.stem!r}")
        cards[card.name] = card
    return cards


def read_card(file: Path) -> DatasetCard:
    """One card.

    Raises:
        UserError: The file cannot be read, is not YAML, or has a wrong, missing or unknown field.
    """
    import yaml

    try:
        return msgspec.yaml.decode(file.read_bytes(), type=DatasetCard)
    except OSError as error:
        raise UserError(f"{file}: the data set card cannot be read ({error.strerror})") from error
    except msgspec.ValidationError as error:
        raise UserError(
            f"{file}: {error}. A data set card has the fields {_names(DatasetCard)}; "
            f"expected has {_names(ExpectedCounts)}, whole numbers"
        ) from error
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise UserError(f"{file}: is not YAML: {' '.join(str(error).split())}") from error


def _names(card_type: type[msgspec.Struct]) -> str:
    return ", ".join(
        field.name + (" (needed)" if field.required else "") for field in msgspec.structs.fields(card_type)
    )
