"""The stages of construction: contexts, needs, checklists, checklists once more; every answer kept under a key.

All four work on the same subjects; what an earlier stage made is looked up by the subject's id, never by a place in a
list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from grounding.journal import Journal
from grounding.webagents.agenticshop.checklist import lint_checklist
from grounding.webagents.agenticshop.construction.records import (
    Checklist,
    MadeChecklist,
    MadeContext,
    MadeNeed,
    Need,
    Subject,
)
from grounding.webagents.agenticshop.construction.wording import objections
from grounding.webagents.agenticshop.construction.writers import Writer
from grounding.webagents.agenticshop.records import UserContext


def _key(*parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


class ContextStage:
    """Describes users from their reviews."""

    name = "context"

    def __init__(self, writer: Writer, journal: Journal[MadeContext]) -> None:
        self._writer = writer
        self.journal = journal
        self.max_concurrency = writer.max_concurrency

    def item_id(self, item: Subject) -> str:
        """The subject's id."""
        return item.id

    def key(self, item: Subject, earlier: None) -> str:  # noqa: ARG002
        """Writer and reviews; not the item of the query, which a context knows nothing of."""
        return _key(self._writer.identity("context"), item.product_type, item.seed is None, item.history)

    async def run(self, item: Subject, earlier: None, key: str) -> MadeContext:  # noqa: ARG002
        """Describe one user."""
        made = await self._writer.context(item)
        return MadeContext(
            step_id=item.id, key=key, context=made.made, raw=made.raw, failure=made.failure, call=made.call
        )


class NeedStage:
    """Writes why users shop and what they say."""

    name = "query"

    def __init__(self, writer: Writer, contexts: Mapping[str, UserContext], journal: Journal[MadeNeed]) -> None:
        self._writer = writer
        self._contexts = contexts
        self.journal = journal
        self.max_concurrency = writer.max_concurrency

    def item_id(self, item: Subject) -> str:
        """The subject's id."""
        return item.id

    def key(self, item: Subject, earlier: None) -> str:  # noqa: ARG002
        """Writer, the item that the query is made of, the context and what it was written from."""
        return _key(self._writer.identity("need"), item.product_type, item.seed, item.history, self._contexts[item.id])

    async def run(self, item: Subject, earlier: None, key: str) -> MadeNeed:  # noqa: ARG002
        """Write one user's need."""
        made = await self._writer.need(item, self._contexts[item.id])
        return MadeNeed(step_id=item.id, key=key, need=made.made, raw=made.raw, failure=made.failure, call=made.call)


class ChecklistStage:
    """Writes checklists from context, situation and budget."""

    name = "checklist"

    def __init__(
        self,
        writer: Writer,
        contexts: Mapping[str, UserContext],
        needs: Mapping[str, Need],
        journal: Journal[MadeChecklist],
    ) -> None:
        self._writer = writer
        self._contexts = contexts
        self._needs = needs
        self.journal = journal
        self.max_concurrency = writer.max_concurrency

    def item_id(self, item: Subject) -> str:
        """The subject's id."""
        return item.id

    def key(self, item: Subject, earlier: None) -> str:  # noqa: ARG002
        """Writer, context and what it was written from, situation and budget; not the query."""
        need = self._needs[item.id]
        told = (item.product_type, item.history, self._contexts[item.id], need.situation, need.budget)
        return _key(self._writer.identity("checklist"), *told)

    async def run(self, item: Subject, earlier: None, key: str) -> MadeChecklist:  # noqa: ARG002
        """Write one user's checklist."""
        made = await self._writer.checklist(item, self._contexts[item.id], self._needs[item.id])
        return MadeChecklist(
            step_id=item.id, key=key, checklist=made.made or (), raw=made.raw, failure=made.failure, call=made.call
        )


class AgainStage:
    """Writes checklists again that are objected to, once."""

    name = "checklist again"

    def __init__(
        self,
        writer: Writer,
        contexts: Mapping[str, UserContext],
        needs: Mapping[str, Need],
        checklists: Mapping[str, Checklist],
        journal: Journal[MadeChecklist],
    ) -> None:
        self._writer = writer
        self._contexts = contexts
        self._needs = needs
        self._checklists = checklists
        self.journal = journal
        self.max_concurrency = writer.max_concurrency

    def item_id(self, item: Subject) -> str:
        """The subject's id."""
        return item.id

    def key(self, item: Subject, earlier: None) -> str:  # noqa: ARG002
        """Writer, context, need, the first checklist and the objections to it."""
        first, need = self._checklists[item.id], self._needs[item.id]
        told = (self._contexts[item.id], need.situation, need.budget, first, lint_checklist(first))
        return _key(self._writer.identity("again"), *told)

    async def run(self, item: Subject, earlier: None, key: str) -> MadeChecklist:  # noqa: ARG002
        """Write one checklist again."""
        first = self._checklists[item.id]
        flags = lint_checklist(first)
        made = await self._writer.again(self._contexts[item.id], self._needs[item.id], first, flags)
        return MadeChecklist(
            step_id=item.id,
            key=key,
            checklist=made.made or (),
            objections=objections(first, flags),
            raw=made.raw,
            failure=made.failure,
            call=made.call,
        )
