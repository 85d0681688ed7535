"""Group-relative policy optimisation of a grounder: TRL's GRPOTrainer, the card's prompt, the toolkit's own reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grounding.cards import GrounderCard
from grounding.chat import ChatOptions, request_parameters
from grounding.errors import UserError
from grounding.grounders.hf.generation import Generation, generation_for
from grounding.grounders.hf.generator import Generator
from grounding.training.grounder.dataset import EXAMPLE, PromptRows, check_marks, lazy_rows
from grounding.training.grounder.policy import load_policy, only_default, raise_precision, tuned
from grounding.training.grounder.recipe import check_batches, check_held_out
from grounding.training.grounder.records import GrounderExample, GrounderStage, GrpoRule, HeldOutRule
from grounding.training.grounder.rewards import grade
from grounding.training.grounder.verbatim import verbatim_processor
from grounding.training.grounder.writers import longest_prompt, vllm_mode
from grounding.training.loop.records import StageContext
from grounding.training.records import SampleLine

KEPT_SAMPLES = 8
"""How many replies of one step are handed over; those of one prompt follow each other."""

REPLY, POINT = "reply", "point"
"""The columns in which a reply as it is read, and the place that it names, are kept beside TRL's own."""

_READ = ("skip_special_tokens", "stop_token_ids", "stop", "max_tokens", "max_completion_tokens")


def reading_rule(card: GrounderCard) -> Generation:
    """How a card's replies end and are turned into text; how tokens are chosen is the recipe's.

    Raises:
        UserError: the card ends replies at a text, where training would go on.
    """
    parameters = request_parameters(card, ChatOptions())
    generation = generation_for({name: value for name, value in parameters.items() if name in _READ}, card=card.name)
    if generation.stop:
        raise UserError(
            f"card {card.name}: field parameters.stop: replies that end at a text can't be trained by GRPO; use "
            "stop_token_ids"
        )
    return generation


class TermReward:
    """One term of the reward as TRL takes it: a function of a batch of replies."""

    def __init__(
        self,
        kind: str,
        examples: Sequence[GrounderExample],
        card: GrounderCard,
        rule: GrpoRule,
        read: Callable[[list[int]], str],
        *,
        first: bool,
    ) -> None:
        self.__name__ = kind
        self._examples, self._card, self._rule, self._read, self._first = examples, card, rule, read, first

    def __call__(self, *, completion_ids: list[list[int]], example: list[int], **more: Any) -> list[float]:
        """The term's values, before weights, from 0 to 1."""
        texts = [self._read(ids) for ids in completion_ids]
        asked = [self._examples[number] for number in example]
        graded = [grade(each, self._card, self._rule, text) for each, text in zip(asked, texts, strict=True)]
        if self._first:
            more["log_extra"](EXAMPLE, [each.step.id for each in asked])
            more["log_extra"](REPLY, texts)
            more["log_extra"](POINT, [each.point for each in graded])
        return [each.terms[self.__name__] for each in graded]


def grpo_arguments(
    rule: GrpoRule,
    *,
    max_new_tokens: int,
    held_out: HeldOutRule | None,
    vllm_tokens: int | None = None,
    resized_there: bool = False,
) -> dict[str, Any]:
    """The arguments of TRL's GRPOConfig that a rule decides.

    There is no repetition penalty, whatever the card asks with: a policy learns from its own probabilities.

    Args:
        rule: The rule.
        max_new_tokens: How long a reply may be.
        held_out: How held-out examples are measured, if at all.
        vllm_tokens: The window of a vLLM in this process; None for the model's own.
        resized_there: As for ``vllm_mode``.

    Raises:
        UserError: vLLM is asked for and can't be had.
    """
    arguments: dict[str, Any] = {
        "num_generations": rule.generations,
        "max_completion_length": max_new_tokens,
        "temperature": rule.temperature,
        "top_p": rule.top_p,
        "top_k": rule.top_k,
        "repetition_penalty": 1.0,
        "beta": rule.beta,
        "epsilon": rule.epsilon,
        "epsilon_high": rule.epsilon_high,
        "num_iterations": rule.iterations,
        "loss_type": rule.loss,
        "scale_rewards": rule.scale_rewards,
        "mask_truncated_completions": rule.mask_truncated,
        "reward_weights": [term.weight for term in rule.rewards],
        "log_completions": False,
    }
    if rule.generate_at_once is not None:
        arguments["steps_per_generation"] = rule.generate_at_once // rule.optimisation.batch
    if held_out is not None:
        arguments |= {"per_device_eval_batch_size": held_out.batch, "num_generations_eval": held_out.generations}
    mode = vllm_mode(rule, resized_there=resized_there)
    if mode is not None:
        arguments |= {"use_vllm": True, "vllm_mode": mode}
        if mode == "server":
            arguments["vllm_server_base_url"] = rule.vllm_server
        else:
            arguments["vllm_gpu_memory_utilization"] = rule.vllm_memory
            arguments["vllm_tensor_parallel_size"] = rule.vllm_tensor_parallel
            arguments["vllm_max_model_length"] = vllm_tokens
    return arguments


def build_grpo(
    context: StageContext,
    stage: GrounderStage,
    examples: Sequence[GrounderExample],
    held_out: Sequence[GrounderExample],
) -> Any:
    """TRL's trainer of a stage of GRPO.

    Raises:
        UserError: the card, checkpoint or batches don't allow it.
    """
    from trl import GRPOConfig

    rule, card = stage.grpo, stage.card
    if rule is None:
        raise UserError(f"stage {stage.name}: has no rule for GRPO")
    reading = reading_rule(card)
    max_new_tokens = rule.max_new_tokens or int(reading.arguments["max_new_tokens"])
    check_batches(rule, prompts=len(examples), processes=context.processes)
    measured = stage.held_out if held_out else None
    if measured is not None:
        check_held_out(measured, processes=context.processes)
    both = (*examples, *held_out)
    longest = longest_prompt(card, both)
    own = grpo_arguments(
        rule,
        max_new_tokens=max_new_tokens,
        held_out=measured,
        vllm_tokens=None if longest is None else longest + max_new_tokens,
        resized_there=card.image.resize == "server",
    )
    arguments = GRPOConfig(**{**context.arguments, **own, **({} if measured else {"eval_strategy": "no"})})
    loaded = load_policy(stage, sharded=arguments.deepspeed_plugin is not None)
    check_marks(both, loaded.processor.image_token)
    loaded.model.generation_config.eos_token_id = [*loaded.end_ids, *reading.stop_token_ids]
    reader = Generator(loaded, card, reading)
    model, peft = tuned(stage, loaded.model)
    rows = PromptRows(both, card, loaded.processor)
    trainer = _trainer_type()(
        model=model,
        args=arguments,
        reward_funcs=[
            TermReward(term.kind, both, card, rule, lambda ids: reader.completion(ids).text, first=place == 0)
            for place, term in enumerate(rule.rewards)
        ],
        train_dataset=lazy_rows(range(len(examples)), rows),
        eval_dataset=lazy_rows(range(len(examples), len(both)), rows) if measured else None,
        processing_class=verbatim_processor(loaded.processor, card),
        peft_config=peft,
    )
    trainer.hand_over = context.sample_sink
    only_default(trainer.model)
    if arguments.deepspeed_plugin is None:
        raise_precision(trainer.model)
    return trainer


def _trainer_type() -> Any:
    from trl import GRPOTrainer

    class GrounderGrpoTrainer(GRPOTrainer):  # type: ignore[misc, unused-ignore]
        """Hands over what the model wrote at a step, with what it was worth."""

        hand_over: Callable[[SampleLine], None] | None = None
        _handed: tuple[bool, int] | None = None

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            made = super()._generate_and_score_completions(inputs)
            # Of a step with several rounds of replies, or a measurement with several batches, the first is enough.
            now = (self.model.training, self.state.global_step)
            if self.hand_over is not None and self.accelerator.is_main_process and now != self._handed:
                wrote = len(inputs) * self.accelerator.num_processes
                for line in samples(self._logs, self.reward_weights.tolist(), step=now[1], wrote=wrote):
                    self.hand_over(line)
            self._handed = now
            return made

    return GrounderGrpoTrainer


def samples(logs: dict[str, Any], weights: Sequence[float], *, step: int, wrote: int) -> tuple[SampleLine, ...]:
    """The first replies of the last round as lines, from what TRL's trainer keeps (its ``_logs``).

    Args:
        logs: Lists of what was written last, of limited length, the newest at the end.
        weights: Those of the terms, in their order.
        step: The optimiser's steps so far.
        wrote: How many replies the round had.
    """
    extra = logs["extra"]
    examples, texts, points, advantages = (
        list(kept)[-wrote:] for kept in (extra[EXAMPLE], extra[REPLY], extra[POINT], logs["advantages"])
    )
    rewards = {name: list(kept)[-wrote:] for name, kept in logs["rewards"].items()}
    lines = []
    for place in range(min(KEPT_SAMPLES, len(texts))):
        terms = {name: float(values[place]) for name, values in rewards.items()}
        lines.append(
            SampleLine(
                step=step,
                example=examples[place],
                text=texts[place],
                reward=sum(weight * value for weight, value in zip(weights, terms.values(), strict=True)),
                rewards=terms,
                advantage=float(advantages[place]),
                point=points[place],
            )
        )
    return tuple(lines)
