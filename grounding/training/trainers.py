"""TRL's trainers of a stage: SFT and GRPO of a grounder, SFT and DPO of a language model.

A card's prompt is rendered by the evaluation's own code. TRL renders prompts itself, by the processor's chat template
and always with the beginning of a reply after them. So the finished text is cut at the picture's place and given to it
as the parts of one message, and the processor that it works with has a template that prints these parts as they are.
"""

import copy
import functools
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.cards import ChatCard, GrounderCard
from grounding.errors import UserError
from grounding.grounders.hf.generation import (
    Generator,
    Prompt,
    generation_for,
    image_limits,
    prepare_prompt,
    processor_inputs,
    render_prompt,
)
from grounding.grounders.hf.loading import HfOptions, Loaded, load
from grounding.llm.chat import ChatOptions, request_parameters
from grounding.records import Query
from grounding.training.examples import GrounderExample, gold_answer, reward
from grounding.training.recipes import LoraRule, Precision, check_batches
from grounding.training.records import EXAMPLES, HELD_OUT, TextExample, TrainStage, read_lines

EXAMPLE = "example"  # The column with an example's place in the list; rewards find by it what was right.
IGNORED = -100  # The label of a token that is not learned.
VISION = "visual"
"""The part of a module's name that tells the vision tower, with its projection, from the language model."""


def build_trainer(stage: TrainStage, folder: Path, arguments: dict[str, Any]) -> Any:
    """The trainer of a stage, from its folder. Whatever it tunes lies in float32. Raises UserError: a file of the stage
    or the checkpoint is missing or damaged, or the batches don't come out even.
    """
    make = _text_trainer if stage.card is None else _sft_trainer if stage.grpo is None else _grpo_trainer
    trainer = make(stage, folder, arguments)
    if trainer.args.deepspeed_plugin is None:
        raise_precision(trainer.model)
    only_default(trainer.model)
    return trainer


def raise_precision(model: Any) -> None:
    """Keep everything that is tuned in float32: in bfloat16 a norm's weight of 1 can't take a step of 3e-4."""
    import torch

    for weights in model.parameters():
        if weights.requires_grad and weights.dtype in (torch.bfloat16, torch.float16):
            weights.data = weights.data.float()


def only_default(model: Any) -> None:
    """Let an adapted model save the adapter that is tuned, and not the copy that TRL compares it with. With a second
    one in a folder of its own, transformers would not read the first back from a checkpoint.
    """
    if len(getattr(model, "peft_config", {})) > 1:
        model.save_pretrained = functools.partial(model.save_pretrained, selected_adapters=["default"])


def lora_config(rule: LoraRule) -> Any:
    """PEFT's configuration; of a vision model only the language model gets adapters."""
    from peft import LoraConfig

    return LoraConfig(
        r=rule.rank,
        lora_alpha=rule.alpha,
        lora_dropout=rule.dropout,
        target_modules=rule.targets if isinstance(rule.targets, str) else list(rule.targets),
        exclude_modules=rf"(.*\.)?{VISION}\..*",
        modules_to_save=list(rule.also_train) or None,
        task_type="CAUSAL_LM",
    )


def load_tokenizer(model: str) -> Any:
    """The tokenizer of a model's folder, with a token to pad with. Raises UserError: there is none that can be loaded,
    or it has no end of text.
    """
    from transformers import AutoTokenizer

    tokenizer = _pretrained(AutoTokenizer, model, "tokenizer")
    if tokenizer.eos_token is None:
        raise UserError(f"--model {model}: its tokenizer has no end of text (eos_token), which training needs")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(model: str, precision: Precision) -> Any:
    """The causal language model of a folder, on the CPU. Raises UserError: there is none that can be loaded."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    return _pretrained(AutoModelForCausalLM, model, "causal language model", dtype=getattr(torch, precision.dtype))


def _pretrained(auto: Any, model: str, what: str, **more: Any) -> Any:
    try:
        return auto.from_pretrained(model, **more)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"--model {model}: no {what} that can be loaded: {str(error)[:300]}") from None


def _text_trainer(stage: TrainStage, folder: Path, arguments: dict[str, Any]) -> Any:
    """Prompt and completion with the loss on the completion alone; or DPO, whose reference is the model before it."""
    from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

    dpo = stage.method == "dpo"
    own: dict[str, Any] = {"beta": stage.beta} if dpo else {"completion_only_loss": True}
    settings = (DPOConfig if dpo else SFTConfig)(**arguments, **own, max_length=stage.max_tokens)

    def rows(name: str) -> Any:
        found = read_lines(folder / name, TextExample)
        if dpo:
            return _dataset([{"prompt": one.prompt, "chosen": one.chosen, "rejected": one.rejected} for one in found])
        return _dataset([{"prompt": one.prompt, "completion": one.chosen} for one in found])

    frozen = stage.lora is not None or settings.deepspeed_plugin is not None
    return (DPOTrainer if dpo else SFTTrainer)(
        model=load_model(stage.model, stage.precision if frozen else Precision(dtype="float32")),
        args=settings,
        train_dataset=rows(EXAMPLES),
        eval_dataset=None if stage.held_out is None else rows(HELD_OUT),
        processing_class=load_tokenizer(stage.model),
        peft_config=None if stage.lora is None else lora_config(stage.lora),
    )


def load_policy(stage: TrainStage, *, sharded: bool = False) -> tuple[Loaded, Any, Any]:
    """Load the checkpoint that is tuned, in main memory; the trainer moves it.

    Frozen weights lie in ``precision.dtype``. Weights that are tuned whole lie in float32 (a step of 1e-6 is less than
    half a unit of bfloat16 for almost every weight and would be lost) and are computed with in ``precision.dtype``;
    with ``sharded`` the framework keeps that copy itself, and they lie in ``precision.dtype``.

    Returns:
        What was loaded, the model with what is to be tuned set free, and the configuration of a fresh adapter.

    Raises UserError: the checkpoint is not the card's, incomplete or damaged, or it or the adapter doesn't fit.
    """
    import torch

    dtype = stage.precision.dtype if stage.lora is not None or sharded else "float32"
    assert stage.card is not None, "a grounder's stage has a card"
    # An adapter to go on from is put on here, so that it can be tuned.
    bare = msgspec.structs.replace(stage.card, adapter=None)
    loaded = load(Path(stage.model), bare, HfOptions(dtype=dtype, device="cpu"))
    model = loaded.model
    # Modules that are stored whole are named by their ends, and may be of the tower.
    if not (stage.vision if stage.lora is None else stage.lora.also_train):
        for name, module in model.named_modules():
            if name.rsplit(".", 1)[-1] == VISION:
                # Gradient checkpointing makes every embedding's output require gradients: a frozen tower would be
                # kept and computed again in every backward pass, for gradients that nothing takes.
                module.forward = torch.no_grad()(module.forward)
    if stage.adapter:
        from peft import PeftModel
        from safetensors import SafetensorError

        try:
            return loaded, PeftModel.from_pretrained(model, stage.adapter, is_trainable=True), None
        except (SafetensorError, OSError, ValueError, RuntimeError, KeyError) as error:
            raise UserError(f"{stage.adapter}: the adapter to go on from can't be put on the model: {error}") from error
    if stage.lora is not None:
        return loaded, model, lora_config(stage.lora)
    for name, weights in model.named_parameters():
        weights.requires_grad_(stage.vision or VISION not in name.split("."))
    return loaded, model, None


_TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}{% if part['type'] == 'image' %}IMAGE"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
)


def verbatim_processor(processor: Any, card: ChatCard) -> Any:
    """A copy of a checkpoint's processor for TRL: its template prints text parts and pictures' tokens as they stand.

    It pads on the left and has the card's image limits. What it saves is the checkpoint's own processor, so that a
    folder of tuned weights is a checkpoint like the first.
    """
    own = copy.deepcopy(processor)
    own.chat_template = own.tokenizer.chat_template = _TEMPLATE.replace("IMAGE", processor.image_token)
    own.tokenizer.padding_side = "left"
    if own.tokenizer.pad_token is None:
        own.tokenizer.pad_token = own.tokenizer.eos_token
    if card.image.resize != "none":
        own.image_processor.size = type(own.image_processor.size)(**image_limits(card.image))
    own.save_pretrained = processor.save_pretrained
    return own


def verbatim_message(text: str, image_token: str) -> list[dict[str, Any]]:
    """A rendered prompt as the one user message that the template above prints as exactly this text. Raises ValueError:
    the text has not exactly one place for a picture.
    """
    pieces = text.split(image_token)
    if len(pieces) != 2:
        raise ValueError(f"the prompt has {len(pieces) - 1} places for a picture ({image_token}), expected one")
    parts = [{"type": "text", "text": pieces[0]}, {"type": "image"}, {"type": "text", "text": pieces[1]}]
    return [{"role": "user", "content": parts}]


def rendered(processor: Any, card: ChatCard, query: Query) -> tuple[Prompt, str]:
    """One question as the evaluation asks it: the picture in memory, and the whole prompt as text. Blocks.

    The picture has the size that the model sees: TRL has no way to tell vLLM of the card's limits, and the processor
    leaves a picture of that size as it is.

    Raises UserError: the screenshot can't be read.
    """
    try:
        prompt = prepare_prompt(card, query)
    except (OSError, ValueError) as error:
        raise UserError(f"step {query.step_id}: {query.screenshot.path}: {error}") from error
    return prompt, render_prompt(processor, card, prompt)


def _dataset(rows: Sequence[dict[str, Any]]) -> Any:
    """A ``datasets.Dataset``, by the library's name, since a folder called so may lie in the working directory."""
    return importlib.import_module("datasets").Dataset.from_list(list(rows)) if rows else None


def _numbers(places: range) -> Any:
    return _dataset([{EXAMPLE: place} for place in places])


def _asked(
    stage: TrainStage, folder: Path
) -> tuple[GrounderCard, tuple[GrounderExample, ...], tuple[GrounderExample, ...]]:
    assert stage.card is not None, "a grounder's stage has a card"
    return stage.card, read_lines(folder / EXAMPLES, GrounderExample), read_lines(folder / HELD_OUT, GrounderExample)


Supervised = tuple[GrounderExample, str]  # An example and the text that the model should write.


def supervised(card: GrounderCard, examples: Sequence[GrounderExample]) -> list[Supervised]:
    """The examples that have a gold answer in the card's own numbers; the others are left out. Raises UserError: the
    card doesn't say how its model writes an answer.
    """
    found = ((example, gold_answer(card, example)) for example in examples)
    return [(example, text) for example, text in found if text is not None]


def gold_batches(gold: Sequence[Supervised], card: GrounderCard, loaded: Loaded) -> Callable[..., dict[str, Any]]:
    """What makes rows of numbers to what the model takes in: prompt, picture, gold answer and labels.

    The prompt's tokens and pixels are those of the evaluation, made by the same function. The answer's tokens follow
    as if the model had written them, with the token that ends a reply; only they are learned. A batch is padded on the
    left before the prompts and on the right after the answers. It raises UserError where a screenshot can't be read.
    """
    import torch

    processor, own = loaded.processor, loaded.processor.tokenizer.eos_token_id
    end_id, pad_id = own if own in loaded.end_ids else loaded.end_ids[0], loaded.pad_id

    def batch(rows: Sequence[dict[str, int]]) -> dict[str, Any]:
        chosen = [gold[row[EXAMPLE]] for row in rows]
        asked = [rendered(processor, card, example.query) for example, _ in chosen]
        prompts, texts = zip(*asked, strict=True)
        made = dict(processor_inputs(processor, card, prompts, texts))
        answers = [[*processor.tokenizer(text, add_special_tokens=False)["input_ids"], end_id] for _, text in chosen]
        longest = max(map(len, answers))
        filled = torch.tensor([ids + [pad_id] * (longest - len(ids)) for ids in answers])
        written = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in answers])
        learned = filled.masked_fill(written == 0, IGNORED)
        made["labels"] = torch.cat([torch.full_like(made["input_ids"], IGNORED), learned], dim=1)
        added = {"input_ids": filled, "attention_mask": written, "mm_token_type_ids": torch.zeros_like(filled)}
        return made | {name: torch.cat([made[name], more], dim=1) for name, more in added.items() if name in made}

    return batch


def _sft_trainer(stage: TrainStage, folder: Path, arguments: dict[str, Any]) -> Any:
    from trl import SFTConfig, SFTTrainer

    card, examples, held_out = _asked(stage, folder)
    gold, checked = supervised(card, examples), supervised(card, held_out)
    both = [*gold, *checked]
    skipped: dict[str, Any] = {"dataset_kwargs": {"skip_prepare_dataset": True}, "prediction_loss_only": True}
    settings = SFTConfig(**arguments, max_length=None, **skipped)
    loaded, model, peft = load_policy(stage, sharded=settings.deepspeed_plugin is not None)
    return SFTTrainer(
        model=model,
        args=settings,
        data_collator=gold_batches(both, card, loaded),
        train_dataset=_numbers(range(len(gold))),
        eval_dataset=_numbers(range(len(gold), len(both))) if stage.held_out is not None else None,
        processing_class=verbatim_processor(loaded.processor, card),
        peft_config=peft,
    )


_READ = ("skip_special_tokens", "stop_token_ids", "stop", "max_tokens", "max_completion_tokens")
"""The parameters that say how a card's replies end and are turned into text; how tokens are chosen is the recipe's."""


def _grpo_trainer(stage: TrainStage, folder: Path, arguments: dict[str, Any]) -> Any:
    from trl import GRPOConfig, GRPOTrainer

    card, examples, held_out = _asked(stage, folder)
    rule = stage.grpo
    assert rule is not None, "a stage of GRPO has its rule"
    both, parameters = (*examples, *held_out), request_parameters(card, ChatOptions())
    reading = generation_for({name: value for name, value in parameters.items() if name in _READ}, card=card.name)
    if reading.stop:
        raise UserError(
            f"card {card.name}: field parameters.stop: replies that end at a text can't be trained by GRPO; use "
            "stop_token_ids"
        )
    own: dict[str, Any] = {
        "num_generations": rule.generations,
        "num_generations_eval": None if stage.held_out is None else stage.held_out.generations,
        "max_completion_length": rule.max_new_tokens or int(reading.arguments["max_new_tokens"]),
        # Whatever the card asks with: a policy learns from its own probabilities.
        "repetition_penalty": 1.0,
        # What the model wrote, as a table in checkpoints/completions for each step.
        "log_completions": True,
        "num_completions_to_print": 0,
    }
    if rule.generate_at_once is not None:
        own["steps_per_generation"] = rule.generate_at_once // rule.optimisation.batch
    settings = GRPOConfig(**{**arguments, **own, **rule.trl})
    # Here once more, since only the file of accelerate's may say on how many devices.
    check_batches(rule, prompts=len(examples), processes=settings.world_size)
    loaded, model, peft = load_policy(stage, sharded=settings.deepspeed_plugin is not None)
    loaded.model.generation_config.eos_token_id = [*loaded.end_ids, *reading.stop_token_ids]
    reader = Generator(loaded, card, reading)

    def row(number: int) -> dict[str, Any]:
        prompt, text = rendered(loaded.processor, card, both[number].query)
        said = verbatim_message(text, loaded.processor.image_token)
        return {EXAMPLE: number, "prompt": said, "image": prompt.image}

    def batch(rows: Sequence[dict[str, int]]) -> list[dict[str, Any]]:
        """A prompt that stands in a batch several times is read once."""
        made = {number: row(number) for number in dict.fromkeys(one[EXAMPLE] for one in rows)}
        return [dict(made[one[EXAMPLE]]) for one in rows]

    def hit(*, completion_ids: list[list[int]], example: list[int], log_extra: Any, **_more: Any) -> list[float]:
        """The rewards of a batch of replies, as TRL takes them; the figures are named after this function."""
        log_extra("step_id", [both[number].step.id for number in example])
        texts = [reader.completion(ids).text for ids in completion_ids]
        return [reward(both[number], card, text) for number, text in zip(example, texts, strict=True)]

    trainer = GRPOTrainer(
        model=model,
        args=settings,
        reward_funcs=[hit],
        train_dataset=_numbers(range(len(examples))),
        eval_dataset=_numbers(range(len(examples), len(both))) if stage.held_out is not None else None,
        processing_class=verbatim_processor(loaded.processor, card),
        peft_config=peft,
    )
    # TRL's own passes rows on as they are.
    trainer.data_collator = batch
    return trainer
