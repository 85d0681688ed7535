"""What a data set is made of and with: the options of its making, and the file beside it that says so."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.options import Display
from grounding.records import Record
from grounding.webagents.agenticshop.checklist import ChecklistLint
from grounding.webagents.agenticshop.construction.subjects import REVIEWS, Skipped
from grounding.webagents.agenticshop.construction.template import TEMPLATE
from grounding.webagents.agenticshop.pairing import PairingDoubt
from grounding.webagents.agenticshop.records import Scenario
from grounding.webagents.asking import Tally

MADE_WITH = "made-with.json"
WORK = "work"
RECIPE = 1
BY_RULES = "rules and sentence patterns, no model: for trying things out, not for figures to compare with the paper's"
BY_MODEL = "a chat model"


class ConstructOptions(Record, frozen=True, kw_only=True):
    """The options of ``grounding curation construct``; see its ``--help``.

    ``query_writer`` is the card of another model for the queries; ``mend`` is whether checklists that are objected to
    are asked for again.
    """

    raw: Path
    out: Path
    scenario: tuple[Scenario, ...] = ()
    writer: str = TEMPLATE
    model: str | None = None
    query_writer: str | None = None
    query_model: str | None = None
    users: int | None = None
    reviews: int = REVIEWS
    seed: int = 0
    official: bool = False
    mend: bool = True
    prompt: str = "construction"
    chat: ChatOptions = ChatOptions()
    cost_limit: float | None = None
    fresh: bool = False
    display: Display | None = None


class SourceFile(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One file that was read."""

    name: str
    size_bytes: int


class Recipe(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that decides what the files become. Another recipe is another data set, and needs another folder."""

    recipe: int = RECIPE
    files: tuple[SourceFile, ...]
    scenarios: tuple[Scenario, ...]
    users: int | None
    reviews: int
    seed: int
    official: bool
    mend: bool
    writer: str
    query_writer: str
    prompts: str
    parameters: dict[str, object]


class Checked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the checks at the end found.

    ``pairs`` counts the queries that were held against all users of their file, ``doubts`` those that look exchanged.
    ``seeds_in_history`` counts users whose context was written from the item of the query, of ``seeds``. ``lint`` is of
    the checklists as they are; ``flagged_before`` counts flagged items before any checklist was written again.
    """

    pairs: int
    doubts: tuple[PairingDoubt, ...]
    seeds: int
    seeds_in_history: int
    lint: ChecklistLint
    flagged_before: int
    asked_again: int
    mended: int


class MadeWith(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a data set was made with, as it lies beside its files."""

    format: int = 1
    status: str
    recipe: Recipe
    written_by: str
    version: str
    written: dict[str, int] = msgspec.field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    asked: dict[str, Tally] = msgspec.field(default_factory=dict)
    checked: Checked | None = None
    cost_usd: float | None = None


def check_folder(out: Path, recipe: Recipe) -> None:
    """See that nothing else is overwritten.

    Raises:
        UserError: the folder holds something else, or a data set of another recipe; says what differs.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file: give a folder")
    if not out.exists() or not any(out.iterdir()):
        return
    path = out / MADE_WITH
    try:
        found = msgspec.json.decode(path.read_bytes(), type=MadeWith).recipe
    except (OSError, msgspec.DecodeError):
        raise UserError(f"--out {out}: holds something else than users made here: choose another folder") from None
    differs = [name for name in Recipe.__struct_fields__ if getattr(found, name) != getattr(recipe, name)]
    if differs:
        raise UserError(
            f"--out {out}: holds users made otherwise ({', '.join(differs)}): choose another folder, or set it aside "
            "with --fresh"
        )
