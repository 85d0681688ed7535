"""Who writes profiles and instructions: a chat model, or rules where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from grounding.cards import PlannerCard
from grounding.chat import ChatModel
from grounding.records import Call, Failure, Record
from grounding.webagents.personalwab.construction.reading import read_instruction_reply, read_profile_reply
from grounding.webagents.personalwab.construction.records import Job, ProfileSubject
from grounding.webagents.personalwab.construction.template import (
    VERSION,
    template_instruction,
    template_profile,
    usual_prices,
)
from grounding.webagents.personalwab.construction.wording import (
    ConstructionPrompts,
    instruction_prompt,
    most_words,
    profile_prompt,
)
from grounding.webagents.personalwab.records import Product, Profile
from grounding.webagents.words import ask_in_words

TEMPLATE = "template"


class WrittenProfile(Record, frozen=True, kw_only=True):
    """A profile or why there is none, the reply as it came, and what it took."""

    profile: Profile | None = None
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class WrittenInstruction(Record, frozen=True, kw_only=True):
    """An instruction or why there is none, the reply as it came, and what it took."""

    text: str = ""
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class Writer(Protocol):
    """Writes what a shop lacks. ``identity`` is canonical text of all but the subject that can change what comes."""

    @property
    def identity(self) -> str:
        """Canonical text of model, prompts and settings."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many it writes at once."""
        ...

    async def profile(self, subject: ProfileSubject) -> WrittenProfile:
        """Describe a user."""
        ...

    async def instruction(self, job: Job, profile: Profile) -> WrittenInstruction:
        """Write what the user would ask for."""
        ...

    async def check(self) -> None:
        """Fail early when it can't write."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds."""
        ...


class ChatWriter:
    """A chat model, asked with the paper's prompts, one message each.

    Args:
        model: Who is asked.
        card: Its card, with the rule that drops thoughts.
        prompts: The wording.
        products: What the prompts tell of products.
    """

    def __init__(
        self, model: ChatModel, card: PlannerCard, prompts: ConstructionPrompts, products: Mapping[str, Product]
    ) -> None:
        self.model = model
        self._card = card
        self._prompts = prompts
        self._products = products
        self.identity = f"chat:1|{model.identity}|{prompts.label}"
        self.max_concurrency = model.max_concurrency

    async def profile(self, subject: ProfileSubject) -> WrittenProfile:
        """Ask for the JSON of a profile, and read it."""
        reply = await ask_in_words(self.model, self._card, profile_prompt(self._prompts, subject, self._products))
        found = reply.failure or read_profile_reply(self._prompts, reply.text)
        if isinstance(found, Failure):
            return WrittenProfile(raw=reply.raw, failure=found, call=reply.call)
        return WrittenProfile(profile=found, raw=reply.raw, call=reply.call)

    async def instruction(self, job: Job, profile: Profile) -> WrittenInstruction:
        """Ask for an instruction, and read it."""
        product = self._products[job.behaviour.asin]
        prompt = instruction_prompt(self._prompts, job, profile, product)
        reply = await ask_in_words(self.model, self._card, prompt)
        found = reply.failure or read_instruction_reply(reply.text, cut_off=reply.cut_off)
        if isinstance(found, Failure):
            return WrittenInstruction(raw=reply.raw, failure=found, call=reply.call)
        return WrittenInstruction(text=found, raw=reply.raw, call=reply.call)

    async def check(self) -> None:
        """Fail early when the endpoint is not there."""
        await self.model.check()

    async def aclose(self) -> None:
        """Close connections."""
        await self.model.aclose()


class TemplateWriter:
    """Rules, no model; ``seed`` chooses among sentence patterns."""

    max_concurrency = 1

    def __init__(self, prompts: ConstructionPrompts, products: Mapping[str, Product], seed: int) -> None:
        self._prompts = prompts
        self._products = products
        self._seed = seed
        self._usual_usd = usual_prices(products.values())
        self.identity = f"{TEMPLATE}:{VERSION}|seed={seed}|{prompts.label}"

    async def profile(self, subject: ProfileSubject) -> WrittenProfile:
        """Describe a user by counts."""
        return WrittenProfile(profile=template_profile(subject, self._products, self._usual_usd))

    async def instruction(self, job: Job, profile: Profile) -> WrittenInstruction:
        """Fill a sentence pattern."""
        product = self._products[job.behaviour.asin]
        words = most_words(self._prompts, job, profile)
        text = template_instruction(job, profile, product, words=words, seed=self._seed)
        return WrittenInstruction(text=text)

    async def check(self) -> None:
        """Nothing has to be there."""

    async def aclose(self) -> None:
        """Nothing is held."""
