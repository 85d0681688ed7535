"""Builders of the smallest trainers there are: a Llama of two layers that writes letters.

At the top level of a module, so that workers in other processes find them.
"""

from __future__ import annotations

import os
import signal
import string
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grounding.training.loop.records import StageContext, StagePlan
from grounding.training.records import Optimisation, Precision, SampleLine, Saving

WORDS = tuple(f"{a}{b}" for a in "abc" for b in "efg")[:8]


def make_plan(folder: Path, method: str, **changed: Any) -> StagePlan:
    """A stage of a few steps on the CPU, in one thread."""
    from typing import cast

    values: dict[str, Any] = {
        "folder": str(folder),
        "name": method,
        "method": cast(Any, method),
        "optimisation": Optimisation(learning_rate=1e-2, epochs=2.0, batch=2, accumulation=2, schedule="linear"),
        "saving": Saving(every_steps=1, every_minutes=None, keep=2),
        "precision": Precision(dtype="float32", gradient_checkpointing=False),
        "seed": 3,
        "examples": len(WORDS),
        "device": "cpu",
    }
    return StagePlan(**{**values, **changed})


def tokenizer() -> Any:
    """One token for each letter."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = ["<pad>", "<s>", "</s>", *string.ascii_lowercase, " "]
    made = Tokenizer(models.WordLevel({letter: number for number, letter in enumerate(letters)}, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>")


def model(dtype: str = "float32") -> Any:
    """A Llama of two layers of random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        attention_dropout=0.1,
    )
    return LlamaForCausalLM(config).to(getattr(torch, dtype))


def lora(**more: Any) -> Any:
    """Adapters of rank 4 that forget some of their inputs, so that random numbers matter."""
    from peft import LoraConfig

    settings = {"lora_dropout": 0.1, **more}
    return LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM", **settings)


def _await(path: Path, patience_s: float = 100) -> None:
    until = time.monotonic() + patience_s
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{path} did not come")
        time.sleep(0.02)


def _slowed(trainer: Any, context: StageContext) -> Any:
    """A trainer that waits after each step where the environment asks for it, so that a test can hit it there."""
    from transformers import TrainerCallback

    seconds = float(os.environ.get("TEST_STEP_SECONDS", "0"))

    class Slow(TrainerCallback):
        def on_step_begin(self, _args: Any, _state: Any, _control: Any, **_more: Any) -> None:
            time.sleep(seconds)

        def on_step_end(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
            _hit("TEST_KILL_AT", state, signal.SIGKILL)
            _hit("TEST_INTERRUPT_AT", state, signal.SIGTERM)
            if os.environ.get("TEST_STOP_AT") == str(state.global_step) and context.process == 0:
                os.kill(int(os.environ["TEST_PID"]), signal.SIGTERM)
                _await(context.folder / "stop")

        def on_save(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
            # The trainer's own files are written, the loop's mark is not.
            _hit("TEST_KILL_IN_SAVE_AT", state, signal.SIGKILL)

    def _hit(variable: str, state: Any, number: signal.Signals) -> None:
        """Sent by itself: as hard as by anybody else, but at a place that can be said."""
        if os.environ.get(variable) == str(state.global_step) and context.process == 0:
            os.kill(os.getpid(), number)

    trainer.add_callback(Slow())
    return trainer


def build_sft(context: StageContext, dtype: str = "float32", adapters: bool = True, forgets: float = 0.1) -> Any:
    """Supervised: write a pair of letters, then the pair again."""
    from trl import SFTConfig, SFTTrainer

    from datasets import Dataset

    rows = Dataset.from_list([{"prompt": word, "completion": word} for word in WORDS])
    trainer = SFTTrainer(
        model=model(dtype),
        args=SFTConfig(**context.arguments, max_length=16),
        train_dataset=rows,
        eval_dataset=rows.select(range(4)),
        processing_class=tokenizer(),
        peft_config=lora(lora_dropout=forgets) if adapters else None,
    )
    return _slowed(trainer, context)


def build_sft_sober(context: StageContext) -> Any:
    """The same without dropout, so that several processes compute what one does."""
    trainer = build_sft(context, forgets=0.0)
    trainer.model.config.attention_dropout = 0.0
    for layer in trainer.model.get_base_model().model.layers:
        layer.self_attn.attention_dropout = 0.0
    return trainer


def build_sft_whole(context: StageContext) -> Any:
    """The same, of all weights."""
    return build_sft(context, adapters=False)


def build_sft_bfloat16(context: StageContext) -> Any:
    """The same, with a base in bfloat16."""
    return build_sft(context, "bfloat16")


def build_sft_turning_bad(context: StageContext) -> Any:
    """One whose loss is no number from the third step on."""
    trainer = build_sft(context)
    compute_loss = trainer.compute_loss

    def bad(*args: Any, **more: Any) -> Any:
        loss = compute_loss(*args, **more)
        return loss * float("nan") if trainer.state.global_step == 2 else loss

    trainer.compute_loss = bad
    return trainer


def build_sft_greedy(context: StageContext) -> Any:
    """One that asks for more memory than any machine has, in its second step."""
    import torch

    trainer = build_sft(context)
    compute_loss = trainer.compute_loss

    def greedy(*args: Any, **more: Any) -> Any:
        if trainer.state.global_step == 1:
            torch.empty(2**60, dtype=torch.uint8)
        return compute_loss(*args, **more)

    trainer.compute_loss = greedy
    return trainer


def build_of_nothing(_context: StageContext) -> Any:
    """One that must not be asked."""
    raise AssertionError("there is nothing to be trained")


def build_dpo(context: StageContext) -> Any:
    """Preferences: the pair again rather than the pair backwards."""
    from trl import DPOConfig, DPOTrainer

    from datasets import Dataset

    rows = [{"prompt": word, "chosen": word, "rejected": word[::-1]} for word in WORDS]
    trainer = DPOTrainer(
        model=model(),
        args=DPOConfig(**context.arguments, max_length=16),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(rows[:4]),
        processing_class=tokenizer(),
        peft_config=lora(),
    )
    return _slowed(trainer, context)


def build_grpo_onwards(context: StageContext) -> Any:
    """The same on a model that has an adapter already, which TRL copies to compare with."""
    from peft import get_peft_model

    return build_grpo(context, adapted=get_peft_model(model(), lora(init_lora_weights=False)))


def build_grpo(context: StageContext, adapted: Any = None) -> Any:
    """Reward: how many letters of the prompt's half of the alphabet it writes; one draw serves four steps."""
    from trl import GRPOConfig, GRPOTrainer

    from datasets import Dataset

    def early(completions: list[str], prompts: list[str], **_more: Any) -> list[float]:
        rewards = [sum(letter < "n" for letter in text) / 4 for text in completions]
        for prompt, text, reward in zip(prompts, completions, rewards, strict=True):
            context.sample_sink(SampleLine(step=0, example=prompt, text=text, reward=reward, rewards={"early": reward}))
        return rewards

    rows = Dataset.from_list([{"prompt": word} for word in WORDS])
    settings: Mapping[str, Any] = {
        "num_generations": 2,
        "num_iterations": 2,
        "max_completion_length": 4,
        "steps_per_generation": 4,
        "beta": 0.1,
        "temperature": 1.0,
    }
    trainer = GRPOTrainer(
        model=adapted or model(),
        reward_funcs=early,
        args=GRPOConfig(**context.arguments, **settings),
        train_dataset=rows,
        eval_dataset=rows.select(range(2)),
        processing_class=tokenizer(),
        peft_config=None if adapted else lora(),
    )
    return _slowed(trainer, context)
