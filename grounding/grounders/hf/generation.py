"""A question to what a model takes in, and what it writes to a reply: prompt, picture, parameters, decoding.

A card is written for an OpenAI-compatible server (vLLM): each of its parameters means here what it means there. The
prompt is rendered as for a server, and Qwen's own ``process_vision_info`` sizes the picture, as in the authors'
programs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from grounding.cards import PREFILL_PARAMETERS, ChatCard, ImageRule, Json
from grounding.data.images import Picture, opened, picture_sizes
from grounding.errors import UserError
from grounding.grounders.hf.loading import Loaded, ModelFailed, failures_typed
from grounding.llm.chat import render_messages
from grounding.llm.wire import Completion, Message, TextPart
from grounding.records import Call, ImageSizes, Query, Record, Size, Usage

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_MAX_TOKENS = 2048  # For a card without `max_tokens`, where a server would go on to the end of the context.
_UNUSED_WHEN_GREEDY = ("top_p", "top_k", "min_p", "seed")


class Generation(Record, frozen=True, kw_only=True):
    """How tokens are chosen and turned into text.

    ``arguments`` go to ``GenerationConfig`` as they stand. Penalties of tokens already written, stop strings and the
    decoding are ours. ``alone`` is set where an answer would depend on what else is in its batch: padding counts as
    prompt for a repetition penalty, and drawing for several rows shares one random stream.
    """

    arguments: dict[str, int | float | bool]
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    skip_special_tokens: bool = True
    seed: int | None = None
    alone: bool = False


def generation_for(parameters: Mapping[str, Json], *, card: str) -> Generation:
    """Map a card's parameters.

    Temperature 0 is greedy. Whatever a checkpoint's ``generation_config.json`` holds is overruled: the penalty is 1.0
    and nothing is cut off unless the card says so, as with vLLM's ``--generation-config vllm``. Raises UserError: a
    parameter has no counterpart here, or a value of the wrong kind.
    """
    left = {name: value for name, value in parameters.items() if name not in PREFILL_PARAMETERS and value is not None}

    def number(name: str, default: float) -> float:
        value = left.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"card {card}: field parameters.{name}: expected a number, not {value!r}")
        return value

    most = int(number("max_tokens", number("max_completion_tokens", DEFAULT_MAX_TOKENS)))
    penalty = float(number("repetition_penalty", 1.0))
    arguments: dict[str, int | float | bool] = {"max_new_tokens": most, "repetition_penalty": penalty}
    temperature = number("temperature", 1.0)
    if temperature == 0:
        arguments["do_sample"] = False
        for name in _UNUSED_WHEN_GREEDY:
            left.pop(name, None)
    else:
        arguments.update(
            do_sample=True,
            temperature=float(temperature),
            top_p=float(number("top_p", 1.0)),
            top_k=max(0, int(number("top_k", 0))),  # A server writes "all of them" as -1, transformers as 0.
            min_p=float(number("min_p", 0.0)),
        )
    seed = int(number("seed", 0)) if "seed" in left else None
    generation = Generation(
        arguments=arguments,
        frequency_penalty=float(number("frequency_penalty", 0.0)),
        presence_penalty=float(number("presence_penalty", 0.0)),
        stop=_texts(left.pop("stop", [])),
        stop_token_ids=_ids(left.pop("stop_token_ids", [])),
        skip_special_tokens=bool(left.pop("skip_special_tokens", True)),
        seed=seed,
        alone=bool(arguments["do_sample"]) or penalty != 1.0,
    )
    if left:
        raise UserError(
            f"card {card}: field parameters: {', '.join(sorted(left))} can't be honoured by transformers in this "
            "process; serve the model with vLLM and give --base-url instead"
        )
    return generation


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(text) for text in (value if isinstance(value, list) else [value]))


def _ids(value: Json) -> tuple[int, ...]:
    return tuple(int(number) for number in value) if isinstance(value, list) else ()


def cut_at_stop(text: str, stop: tuple[str, ...]) -> str:
    places = [place for place in (text.find(ending) for ending in stop) if place >= 0]
    return text[: min(places)] if places else text


def written_penalties(generation: Generation, prompt_length: int) -> Any:
    """Processors of logits for ``generate``: none, or one that makes tokens already written less likely.

    A token written ``n`` times loses ``n * frequency_penalty + presence_penalty``, the prompt doesn't count.
    Source: the OpenAI API reference, "Frequency and presence penalties", which vLLM follows.
    """
    if not generation.frequency_penalty and not generation.presence_penalty:
        return None
    from transformers import LogitsProcessorList

    class _Written:
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            return penalised(input_ids[:, prompt_length:], scores, generation)

    return LogitsProcessorList([_Written()])


def penalised(written: Any, scores: Any, generation: Generation) -> Any:
    """Scores of the next token, shape (batch, vocabulary), less the penalties for ``written``, shape (batch, n)."""
    import torch

    counts = torch.zeros_like(scores).scatter_add_(1, written, torch.ones_like(written, dtype=scores.dtype))
    return scores - generation.frequency_penalty * counts - generation.presence_penalty * (counts > 0)


@dataclass(frozen=True)
class Prompt:
    """One question, ready for a processor; ``sizes`` is what the coordinates of the answer refer to. ``image`` has the
    size that the model sees, or its own where the card's rule leaves that to the checkpoint.
    """

    messages: list[dict[str, Any]]
    image: Image
    sizes: ImageSizes


def prepare_prompt(card: ChatCard, query: Query) -> Prompt:
    """Render the card's prompt for a step and read its screenshot. Blocks. Raises OSError: the screenshot can't be
    read. Raises ValueError: the model refuses a picture of this shape.
    """
    sizes = picture_sizes(query.screenshot.size, card.image)
    messages = conversation(render_messages(card, query, Picture(url_json=msgspec.Raw(b'""'), sizes=sizes)))
    image = opened(Path(query.screenshot.path).read_bytes(), sizes.original)
    return Prompt(messages=messages, image=as_seen(image, card.image, sizes.model), sizes=sizes)


def as_seen(image: Image, rule: ImageRule, seen: Size) -> Image:
    """A picture in the size that Qwen's processors give it; untouched where the rule leaves that to the checkpoint.
    ``seen`` is that size; it is prescribed where a card scales in proportion first.
    """
    if rule.resize == "none" or rule.factor is None:
        return image
    from qwen_vl_utils import process_vision_info
    from qwen_vl_utils.vision_process import SPATIAL_MERGE_SIZE

    bounds = {"min_pixels": rule.min_pixels, "max_pixels": rule.max_pixels}
    if rule.first is not None:
        bounds = {"resized_height": seen.height, "resized_width": seen.width}
    message = {"role": "user", "content": [{"type": "image", "image": image, **bounds}]}
    pictures: list[Image] = process_vision_info([message], image_patch_size=rule.factor // SPATIAL_MERGE_SIZE)[0]
    return pictures[0]


def conversation(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages in the form that chat templates take: every content a list of typed parts, pictures as places."""
    return [
        {
            "role": message.role,
            "content": [
                {"type": "text", "text": part.text} if isinstance(part, TextPart) else {"type": "image"}
                for part in message.parts
            ],
        }
        for message in messages
    ]


class LocalReply(Record, frozen=True, kw_only=True):
    """What the model wrote, and what it took; the time is that of the whole batch."""

    completion: Completion
    call: Call


def model_inputs(loaded: Loaded, card: ChatCard, prompts: Sequence[Prompt], texts: Sequence[str]) -> Any:
    return processor_inputs(loaded.processor, card, prompts, texts).to(loaded.model.device)


def processor_inputs(processor: Any, card: ChatCard, prompts: Sequence[Prompt], texts: Sequence[str]) -> Any:
    """Tokens and pixels for a batch, padded on the left, in main memory.

    The processor gets the card's limits, so that it leaves pictures of :func:`as_seen` as they are. Raises ModelFailed:
    the model would see another size than the coordinates are read in.
    """
    rule = card.image
    limits = {"images_kwargs": {"size": image_limits(rule)}} if rule.resize != "none" else {}
    patch_px = int(processor.image_processor.patch_size)
    try:
        inputs = processor(
            text=list(texts),
            images=[prompt.image for prompt in prompts],
            return_tensors="pt",
            text_kwargs={"padding": True, "padding_side": "left", "add_special_tokens": False},
            **limits,
        )
    except ValueError as error:
        raise ModelFailed(f"the processor refuses the picture or the prompt: {error}") from error
    for prompt, (_, down, across) in zip(prompts, inputs["image_grid_thw"].tolist(), strict=True):
        seen = (across * patch_px, down * patch_px)
        expected = (prompt.sizes.model.width, prompt.sizes.model.height)
        if rule.resize != "none" and seen != expected:
            raise ModelFailed(
                f"the processor makes the picture {seen[0]}x{seen[1]}, where the card's image rule gives "
                f"{expected[0]}x{expected[1]}: the rule doesn't fit this checkpoint"
            )
    return inputs


def image_limits(rule: ImageRule) -> dict[str, int | None]:
    """A card's limits in the words of the Qwen-VL image processors, which count pixels under the names of edges."""
    return {"shortest_edge": rule.min_pixels, "longest_edge": rule.max_pixels}


def render_prompt(processor: Any, card: ChatCard, prompt: Prompt) -> str:
    """The whole prompt as text, by the checkpoint's own template; with a prefill it ends within the reply."""
    prefilled = card.prefill is not None
    text = processor.apply_chat_template(
        prompt.messages, tokenize=False, add_generation_prompt=not prefilled, continue_final_message=prefilled
    )
    return str(text)


class Generator:
    def __init__(self, loaded: Loaded, card: ChatCard, generation: Generation) -> None:
        from transformers import GenerationConfig

        self._loaded = loaded
        self._card = card
        self._generation = generation
        self._ends = (*loaded.end_ids, *generation.stop_token_ids)
        self._config = GenerationConfig(
            **generation.arguments,
            eos_token_id=list(self._ends),
            pad_token_id=loaded.pad_id,
            stop_strings=list(generation.stop) or None,
        )

    def render(self, prompt: Prompt) -> str:
        return render_prompt(self._loaded.processor, self._card, prompt)

    def __call__(self, prompts: Sequence[Prompt]) -> list[LocalReply]:
        """Answer a batch. Raises ModelFailed: it can't be answered, or doesn't fit into memory."""
        import torch

        started = time.perf_counter()
        with failures_typed(), torch.inference_mode():
            inputs = model_inputs(self._loaded, self._card, prompts, [self.render(prompt) for prompt in prompts])
            if self._generation.seed is not None and self._config.do_sample:
                torch.manual_seed(self._generation.seed)
            length = inputs["input_ids"].shape[1]
            written = self._loaded.model.generate(
                **inputs,
                generation_config=self._config,
                logits_processor=written_penalties(self._generation, length),
                tokenizer=self._loaded.processor.tokenizer,
            )[:, length:].tolist()
            prompt_tokens = inputs["attention_mask"].sum(dim=1).tolist()
        seconds = time.perf_counter() - started
        return [self._reply(ids, count, seconds) for ids, count in zip(written, prompt_tokens, strict=True)]

    def _reply(self, ids: list[int], prompt_tokens: int, seconds: float) -> LocalReply:
        completion = self.completion(ids, prompt_tokens)
        return LocalReply(
            completion=completion, call=Call(seconds=seconds, usage=completion.usage, model=self._card.model)
        )

    def completion(self, ids: list[int], prompt_tokens: int = 0) -> Completion:
        """What the tokens of a reply say, and why it ends: read as those of an answer are.

        Args:
            ids: What the model wrote; from its first end token on, or padding, they don't count.
            prompt_tokens: How many came before; only for the usage.
        """
        # A row that ended early is filled up with padding; after a stop string no end token stands before it.
        ends = {*self._ends, self._loaded.pad_id} if self._generation.stop else set(self._ends)
        last = next((place for place, number in enumerate(ids) if number in ends), len(ids))
        spoken = last < len(ids) and ids[last] in self._ends
        whole = self._text(ids[:last])
        text = cut_at_stop(whole, self._generation.stop)
        stopped = last < len(ids) or text != whole
        return Completion(
            text=text,
            finish_reason="stop" if stopped else "length",
            refused=False,
            model=self._card.model,
            usage=Usage(input_tokens=prompt_tokens, output_tokens=last + spoken),
        )

    def _text(self, ids: list[int]) -> str:
        """The tokens as text, without a character that was begun and not finished at the very end, as vLLM has it."""
        for end in range(len(ids), 0, -1):
            text = self._loaded.processor.tokenizer.decode(
                ids[:end],
                skip_special_tokens=self._generation.skip_special_tokens,
                clean_up_tokenization_spaces=False,
            )
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                return str(text)
        return ""
