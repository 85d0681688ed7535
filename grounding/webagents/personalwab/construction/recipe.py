"""What a shop is made of and with: the options of its making, and the file beside it that says so."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.options import Display
from grounding.records import Record
from grounding.webagents.asking import Tally
from grounding.webagents.personalwab.construction.records import PerPurchase, ProfileFrom, Sampling, SourceFacts
from grounding.webagents.personalwab.construction.writers import TEMPLATE

MADE_WITH = "made-with.json"
WORK = "work"
RECIPE = 1
BY_RULES = "rules and sentence patterns, no model: for trying things out, not for figures to compare with the paper's"
BY_MODEL = "a chat model"


class BuildOptions(Record, frozen=True, kw_only=True):
    """The options of ``grounding shop build``; see its ``--help``."""

    out: Path
    reviews: Path | None = None
    agenticshop: Path | None = None
    category: tuple[str, ...] = ()
    writer: str = TEMPLATE
    model: str | None = None
    sampling: Sampling = Sampling()
    per_purchase: PerPurchase = "one"
    profile_from: ProfileFrom = "all"
    profile_behaviours: int = 100
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
    """Everything that decides what the shop becomes. Another recipe is another shop, and needs another folder."""

    recipe: int = RECIPE
    source: str
    files: tuple[SourceFile, ...]
    sampling: Sampling
    per_purchase: PerPurchase
    profile_from: ProfileFrom
    profile_behaviours: int
    writer: str
    prompts: str
    parameters: dict[str, object]


class ShopCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What is in the files. ``wanted`` counts instructions that were to be written, by split and type."""

    users: int
    users_with_profile: int
    products: int
    behaviours: dict[str, int]
    wanted: dict[str, int]
    instructions: dict[str, int]
    titles_told: int


class MadeWith(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a shop was made with, as it lies beside its files."""

    format: int = 1
    status: str
    recipe: Recipe
    written_by: str
    version: str
    facts: SourceFacts | None = None
    counts: ShopCounts | None = None
    profiles: Tally | None = None
    instructions: Tally | None = None
    cost_usd: float | None = None


def check_folder(out: Path, recipe: Recipe) -> None:
    """See that nothing else is overwritten.

    Raises:
        UserError: the folder holds something else, or a shop of another recipe; says what differs.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file: give a folder")
    if not out.exists() or not any(out.iterdir()):
        return
    path = out / MADE_WITH
    try:
        found = msgspec.json.decode(path.read_bytes(), type=MadeWith).recipe
    except (OSError, msgspec.DecodeError):
        raise UserError(f"--out {out}: holds something else than a shop made here: choose another folder") from None
    differs = [name for name in Recipe.__struct_fields__ if getattr(found, name) != getattr(recipe, name)]
    if differs:
        raise UserError(
            f"--out {out}: holds a shop made otherwise ({', '.join(differs)}): choose another folder, or set it aside "
            "with --fresh"
        )
