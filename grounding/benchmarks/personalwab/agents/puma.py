"""PUMA with a model of one's own, and what PUMA keeps in files: predicted functions, and how a model was trained.

As in the release (``puma_agent.py``): a causal language model goes on with a prompt greedily, and what it writes is the
function's one parameter. Which function it is, the same model says where it has learnt to, or a file, or the words do.
The memory is worded for the predicted function, where the release looks at the task's own type.
"""

import asyncio
import hashlib
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab import prompts as texts
from grounding.benchmarks.personalwab.agents.chat import Given, NoMove, Play, ShopAgent, function_call, predictions_hash
from grounding.benchmarks.personalwab.agents.offline import meant_by
from grounding.benchmarks.personalwab.embeddings import needs
from grounding.benchmarks.personalwab.prompts import FUNCTION_OF, named_function, puma_prompts, shop_prompts
from grounding.benchmarks.personalwab.records import FunctionCall, ShopTask, TaskType, TaskView, Turn
from grounding.errors import UserError
from grounding.records import Call, Record, Usage

FILE = "puma.json"
MAX_NEW_TOKENS, MAX_FUNCTION_TOKENS = 256, 32
"""How long a parameter and the name of a function may be (release, PUMA/scripts/generate_function.sh)."""


class TrainedAs(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a model of PUMA was trained: ``puma.json`` in its folder. Options of the user win over what stands here.

    ``variant`` is the row of the paper's table 5. ``memory_length`` is in behaviours, 0 for a model without memory.
    ``parameter_prompt``: whether it learned from the release's prompt for training or from that of its agents.
    """

    variant: str
    memory_length: int
    memory_tokens: int
    predicts_functions: bool
    stages: tuple[str, ...]
    dataset: str
    base: str
    parameter_prompt: Literal["agents", "training"] = "agents"


def read_predictions(path: Path, tasks: Sequence[ShopTask]) -> dict[str, TaskType]:
    """The type that each instruction is taken for, by a file of predicted functions that has all of the tasks.

    PUMA's ``function_res.json`` is an object of instructions and lists of candidates, of which the first counts: ``{"A
    lamp": ["search_product_by_query"]}``. Raises UserError where it is not there or holds something else.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"--functions {path}: expected an object of instructions and functions: {error}") from error
    said = {task.instruction: named_function("".join(found.get(task.instruction, [])[:1])) for task in tasks}
    missing = [task for task in tasks if said[task.instruction] is None]
    if missing:
        raise UserError(
            f"--functions {path}: {len(missing)} of {len(tasks)} tasks have no function in it, such as {missing[0].id} "
            f"({missing[0].instruction[:80]!r}); expected instructions, word for word, each with one of "
            f"{', '.join(FUNCTION_OF.values())}"
        )
    return {text: kind for text, kind in said.items() if kind is not None}


class Tokens:
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        return len(self._tokenizer(text)["input_ids"])

    def cut(self, text: str, most: int) -> str:
        """The first ``most`` tokens of a text, as text again (release, ``load_input_prompt``)."""
        kept = self._tokenizer(text, truncation=True, max_length=most)["input_ids"]
        return str(self._tokenizer.decode(kept, skip_special_tokens=True))


class LocalTextModel:
    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(f"--model-path {folder}: no such folder; give the one of a causal language model")
        with needs("torch", "transformers", "peft"):
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer

            try:
                self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
                # Of a folder of adapters the base model that they name is loaded, too.
                model: Any = AutoModelForCausalLM.from_pretrained(folder)
            except (OSError, ValueError, KeyError) as error:
                raise UserError(f"--model-path {folder}: no model that can be loaded: {str(error)[:300]}") from None
        self.tokens = Tokens(self._tokenizer)
        self.trained: TrainedAs | None = None
        try:
            self.trained = msgspec.json.decode((folder / FILE).read_bytes(), type=TrainedAs)
        except FileNotFoundError:
            pass  # A model that was trained elsewhere.
        except (OSError, msgspec.DecodeError) as error:
            raise UserError(f"{folder / FILE}: damaged ({error}); delete it to use the model without it") from None
        self._torch = torch
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self.identity = f"local:{folder_hash(folder)};greedy;{MAX_NEW_TOKENS}"

    def write(self, prompt: str, max_new_tokens: int = MAX_NEW_TOKENS) -> tuple[str, Usage]:
        read = self._tokenizer(prompt, return_tensors="pt").to(self._model.device)
        read.pop("token_type_ids", None)
        with self._torch.no_grad():
            made = self._model.generate(**read, max_new_tokens=max_new_tokens, do_sample=False, num_beams=1)
        before = read["input_ids"].shape[1]
        text = self._tokenizer.decode(made[0][before:], skip_special_tokens=True)
        return text, Usage(input_tokens=before, output_tokens=int(made.shape[1]) - before)


def folder_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(file.name.encode() + b"\0")
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:16]


class ParameterAgent(ShopAgent):
    """A predicted function, a memory for it, and a model that writes the parameter. Under the preset official ASINs are
    put into an order of the seed, where the release's comes out of a set.
    """

    def __init__(self, given: Given) -> None:
        assert given.local is not None, "options without a folder are refused"
        options, trained, prompts = given.options, given.local.trained, puma_prompts()
        self._model, self._memory, self._predictions = given.local, given.memory, given.predictions
        learnt = options.functions is None and trained is not None and trained.predicts_functions
        self._names = prompts if learnt or str(options.functions) == "model" else None
        self._learned = prompts if trained is not None and trained.parameter_prompt == "training" else None
        self._shuffle_seed = None if options.preset == "paper" else options.seed or 0
        order = "in order" if self._shuffle_seed is None else f"shuffled by {self._shuffle_seed}"
        said_by = "words" if given.predictions is None else predictions_hash(given.predictions)
        said_by = said_by if self._names is None else f"model;{prompts.label}"
        made_of = (given.local.identity, given.memory.identity, shop_prompts().label, said_by, order)
        asked_as = () if self._learned is None else (f"asked as in {prompts.label}",)
        self.identity = "|".join(("puma-local:3", *made_of, *asked_as))

    async def start(self, play: Play) -> None:
        view = play.view
        if self._names is not None:
            text = await self._write(play, texts.function_prompt(self._names, view.instruction), MAX_FUNCTION_TOKENS)
            play.predicted = named_function(text)
            if play.predicted is None:
                raise NoMove("unparsed", f"the model named no function: {text[:200]!r}")
        else:
            by_words = meant_by(view.instruction, reviewed=view.review_product is not None)
            play.predicted = (self._predictions or {}).get(view.instruction, by_words)
        recalled = self._memory.recall(view, predicted=play.predicted)
        user = self._memory.dataset.users.get(view.user_id)
        known = user is not None and user.before(view.timestamp_ms)
        play.memory = recalled if known else msgspec.structs.replace(recalled, text="none")  # As in the release.

    async def move(self, play: Play) -> Turn:
        # The model sees neither results nor replies, as in the release.
        predicted = play.predicted or "search"
        prompt = parameter_prompt(shop_prompts(), play.view, predicted, play.memory.text, learned=self._learned)
        parameter = parameter_of(await self._write(play, prompt, MAX_NEW_TOKENS))
        made = read_parameter(predicted, parameter, play.view, shuffle_seed=self._shuffle_seed)
        return Turn(call=made, raw=parameter)

    async def _write(self, play: Play, prompt: str, max_new_tokens: int) -> str:
        began = time.perf_counter()
        try:
            text, usage = await asyncio.to_thread(self._model.write, prompt, max_new_tokens)
        except (RuntimeError, IndexError) as error:
            # torch: no memory left, or a prompt beyond the positions that the model has.
            raise NoMove("error", f"the model failed: {str(error)[:300]}") from error
        play.calls.append(Call(seconds=time.perf_counter() - began, usage=usage))
        return text


def parameter_prompt(prompts: Any, view: TaskView, predicted: TaskType, memory: str, *, learned: Any = None) -> str:
    asked = view.instruction
    if predicted == "review" and view.review_product is not None:
        asked += fill(prompts.puma_product, **texts.product_fields(view.review_product))
    template = prompts.puma_parameter if learned is None else learned.parameter
    return fill(template, instruction=asked, insturction=asked, memory=memory, tool=FUNCTION_OF[predicted])


def parameter_of(written: str) -> str:
    return written.strip().rpartition("### Tool Parameter:\n")[2]


def read_parameter(predicted: TaskType, text: str, view: TaskView, *, shuffle_seed: int | None = None) -> FunctionCall:
    """The call that a parameter stands for: a query, ASINs with commas, a review, ``Say: …`` or ``stop``."""
    if text.startswith("Say:"):
        return function_call("respond", content=text.rpartition("Say: ")[2])
    if text.startswith("stop"):
        return function_call("stop")
    if predicted == "recommend":
        asins = list(dict.fromkeys(part.strip() for part in text.split(",")))
        if shuffle_seed is not None:
            random.Random(f"{shuffle_seed}:{view.task_id}").shuffle(asins)
        return function_call(FUNCTION_OF[predicted], product_sequence=asins)
    return function_call(FUNCTION_OF[predicted], **{"query" if predicted == "search" else "review": text})
