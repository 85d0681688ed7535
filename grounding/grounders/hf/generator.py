"""A batch of prompts to a batch of replies by transformers' ``generate``. Blocks; runs in the worker thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from grounding.cards import ChatCard, ImageRule
from grounding.grounders.hf.generation import Generation, cut_at_stop
from grounding.grounders.hf.loading import Loaded, failures_typed
from grounding.grounders.hf.options import ModelFailed
from grounding.grounders.hf.penalties import written_penalties
from grounding.grounders.hf.prompts import Prompt
from grounding.records import Call, Record, Usage
from grounding.wire import Completion


class Reply(Record, frozen=True, kw_only=True):
    """What the model wrote, and what it took; the time is that of the whole batch."""

    completion: Completion
    call: Call


def model_inputs(loaded: Loaded, card: ChatCard, prompts: Sequence[Prompt], texts: Sequence[str]) -> Any:
    """Tokens and pixels for a batch, padded on the left, on the model's device.

    Raises:
        ModelFailed: the model would see another size than the coordinates are read in.
    """
    return processor_inputs(loaded.processor, card, prompts, texts).to(loaded.model.device)


def processor_inputs(processor: Any, card: ChatCard, prompts: Sequence[Prompt], texts: Sequence[str]) -> Any:
    """The same as the processor gives them, in main memory.

    The processor gets the card's limits, so that a picture that was resized here is left as it is.

    Raises:
        ModelFailed: the model would see another size than the coordinates are read in.
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
    """One model with the parameters of one run."""

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
        """The whole prompt as text, by the checkpoint's own template."""
        return render_prompt(self._loaded.processor, self._card, prompt)

    def __call__(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Answer a batch.

        Raises:
            ModelFailed: it can't be answered, or doesn't fit into memory.
        """
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

    def _reply(self, ids: list[int], prompt_tokens: int, seconds: float) -> Reply:
        completion = self.completion(ids, prompt_tokens)
        return Reply(completion=completion, call=Call(seconds=seconds, usage=completion.usage, model=self._card.model))

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
