"""The two stages of construction: users to profiles, jobs to instructions, every answer kept under a key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from grounding.journal import Journal
from grounding.webagents.personalwab.construction.records import Job, MadeInstruction, MadeProfile, ProfileSubject
from grounding.webagents.personalwab.construction.writers import Writer
from grounding.webagents.personalwab.records import Product, Profile


def _key(*parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


class ProfileStage:
    """Describes users. A profile hangs on the writer, the behaviours and what is told of their products."""

    name = "profile"

    def __init__(self, writer: Writer, products: Mapping[str, Product], journal: Journal[MadeProfile]) -> None:
        self._writer = writer
        self._products = products
        self.journal = journal
        self.max_concurrency = writer.max_concurrency

    def item_id(self, item: ProfileSubject) -> str:
        """The user's id."""
        return item.user_id

    def key(self, item: ProfileSubject, earlier: None) -> str:  # noqa: ARG002
        """Writer, behaviours and products."""
        return _key(self._writer.identity, item.behaviours, [self._products[one.asin] for one in item.behaviours])

    async def run(self, item: ProfileSubject, earlier: None, key: str) -> MadeProfile:  # noqa: ARG002
        """Describe one user."""
        made = await self._writer.profile(item)
        return MadeProfile(
            step_id=item.user_id, key=key, profile=made.profile, raw=made.raw, failure=made.failure, call=made.call
        )


class InstructionStage:
    """Writes instructions for users whose profile is there."""

    name = "instruction"

    def __init__(
        self,
        writer: Writer,
        products: Mapping[str, Product],
        profiles: Mapping[str, Profile],
        journal: Journal[MadeInstruction],
    ) -> None:
        self._writer = writer
        self._products = products
        self._profiles = profiles
        self.journal = journal
        self.max_concurrency = writer.max_concurrency

    def item_id(self, item: Job) -> str:
        """The job's id."""
        return item.id

    def key(self, item: Job, earlier: None) -> str:  # noqa: ARG002
        """Writer, job, profile and product."""
        profile, product = self._profiles[item.user_id], self._products[item.behaviour.asin]
        return _key(self._writer.identity, item, profile, product)

    async def run(self, item: Job, earlier: None, key: str) -> MadeInstruction:  # noqa: ARG002
        """Write one instruction."""
        made = await self._writer.instruction(item, self._profiles[item.user_id])
        return MadeInstruction(
            step_id=item.id, key=key, text=made.text, raw=made.raw, failure=made.failure, call=made.call
        )
