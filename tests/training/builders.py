"""Stages of a Llama of two layers that writes letters, and builders that break off at a step.

At the top level of a module, so that workers in other processes find them.
"""

from __future__ import annotations

import os
import signal
import string
import sys
import time
from pathlib import Path
from typing import Any

from grounding.training.recipes import HeldOutRule, LoraRule, Optimisation, Precision, Saving
from grounding.training.records import StageResult, TextExample, TrainStage
from grounding.training.stage import run_stage
from grounding.training.trainers import build_trainer

WORDS = tuple(f"{a}{b}" for a in "abc" for b in "efg")[:8]
ROWS = [TextExample(prompt=word, chosen=word, rejected=word[::-1]) for word in WORDS]


def make_stage(folder: Path, method: str = "sft", **changed: Any) -> TrainStage:
    """A stage of a few steps on the CPU, in one thread; its base lies in the folder."""
    if not (folder / "base").exists():
        write_base(folder / "base")
    values: dict[str, Any] = {
        "name": method,
        "method": method,
        "model": str(folder / "base"),
        "optimisation": Optimisation(learning_rate=1e-2, epochs=2.0, batch=2, accumulation=2),
        "lora": LoraRule(rank=4, alpha=8, dropout=0.1),
        "precision": Precision(dtype="float32", gradient_checkpointing=False),
        "saving": Saving(every_steps=1, keep=2),
        "seed": 3,
        "max_tokens": 16,
        "beta": 0.1 if method == "dpo" else None,
        "device": "cpu",
    }
    return TrainStage(**{**values, **changed})


def write_base(folder: Path) -> None:
    """Random weights, and a tokenizer with a token for each letter."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = ["<pad>", "<s>", "</s>", *string.ascii_lowercase, " "]
    made = Tokenizer(models.WordLevel({letter: number for number, letter in enumerate(letters)}, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    tokenizer.save_pretrained(folder)
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
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def run(folder: Path, stage: TrainStage, build: Any = None, held_out: int = 0) -> StageResult:
    """Run it here, with nothing shown; ``held_out`` so many of the examples are measured, too."""
    import torch

    torch.set_num_threads(1)
    return run_stage(folder, stage, ROWS, ROWS[:held_out], display="none", build=build or disturbed)


def run_and_die(
    folder: Path, stage: TrainStage, held_out: int = 0, build: Any = None, **environment: str
) -> int | None:
    """Run it in a process of its own that a signal ends (see ``disturbed``); returns its exit code."""
    import multiprocessing

    process = multiprocessing.get_context("fork").Process(
        target=_in_child, args=(folder, stage, held_out, build, environment)
    )
    process.start()
    process.join()
    return process.exitcode


def _in_child(folder: Path, stage: TrainStage, held_out: int, build: Any, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    print(run(folder, stage, build, held_out).status)
    sys.exit(0)


def disturbed(stage: TrainStage, folder: Path, arguments: dict[str, Any], inner: Any = build_trainer) -> Any:
    """A trainer that sends a signal at a step that the environment names, as hard as anybody would."""
    from transformers import TrainerCallback

    trainer = inner(stage, folder, arguments)

    def hit(variable: str, state: Any, number: signal.Signals) -> None:
        if os.environ.get(variable) == str(state.global_step) and os.environ.get("RANK", "0") == "0":
            os.kill(int(os.environ.get("TEST_PID", os.getpid())), number)
            until = time.monotonic() + 100
            while "TEST_PID" in os.environ and not (folder / "stop").exists() and time.monotonic() < until:
                time.sleep(0.02)

    class Disturbance(TrainerCallback):
        def on_step_end(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
            hit("TEST_KILL_AT", state, signal.SIGKILL)
            hit("TEST_STOP_AT", state, signal.SIGTERM)

        def on_save(self, _args: Any, state: Any, _control: Any, **_more: Any) -> None:
            # The trainer's own files are written, the mark is not.
            hit("TEST_KILL_IN_SAVE_AT", state, signal.SIGKILL)

    callbacks = trainer.callback_handler.callbacks
    trainer.add_callback(Disturbance())
    callbacks.insert(0, callbacks.pop())
    return trainer


def _at_step(step: int, stage: TrainStage, folder: Path, arguments: dict[str, Any], then: Any) -> Any:
    trainer = build_trainer(stage, folder, arguments)
    compute_loss = trainer.compute_loss

    def changed(*args: Any, **more: Any) -> Any:
        loss = compute_loss(*args, **more)
        return then(loss) if trainer.state.global_step == step else loss

    trainer.compute_loss = changed
    return trainer


def turning_bad(stage: TrainStage, folder: Path, arguments: dict[str, Any]) -> Any:
    """One whose loss is no number in the third step."""
    return _at_step(2, stage, folder, arguments, lambda loss: loss * float("nan"))


def letters(stage: TrainStage, folder: Path, arguments: dict[str, Any]) -> Any:
    """GRPO of a model that has an adapter already, which TRL copies to compare with; one draw serves four steps."""
    return disturbed(stage, folder, arguments, _grpo)


def _grpo(stage: TrainStage, _folder: Path, arguments: dict[str, Any]) -> Any:
    """The reward is how many letters of the prompt's half of the alphabet it writes."""
    from peft import LoraConfig, get_peft_model
    from trl import GRPOConfig, GRPOTrainer

    from datasets import Dataset
    from grounding.training.trainers import load_model, load_tokenizer, only_default

    def early(completions: list[str], **_more: Any) -> list[float]:
        return [sum(letter < "n" for letter in text) / 4 for text in completions]

    rows = Dataset.from_list([{"prompt": word} for word in WORDS])
    more = {"num_generations": 2, "num_iterations": 2, "max_completion_length": 4, "steps_per_generation": 4}
    lora = LoraConfig(r=4, lora_dropout=0.1, target_modules="all-linear", init_lora_weights=False)
    trainer: Any = GRPOTrainer(
        model=get_peft_model(load_model(stage.model, stage.precision), lora),
        reward_funcs=early,
        args=GRPOConfig(**arguments, **more, beta=0.1, temperature=1.0),
        train_dataset=rows,
        eval_dataset=rows.select(range(2)),
        processing_class=load_tokenizer(stage.model),
    )
    only_default(trainer.model)
    return trainer


MEASURED = HeldOutRule(every_steps=2, examples=4, batch=2, generations=2)
