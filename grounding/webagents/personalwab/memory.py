"""What an agent is told of the user's past: a task and a user in, a text of chosen behaviours out.

Only behaviour with a time strictly before the task's counts, whatever its split (as in the release). How many
behaviours are told is honoured here; the release parses its option and always takes 10. ``max_tokens`` cuts the text
after that many tokens, as PUMA's local model needs it.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from grounding.records import Record
from grounding.tokens import text_tokens
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.prompts import ShopPrompts, behaviour_text
from grounding.webagents.personalwab.records import Behaviour, ShopDataset, TaskType, TaskView
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

MemoryName = Literal["none", "random", "last", "relevant", "task-specific", "recmind", "interecagent"]
MEMORIES: tuple[MemoryName, ...] = get_args(MemoryName)

PAPER_LENGTHS: dict[str, int] = {"single": 50, "multi": 20}
"""Behaviours that are told (paper, section A.3); RecMind is told 400."""

RECMIND_LENGTH = 400
RELEASE_LENGTH = 10

Embed = Callable[[Sequence[str]], np.ndarray[Any, np.dtype[np.float32]]]
Count = Callable[[str], int]


class Recalled(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A memory as text, and the behaviours that are in it, in the order of the text."""

    text: str = ""
    chosen: tuple[Behaviour, ...] = ()


class Memory:
    """Chooses and words behaviours. ``identity`` is canonical text of all that can change a text.

    Args:
        kind: What is chosen.
        dataset: Users and products.
        prompts: The wording.
        length: How many behaviours, at most.
        max_tokens: How long the text may be, by ``count``; None for any length.
        seed: Seeds the choice of ``random``, together with the task's id, so that the order of tasks is no matter.
        embed: Turns texts into rows of length 1; needed for ``relevant`` and ``task-specific``.
        count: Tokens of a text.
        plain: ``task-specific`` as PUMA's own model is told it (release, PUMA/utils.py): without a heading, and of
            recommendations the newest first, so that what is cut off is the oldest.
    """

    def __init__(
        self,
        kind: MemoryName,
        dataset: ShopDataset,
        prompts: ShopPrompts,
        *,
        length: int,
        max_tokens: int | None = None,
        seed: int = 0,
        embed: Embed | None = None,
        count: Count = text_tokens,
        plain: bool = False,
    ) -> None:
        self.kind = kind
        self._dataset = dataset
        self._prompts = prompts
        self._length = length
        self._max_tokens = max_tokens
        self._seed = seed
        self._embed = embed
        self._count = count
        self._plain = plain
        chance = f";seed={seed}" if kind == "random" else ""
        worded = ";plain" if plain else ""
        self.identity = f"{kind};length={length};tokens={max_tokens}{chance}{worded};{prompts.label}"

    def recall(self, view: TaskView, *, predicted: TaskType | None = None) -> Recalled:
        """The memory for a task.

        Args:
            view: What is known of the task.
            predicted: The type that the agent takes the task for; needed for ``task-specific``.
        """
        past = self.past(view)
        if self.kind == "none" or not past:
            return Recalled()
        chosen = self._chosen(view, past)
        if self.kind == "task-specific":
            if predicted is None:
                raise ValueError("a task-specific memory needs the type that the task is taken for")
            return self._task_specific(chosen, predicted)
        header, template = self._wording()
        return self._told(header, template, chosen, "\n")

    def past(self, view: TaskView) -> list[Behaviour]:
        """What the user did before the task, oldest first."""
        user = self._dataset.users.get(view.user_id)
        return [one for one in (user.behaviours if user else ()) if one.review.timestamp_ms < view.timestamp_ms]

    def _chosen(self, view: TaskView, past: list[Behaviour]) -> list[Behaviour]:
        newest_first = past[::-1]
        if self.kind == "random":
            seeded = hashlib.sha256(f"{self._seed}:{view.task_id}".encode()).digest()
            return random.Random(seeded).sample(newest_first, min(self._length, len(past)))
        if self.kind in ("relevant", "task-specific"):
            return self._relevant(view.instruction, past)
        return newest_first[: self._length]

    def _relevant(self, instruction: str, past: list[Behaviour]) -> list[Behaviour]:
        if self._embed is None:
            raise ValueError(f"the memory {self.kind} needs embeddings")
        texts = [self._entry(self._prompts.entry, place, one) for place, one in enumerate(past)]
        rows = self._embed([instruction, *texts])
        order = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[: self._length]
        return [past[place] for place in order]

    def _task_specific(self, chosen: list[Behaviour], predicted: TaskType) -> Recalled:
        template = {
            "search": self._prompts.entry_search,
            "recommend": self._prompts.entry_recommend,
            "review": self._prompts.entry_review,
        }[predicted]
        if predicted == "recommend":
            chosen = sorted(chosen, key=lambda one: one.review.timestamp_ms, reverse=self._plain)
        if self._plain:
            return self._told("", template, chosen, "|")
        header = fill(self._prompts.memory_task_specific, type=predicted, tool=FUNCTION_OF[predicted])
        return self._told(header, template, chosen, "|")

    def _wording(self) -> tuple[str, str]:
        prompts = self._prompts
        match self.kind:
            case "random":
                return prompts.memory_random, prompts.entry
            case "relevant":
                return prompts.memory_relevant, prompts.entry
            case "recmind":
                return prompts.memory_recmind, prompts.entry_recmind
            case "interecagent":
                return prompts.memory_interecagent, prompts.entry_interecagent
        return prompts.memory_last, prompts.entry

    def _entry(self, template: str, place: int, behaviour: Behaviour) -> str:
        return behaviour_text(template, place, behaviour, self._dataset.products[behaviour.asin])

    def _told(self, header: str, template: str, chosen: Sequence[Behaviour], between: str) -> Recalled:
        entries = [self._entry(template, place, one) for place, one in enumerate(chosen)]
        kept = len(entries)
        if self._max_tokens is not None:
            sums = itertools.accumulate((self._count(entry) for entry in entries), initial=self._count(header))
            kept = max(0, sum(total <= self._max_tokens for total in sums) - 1)
        return Recalled(text=header + between.join(entries[:kept]), chosen=tuple(chosen[:kept]))


async def remember(memory: Memory, view: TaskView, predicted: TaskType | None = None) -> Recalled:
    """Recall beside other work: embeddings take long enough to keep requests waiting."""
    return await asyncio.to_thread(memory.recall, view, predicted=predicted)
