"""How context, query and checklist are asked for: a file of texts in; filled texts out.

Histories, products and contexts stand in the texts as the release has them: as Python writes dictionaries and lists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.agenticshop.checklist import ItemFlag
from grounding.webagents.agenticshop.construction.records import Checklist, Need, Subject
from grounding.webagents.agenticshop.layout import checklist_of
from grounding.webagents.agenticshop.records import UserContext
from grounding.webagents.filling import fill
from grounding.webagents.rawusers import RawReview


class ConstructionPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of construction; those named ``…_system`` stand before the text of the same name."""

    name: str
    version: int
    source: str
    context_system: str
    context: str
    open_context: str
    query_system: str
    query: str
    checklist_system: str
    checklist: str
    again_system: str
    again: str
    open_situation: str
    open_query: str

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        return f"{self.name}.{self.version}@{hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]}"

    @property
    def open_need(self) -> Need:
        """Why somebody shops who only looks around; there is no budget."""
        return Need(situation=self.open_situation)


@cache
def construction_prompts(name: str = "construction") -> ConstructionPrompts:
    """The wording of this name, or of a YAML file of one's own.

    Raises:
        UserError: there is none, or a text is missing or unknown.
    """
    folder = models_dir() / "prompts" / "agenticshop"
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=ConstructionPrompts)
    except OSError:
        raise UserError(f"--prompt {name}: there is construction, or give a .yaml file of your own") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: not the wording of a construction: {error}") from None


def context_prompt(prompts: ConstructionPrompts, subject: Subject) -> str:
    """What asks for a context."""
    template = prompts.context if subject.seed is not None else prompts.open_context
    return fill(template, purchase_history=str([_plain(review) for review in subject.history]))


def need_prompt(prompts: ConstructionPrompts, seed: RawReview, context: UserContext) -> str:
    """What asks for situation, budget and queries."""
    return fill(prompts.query, user_context=_dictionary(context), seed_product_information=str(_plain(seed)))


def checklist_prompt(prompts: ConstructionPrompts, context: UserContext, need: Need) -> str:
    """What asks for a checklist; the query is not told, as in the release."""
    return fill(
        prompts.checklist,
        user_context=_dictionary(context),
        user_situation=need.situation,
        user_budget=need.budget or "None",
    )


def again_prompt(
    prompts: ConstructionPrompts, context: UserContext, need: Need, checklist: Checklist, flags: Sequence[ItemFlag]
) -> str:
    """What asks for a checklist once more, with the objections to the first."""
    return fill(
        prompts.again,
        user_context=_dictionary(context),
        user_situation=need.situation,
        user_budget=need.budget or "None",
        checklist=msgspec.json.format(msgspec.json.encode(checklist_of(checklist)), indent=2).decode(),
        objections="\n".join(f"- {line}" for line in objections(checklist, flags)),
    )


def objections(checklist: Checklist, flags: Sequence[ItemFlag]) -> tuple[str, ...]:
    """Every objection with the item that it is to, in words."""
    texts = {item.id: item.text for item in checklist}
    return tuple(f"{flag.item} ({texts[flag.item]}): {flag.sentence}" for flag in flags)


def _dictionary(context: UserContext) -> str:
    return str({name: getattr(context, name) for name in UserContext.__struct_fields__})


def _plain(review: RawReview) -> dict[str, Any]:
    """A review as the file has it: lists for lists, and a domain only where there is one."""
    written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(review))
    if not review.domain:
        del written["domain"]
    return written
