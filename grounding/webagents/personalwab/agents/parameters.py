"""PUMA with a model of one's own: the function first, then its one parameter, written by a causal language model.

Which function it is, the same model says where it has learnt to (``names``), or a file, or the words do. As in the
release (``puma_agent.py``): the prompt is plain text, the model goes on with it greedily for at most 256 tokens, and
what it writes is the parameter: a query, ASINs with commas between them, or a review; ``Say: …`` speaks to the user and
``stop`` ends. ``official`` puts the ASINs through a set, as the release does, but in an order of its own seed, else
their order stays and repeats are dropped. Prompts and readings are functions of their own, since training words and
reads the same texts.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from grounding.records import Call, Failure, Usage
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.agents.base import TASK_FUNCTIONS, Move, Reflection, Started
from grounding.webagents.personalwab.agents.conversation import respond
from grounding.webagents.personalwab.agents.localmodel import MAX_NEW_TOKENS, Continuation, TextModel
from grounding.webagents.personalwab.memory import Memory
from grounding.webagents.personalwab.prompts import ShopPrompts
from grounding.webagents.personalwab.pumaprompts import PumaPrompts, function_prompt, named_function
from grounding.webagents.personalwab.records import FunctionCall, FunctionName, TaskType, TaskView, Track, Turn
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

PARAMETER_MARK = "### Tool Parameter:\n"
MAX_FUNCTION_TOKENS = 32
"""How long the name of a function may be (release, PUMA/scripts/generate_function.sh)."""


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
        names: PumaPrompts | None = None,
        shuffle_seed: int | None = None,
    ) -> None:
        """Make the agent.

        Args:
            model: Writes the parameter.
            memory: What it is told of the past.
            prompts: The wording.
            predict: Says which type a task is, where ``names`` is None.
            predictor: What stands for ``predict`` in the identity.
            names: The wording by which the model itself is asked for the function.
            shuffle_seed: Puts ASINs into an order of this seed; None keeps theirs.
        """
        self._model = model
        self._memory = memory
        self._prompts = prompts
        self._predict = predict
        self._names = names
        self._shuffle_seed = shuffle_seed
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="puma")
        order = "in order" if shuffle_seed is None else f"shuffled by {shuffle_seed}"
        said_by = predictor if names is None else f"model;{names.label}"
        self.identity = f"puma-local:2|{model.identity}|{memory.identity}|{prompts.label}|{said_by}|{order}"

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Predict the function and word the memory for it; a model that names no function fails the task."""
        predicted: TaskType | None
        calls: tuple[Call, ...] = ()
        if self._names is None:
            predicted = self._predict(view)
        else:
            try:
                written, call = await self._write(function_prompt(self._names, view.instruction), MAX_FUNCTION_TOKENS)
            except (RuntimeError, IndexError) as error:
                return Started(track=track, max_steps=max_steps, failure=_broken(error))
            calls = (call,)
            predicted = named_function(written.text)
            if predicted is None:
                failure = Failure(kind="unparsed", message=f"the model named no function: {written.text[:200]!r}")
                return Started(track=track, max_steps=max_steps, calls=calls, failure=failure)
        recalled = self._memory.recall(view, predicted=predicted)
        return Started(
            track=track,
            max_steps=max_steps,
            memory=recalled,
            opening=recalled.text,
            predicted=predicted,
            calls=calls,
        )

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:  # noqa: ARG002
        """Write the parameter; the model sees neither results nor replies, as in the release."""
        predicted = started.predicted or "search"
        prompt = parameter_prompt(self._prompts, view, predicted, started.opening)
        try:
            written, call = await self._write(prompt, MAX_NEW_TOKENS)
        except (RuntimeError, IndexError) as error:
            return Move(failure=_broken(error), completions=0)
        made = read_parameter(predicted, parameter_of(written.text), view, shuffle_seed=self._shuffle_seed)
        return Move(call=made, raw=parameter_of(written.text), calls=(call,))

    async def _write(self, prompt: str, max_new_tokens: int) -> tuple[Continuation, Call]:
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        written = await loop.run_in_executor(
            self._thread, lambda: self._model.write(prompt, max_new_tokens=max_new_tokens)
        )
        usage = Usage(input_tokens=written.input_tokens, output_tokens=written.output_tokens)
        return written, Call(seconds=time.perf_counter() - began, usage=usage)

    async def reflect(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Reflection:  # noqa: ARG002
        """Nothing: this agent doesn't."""
        return Reflection()

    async def check(self) -> None:
        """The model is loaded already."""

    async def aclose(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def parameter_prompt(prompts: ShopPrompts, view: TaskView, predicted: TaskType, memory: str) -> str:
    """The text that the model goes on with to write a parameter."""
    asked = view.instruction
    if predicted == "review" and view.review_product is not None:
        product = view.review_product
        asked += fill(
            prompts.puma_product,
            title=product.title,
            price=product.price,
            store=product.store,
            main_category=product.main_category,
        )
    return fill(prompts.puma_parameter, insturction=asked, memory=memory, tool=FUNCTION_OF[predicted])


def parameter_of(written: str) -> str:
    """The parameter in what a model wrote: what stands after the last mark, or all of it."""
    return written.strip().rpartition(PARAMETER_MARK)[2]


def read_parameter(predicted: TaskType, text: str, view: TaskView, *, shuffle_seed: int | None = None) -> FunctionCall:
    """The call that a parameter stands for."""
    if text.startswith("Say:"):
        return respond(text.rpartition("Say: ")[2])
    if text.startswith("stop"):
        return FunctionCall(name="stop", arguments="{}")
    match predicted:
        case "recommend":
            asins = list(dict.fromkeys(part.strip() for part in text.split(",")))
            if shuffle_seed is not None:
                random.Random(f"{shuffle_seed}:{view.task_id}").shuffle(asins)
            arguments: dict[str, object] = {"product_sequence": asins}
        case "review":
            arguments = {"review": text}
        case _:
            arguments = {"query": text}
    return FunctionCall(name=FUNCTION_OF[predicted], arguments=msgspec.json.encode(arguments).decode())


def _broken(error: Exception) -> Failure:
    # torch: no memory left, or a prompt beyond the positions that the model has.
    return Failure(kind="error", message=f"the model failed: {str(error)[:300]}")
