"""PUMA with a model of one's own: the function first, then its one parameter, written by a causal language model.

As in the release (``puma_agent.py``): the prompt is plain text, the model goes on with it greedily for at most 256
tokens, and what it writes is the parameter: a query, ASINs with commas between them, or a review; ``Say: …`` speaks to
the user and ``stop`` ends. ``official`` puts the ASINs through a set, as the release does, but in an order of its own
seed; otherwise their order stays and repeats are dropped.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import msgspec

from grounding.errors import UserError
from grounding.records import Call, Failure, Record, Usage
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.agents.base import TASK_FUNCTIONS, Move, Reflection, Started
from grounding.webagents.personalwab.agents.conversation import respond
from grounding.webagents.personalwab.extras import needs
from grounding.webagents.personalwab.memory import Memory
from grounding.webagents.personalwab.prompts import ShopPrompts
from grounding.webagents.personalwab.records import FunctionCall, FunctionName, TaskType, TaskView, Track, Turn
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

MAX_NEW_TOKENS = 256
PARAMETER_MARK = "### Tool Parameter:\n"


class Continuation(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a model wrote after a prompt, without it."""

    text: str
    input_tokens: int
    output_tokens: int


class TextModel(Protocol):
    """Goes on with a text."""

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change what it writes."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def write(self, prompt: str) -> Continuation:
        """Go on with a prompt."""
        ...


class LocalModel:
    """A causal language model of ``transformers``, with or without adapters, from a folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(f"--model-path {folder}: no such folder; give the one of a causal language model")
        with needs("torch", "transformers", "peft"):
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer

            try:
                self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
                model: Any = AutoModelForCausalLM.from_pretrained(folder)
            except (OSError, ValueError, KeyError) as error:
                raise UserError(f"--model-path {folder}: no model that can be loaded: {str(error)[:300]}") from None
        self._torch = torch
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self.identity = f"local:{_folder_hash(folder)};greedy;{MAX_NEW_TOKENS}"

    def count(self, text: str) -> int:
        """Tokens of a text, with those that the tokenizer puts around it."""
        return len(self._tokenizer(text)["input_ids"])

    def write(self, prompt: str) -> Continuation:
        """Go on greedily."""
        read = self._tokenizer(prompt, return_tensors="pt").to(self._model.device)
        with self._torch.no_grad():
            made = self._model.generate(**read, max_new_tokens=MAX_NEW_TOKENS, do_sample=False, num_beams=1)
        before = read["input_ids"].shape[1]
        text = self._tokenizer.decode(made[0][before:], skip_special_tokens=True)
        return Continuation(text=text, input_tokens=before, output_tokens=int(made.shape[1]) - before)


def _folder_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(file.name.encode() + b"\0")
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:16]


class ParameterAgent:
    """PUMA: a predicted function, a memory for it, and a model that writes the parameter."""

    name = "puma-local"
    functions: tuple[FunctionName, ...] = TASK_FUNCTIONS
    max_concurrency = 1

    def __init__(
        self,
        model: TextModel,
        memory: Memory,
        prompts: ShopPrompts,
        predict: Callable[[TaskView], TaskType],
        *,
        predictor: str,
        shuffle_seed: int | None = None,
    ) -> None:
        self._model = model
        self._memory = memory
        self._prompts = prompts
        self._predict = predict
        self._shuffle_seed = shuffle_seed
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="puma")
        order = "in order" if shuffle_seed is None else f"shuffled by {shuffle_seed}"
        self.identity = f"puma-local:1|{model.identity}|{memory.identity}|{prompts.label}|{predictor}|{order}"

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Predict the function and word the memory for it."""
        predicted = self._predict(view)
        recalled = self._memory.recall(view, predicted=predicted)
        return Started(track=track, max_steps=max_steps, memory=recalled, opening=recalled.text, predicted=predicted)

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:  # noqa: ARG002
        """Write the parameter; the model sees neither results nor replies, as in the release."""
        predicted = started.predicted or "search"
        prompt = self.prompt(started, view)
        began = time.perf_counter()
        try:
            written = await asyncio.get_running_loop().run_in_executor(self._thread, self._model.write, prompt)
        except (RuntimeError, IndexError) as error:
            # torch: no memory left, or a prompt beyond the positions that the model has.
            failure = Failure(kind="error", message=f"the model failed: {str(error)[:300]}")
            return Move(failure=failure, completions=0)
        usage = Usage(input_tokens=written.input_tokens, output_tokens=written.output_tokens)
        call = Call(seconds=time.perf_counter() - began, usage=usage)
        text = written.text.strip().rpartition(PARAMETER_MARK)[2]
        return Move(call=self.read(predicted, text, view), raw=text, calls=(call,))

    def prompt(self, started: Started, view: TaskView) -> str:
        """The text that the model goes on with."""
        predicted = started.predicted or "search"
        asked = view.instruction
        if predicted == "review" and view.review_product is not None:
            product = view.review_product
            asked += fill(
                self._prompts.puma_product,
                title=product.title,
                price=product.price,
                store=product.store,
                main_category=product.main_category,
            )
        return fill(
            self._prompts.puma_parameter, insturction=asked, memory=started.opening, tool=FUNCTION_OF[predicted]
        )

    def read(self, predicted: TaskType, text: str, view: TaskView) -> FunctionCall:
        """The call that a parameter stands for."""
        if text.startswith("Say:"):
            return respond(text.rpartition("Say: ")[2])
        if text.startswith("stop"):
            return FunctionCall(name="stop", arguments="{}")
        match predicted:
            case "recommend":
                asins = list(dict.fromkeys(part.strip() for part in text.split(",")))
                if self._shuffle_seed is not None:
                    random.Random(f"{self._shuffle_seed}:{view.task_id}").shuffle(asins)
                arguments: dict[str, object] = {"product_sequence": asins}
            case "review":
                arguments = {"review": text}
            case _:
                arguments = {"query": text}
        return FunctionCall(name=FUNCTION_OF[predicted], arguments=msgspec.json.encode(arguments).decode())

    async def reflect(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Reflection:  # noqa: ARG002
        """Nothing: this agent doesn't."""
        return Reflection()

    async def check(self) -> None:
        """The model is loaded already."""

    async def aclose(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False, cancel_futures=True)
