"""What an agent is told of the user's past: a task and a user in, a text of chosen behaviours out.

Only behaviour with a time strictly before the task's counts, whatever its split (as in the release). How many
behaviours are told is honoured here; the release parses its option and always takes 10.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab.prompts import FUNCTION_OF, behaviour_text
from grounding.benchmarks.personalwab.records import Behaviour, ShopDataset, TaskType, TaskView
from grounding.records import Record

MemoryName = Literal["none", "random", "last", "relevant", "task-specific", "recmind", "interecagent"]
PAPER_LENGTHS: dict[str, int] = {"single": 50, "multi": 20}
"""Behaviours that are told (paper, section A.3); RecMind is told 400."""

RECMIND_LENGTH = 400
RELEASE_LENGTH = 10
RELEASE_TOKENS = 768
"""Of PUMA's own model (release, ``run.py``)."""

Embed = Callable[[Sequence[str]], np.ndarray[Any, np.dtype[np.float32]]]


class Recalled(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A memory as text, and the behaviours that are in it, in the order of the text."""

    text: str = ""
    chosen: tuple[Behaviour, ...] = ()


NOTHING = Recalled()


class Memory:
    """Chooses and words at most ``length`` behaviours. ``identity`` is canonical text of all that can change a text.

    ``seed`` is that of ``random``, together with the task's id, so that the order of tasks is no matter. ``embed``
    turns texts into rows of length 1, for ``relevant`` and ``task-specific``. ``cut`` gives the first ``max_tokens`` by
    the tokenizer of PUMA's own model, which is told ``task-specific`` as in the release (PUMA/utils.py): cut inside of
    a behaviour, without a heading, and of recommendations the newest first, so that what is cut off is the oldest.
    ``react`` gives the heading of ``last`` as the release's ReAct has it.
    """

    def __init__(
        self,
        kind: MemoryName,
        dataset: ShopDataset,
        prompts: Any,
        *,
        length: int,
        max_tokens: int | None = None,
        seed: int = 0,
        embed: Embed | None = None,
        cut: Callable[[str, int], str] | None = None,
        react: bool = False,
    ) -> None:
        self.kind, self.dataset, self._prompts = kind, dataset, prompts
        self._length, self._max_tokens, self._seed = length, max_tokens, seed
        self._embed, self._cut, self._react = embed, cut, react
        chance = f";seed={seed}" if kind == "random" else ""
        worded = (";cut" if cut else "") + (";react" if react else "")
        self.identity = f"{kind};length={length};tokens={max_tokens}{chance}{worded};{prompts.label}"

    def recall(self, view: TaskView, *, predicted: TaskType | None = None) -> Recalled:
        """The memory for a task; ``task-specific`` needs the type that the agent takes it for."""
        user, prompts = self.dataset.users.get(view.user_id), self._prompts
        past = user.before(view.timestamp_ms) if user is not None else []
        newest_first = sorted(past, key=lambda one: one.review.timestamp_ms, reverse=True)
        heading: str = getattr(prompts, f"memory_{self.kind.replace('-', '_')}", "")
        match self.kind:
            case "none":
                return NOTHING
            case "task-specific":
                return self._task_specific(view, past, predicted)
            case "relevant":
                return self._told(heading, prompts.entry, self._relevant(view.instruction, past))
            case "random":
                seeded = hashlib.sha256(f"{self._seed}:{view.task_id}".encode()).digest()
                chosen = random.Random(seeded).sample(newest_first, min(self._length, len(past)))
                return self._told(heading, prompts.entry, chosen)
            case "last" if self._react:
                heading = prompts.memory_last_react
        entry: str = getattr(prompts, f"entry_{self.kind}", prompts.entry)
        return self._told(heading, entry, newest_first[: self._length])

    def _task_specific(self, view: TaskView, past: list[Behaviour], predicted: TaskType | None) -> Recalled:
        if predicted is None:
            raise ValueError("a task-specific memory needs the type that the task is taken for")
        if not past:
            return NOTHING
        chosen = self._relevant(view.instruction, past)
        if predicted == "recommend":
            chosen.sort(key=lambda one: one.review.timestamp_ms, reverse=self._cut is not None)
        header = fill(self._prompts.memory_task_specific, type=predicted, tool=FUNCTION_OF[predicted])
        entry: str = getattr(self._prompts, f"entry_{predicted}")
        return self._told("" if self._cut else header, entry, chosen, "|")

    def _relevant(self, instruction: str, past: list[Behaviour]) -> list[Behaviour]:
        if not past:
            return []
        assert self._embed is not None, "who makes such a memory gives it embeddings"
        texts = [self._entry(self._prompts.entry, place, one) for place, one in enumerate(past)]
        rows = self._embed([instruction, *texts])
        order = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[: self._length]
        return [past[place] for place in order]

    def _entry(self, template: str, place: int, behaviour: Behaviour) -> str:
        return behaviour_text(template, place, behaviour, self.dataset.products[behaviour.asin])

    def _told(self, header: str, template: str, chosen: Sequence[Behaviour], between: str = "\n") -> Recalled:
        entries = [self._entry(template, place, one) for place, one in enumerate(chosen)]
        text, kept = header + between.join(entries), len(entries)
        if self._max_tokens is not None and self._cut is not None:
            text = self._cut(text, self._max_tokens)
            ends = itertools.accumulate(len(entry + between) for entry in entries)
            kept = sum(end - len(between) <= len(text) for end in ends)
        return Recalled(text=text, chosen=tuple(chosen[:kept]))
