"""Supervised tuning: the card's prompt, and after it the gold answer in the card's own form. TRL's SFTTrainer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.grounders.hf.generator import processor_inputs
from grounding.grounders.hf.loading import Loaded
from grounding.training.grounder.dataset import EXAMPLE, check_marks, numbers
from grounding.training.grounder.gold import gold_answer
from grounding.training.grounder.policy import load_policy, raise_precision, tuned
from grounding.training.grounder.records import GrounderExample, GrounderStage
from grounding.training.grounder.verbatim import rendered, verbatim_processor
from grounding.training.loop.records import StageContext

IGNORED = -100
"""The label of a token that is not learned."""


@dataclass(frozen=True)
class Supervised:
    """An example and the text that the model should write."""

    example: GrounderExample
    text: str


def supervised(card: GrounderCard, examples: Sequence[GrounderExample]) -> tuple[Supervised, ...]:
    """The examples that have a gold answer in the card's own numbers; the others are left out.

    Raises:
        UserError: the card doesn't say how its model writes an answer.
    """
    found = ((example, gold_answer(card, example)) for example in examples)
    return tuple(Supervised(example=example, text=text) for example, text in found if text is not None)


class GoldBatches:
    """Rows of numbers to what the model takes in: prompt, picture, gold answer and labels.

    The prompt's tokens and pixels are those of the evaluation, made by the same function. The answer's tokens follow
    as if the model had written them, with the token that ends a reply; only they are learned.
    """

    def __init__(self, gold: Sequence[Supervised], card: GrounderCard, loaded: Loaded) -> None:
        self._gold, self._card, self._processor = gold, card, loaded.processor
        own = loaded.processor.tokenizer.eos_token_id
        self._end_id = own if own in loaded.end_ids else loaded.end_ids[0]
        self._pad_id = loaded.pad_id

    def __call__(self, rows: Sequence[dict[str, int]]) -> dict[str, Any]:
        """A batch, padded on the left before the prompts and on the right after the answers.

        Raises:
            UserError: a screenshot can't be read.
        """
        import torch

        gold = [self._gold[row[EXAMPLE]] for row in rows]
        asked = [rendered(self._processor, self._card, each.example.query) for each in gold]
        inputs = processor_inputs(
            self._processor, self._card, [prompt for prompt, _ in asked], [text for _, text in asked]
        )
        answers = [self.answer_ids(each.text) for each in gold]
        longest = max(map(len, answers))
        filled = torch.tensor([ids + [self._pad_id] * (longest - len(ids)) for ids in answers])
        written = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in answers])
        prompts = inputs["input_ids"]
        batch = dict(inputs)
        batch["input_ids"] = torch.cat([prompts, filled], dim=1)
        batch["attention_mask"] = torch.cat([inputs["attention_mask"], written], dim=1)
        batch["labels"] = torch.cat(
            [torch.full_like(prompts, IGNORED), filled.masked_fill(written == 0, IGNORED)], dim=1
        )
        if "mm_token_type_ids" in inputs:
            batch["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(filled)], dim=1)
        return batch

    def answer_ids(self, text: str) -> list[int]:
        """The tokens of an answer and the one that ends it."""
        return [*self._processor.tokenizer(text, add_special_tokens=False)["input_ids"], self._end_id]


def build_sft(
    context: StageContext,
    stage: GrounderStage,
    examples: Sequence[GrounderExample],
    held_out: Sequence[GrounderExample],
) -> Any:
    """TRL's trainer of a supervised stage.

    Raises:
        UserError: the card or checkpoint doesn't allow it, or there is nothing to learn from.
    """
    from trl import SFTConfig, SFTTrainer

    if stage.sft is None:
        raise UserError(f"stage {stage.name}: has no rule for supervised tuning")
    gold, checked = supervised(stage.card, examples), supervised(stage.card, held_out)
    if not gold:
        raise UserError(f"stage {stage.name}: none of the {len(examples)} examples has a gold answer that is a hit")
    more: dict[str, Any] = {}
    if stage.held_out is not None and checked:
        more["per_device_eval_batch_size"] = stage.held_out.batch
    else:
        more["eval_strategy"] = "no"
    arguments = SFTConfig(
        **{
            **context.arguments,
            **more,
            "max_length": None,
            "dataset_kwargs": {"skip_prepare_dataset": True},
            "prediction_loss_only": True,
        }
    )
    loaded = load_policy(stage, sharded=arguments.deepspeed_plugin is not None)
    check_marks([each.example for each in (*gold, *checked)], loaded.processor.image_token)
    model, peft = tuned(stage, loaded.model)
    trainer = SFTTrainer(
        model=model,
        args=arguments,
        data_collator=GoldBatches((*gold, *checked), stage.card, loaded),
        train_dataset=numbers(range(len(gold))),
        eval_dataset=numbers(range(len(gold), len(gold) + len(checked)))
        if "per_device_eval_batch_size" in more
        else None,
        processing_class=verbatim_processor(loaded.processor, stage.card),
        peft_config=peft,
    )
    if arguments.deepspeed_plugin is None:
        raise_precision(trainer.model)
    return trainer
