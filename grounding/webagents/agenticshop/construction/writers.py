"""Who writes contexts, needs and checklists: a chat model (or two), or rules where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, Protocol, TypeVar

from grounding.records import Call, Failure, Record
from grounding.webagents.agenticshop.checklist import ItemFlag
from grounding.webagents.agenticshop.construction.reading import read_checklist, read_context, read_need
from grounding.webagents.agenticshop.construction.records import Checklist, Need, Subject
from grounding.webagents.agenticshop.construction.wording import (
    ConstructionPrompts,
    again_prompt,
    checklist_prompt,
    context_prompt,
    need_prompt,
)
from grounding.webagents.agenticshop.records import UserContext
from grounding.webagents.asking import Opened
from grounding.webagents.words import Reply, ask_in_words

Part = Literal["context", "need", "checklist", "again"]
MadeT = TypeVar("MadeT")


class Written(Record, Generic[MadeT], frozen=True, kw_only=True):
    """What was written, or why it was not, the reply as it came, and what it took."""

    made: MadeT | None = None
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class Writer(Protocol):
    """Writes the parts of a user's profile. ``can_mend`` is whether asking again can bring a better checklist."""

    can_mend: bool
    max_concurrency: int

    def identity(self, part: Part) -> str:
        """Canonical text of all but the subject that can change what comes."""
        ...

    async def context(self, subject: Subject) -> Written[UserContext]:
        """Describe a user."""
        ...

    async def need(self, subject: Subject, context: UserContext) -> Written[Need]:
        """Write why the user shops, and what the user says. Not asked in open exploration."""
        ...

    async def checklist(self, subject: Subject, context: UserContext, need: Need) -> Written[Checklist]:
        """Write what a product for the user should be."""
        ...

    async def again(
        self, context: UserContext, need: Need, checklist: Checklist, flags: Sequence[ItemFlag]
    ) -> Written[Checklist]:
        """Write a checklist again, with the objections to it."""
        ...

    async def check(self) -> None:
        """Fail early when it can't write."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds."""
        ...


class ChatWriter:
    """Chat models, asked with the release's prompts: one for contexts and checklists, perhaps another for queries.

    Args:
        main: Who writes contexts and checklists.
        queries: Who writes situation, budget and queries.
        prompts: The wording.
    """

    can_mend = True

    def __init__(self, main: Opened, queries: Opened, prompts: ConstructionPrompts) -> None:
        self._main = main
        self._queries = queries
        self._prompts = prompts
        self.max_concurrency = main.model.max_concurrency

    def identity(self, part: Part) -> str:
        """Model and wording."""
        return f"chat:1|{self._of(part).model.identity}|{self._prompts.label}"

    async def context(self, subject: Subject) -> Written[UserContext]:
        """Ask for six paragraphs, and read them."""
        reply = await self._ask("context", context_prompt(self._prompts, subject), self._prompts.context_system)
        return _written(reply, reply.failure or read_context(reply.text))

    async def need(self, subject: Subject, context: UserContext) -> Written[Need]:
        """Ask for situation, budget and queries, and read them."""
        if subject.seed is None:
            return Written(made=self._prompts.open_need)
        prompt = need_prompt(self._prompts, subject.seed, context)
        reply = await self._ask("need", prompt, self._prompts.query_system)
        return _written(reply, reply.failure or read_need(reply.text))

    async def checklist(self, subject: Subject, context: UserContext, need: Need) -> Written[Checklist]:  # noqa: ARG002
        """Ask for a checklist, and read it."""
        prompt = checklist_prompt(self._prompts, context, need)
        reply = await self._ask("checklist", prompt, self._prompts.checklist_system)
        return _written(reply, reply.failure or read_checklist(reply.text))

    async def again(
        self, context: UserContext, need: Need, checklist: Checklist, flags: Sequence[ItemFlag]
    ) -> Written[Checklist]:
        """Ask once more, and read it."""
        prompt = again_prompt(self._prompts, context, need, checklist, flags)
        reply = await self._ask("again", prompt, self._prompts.again_system)
        return _written(reply, reply.failure or read_checklist(reply.text))

    async def check(self) -> None:
        """Fail early when an endpoint is not there."""
        for opened in self._both():
            await opened.model.check()

    async def aclose(self) -> None:
        """Close connections."""
        for opened in self._both():
            await opened.model.aclose()

    def _both(self) -> tuple[Opened, ...]:
        return (self._main,) if self._queries is self._main else (self._main, self._queries)

    def _of(self, part: Part) -> Opened:
        return self._queries if part == "need" else self._main

    async def _ask(self, part: Part, prompt: str, system: str) -> Reply:
        opened = self._of(part)
        return await ask_in_words(opened.model, opened.card, prompt, system=system)


def _written(reply: Reply, found: MadeT | Failure) -> Written[MadeT]:
    if not isinstance(found, Failure):
        return Written(made=found, raw=reply.raw, call=reply.call)
    if reply.cut_off and found.kind == "unparsed":
        found = Failure(kind="unparsed", message=f"the reply was cut off at the limit of its length; {found.message}")
    return Written(raw=reply.raw, failure=found, call=reply.call)
