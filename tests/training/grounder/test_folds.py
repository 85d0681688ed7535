"""Every fold in its turn: trained, given a card, evaluated by the evaluation itself; stopped and gone on with.

The stages are stood in for by an adapter of a few bytes, the base model by the middle of the screen and the tuned one
by the gold answers; splits, folders, cards, evaluations and figures are real.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from fakes.make import grounder_card
from fakes.tuned import write_checkpoint, write_peft
from rich.console import Console

from grounding.attended import INTERRUPTED
from grounding.cards import GrounderCard, find_card, read_card
from grounding.display import Progress
from grounding.errors import UserError
from grounding.evaluation import evaluate
from grounding.loaders import load_dataset
from grounding.options import EvalOptions
from grounding.places import models_dir
from grounding.runfolder import RunFolder
from grounding.scorebook import Scored, read_run
from grounding.training.folder import TrainingFolder
from grounding.training.grounder import evaluate as evaluate_module
from grounding.training.grounder import fold as fold_module
from grounding.training.grounder.asked import GrounderTraining
from grounding.training.grounder.folds import TrainedGrounder, run_training
from grounding.training.grounder.opening import open_training
from grounding.training.grounder.pooled import GrounderSummary
from grounding.training.grounder.split import Split, parse_hold_out
from grounding.training.grounder.table import print_training
from grounding.training.loop.records import StagePlan, StageResult

RECIPE = {
    "name": "r",
    "history": 0,
    "lora": {"rank": 8},
    "sft": {"optimisation": {"learning_rate": 1e-3, "max_steps": 2}},
    "grpo": {"generations": 2, "optimisation": {"learning_rate": 1e-3, "max_steps": 2, "batch": 2}},
}


class Stages:
    """Stands for ``run_stage``; remembers what it was asked for."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.stop_at = 0

    def __call__(self, plan: StagePlan, _build: Any, **_options: Any) -> StageResult:
        output = Path(plan.folder) / "output"
        if output.is_dir():
            return self._result("complete", str(output))
        self.done.append("/".join(Path(plan.folder).parts[-3:]))
        if len(self.done) == self.stop_at:
            return self._result("partial", None)
        write_peft(output, weights=plan.name.encode().ljust(64))
        return self._result("complete", str(output))

    def _result(self, status: Any, output: str | None) -> StageResult:
        stopped = INTERRUPTED if status == "partial" else ""
        return StageResult(status=status, step=2, steps=2, epoch=1.0, wall_s=1.0, output=output, stopped=stopped)


class Evaluation:
    """``grounding eval`` with other grounders: the base hits little, the tuned model everything."""

    def __init__(self) -> None:
        self.asked: list[EvalOptions] = []

    def __call__(self, options: EvalOptions) -> Scored:
        self.asked.append(options)
        name = "oracle" if Path(options.grounder).is_dir() else "center"
        options = msgspec.structs.replace(
            options,
            grounder=name,
            backend=None,
            model_path=None,
            dtype=None,
            device=None,
            batch_size=None,
            base_url=(),
            no_report=True,
            display="none",
        )
        return evaluate(options, Progress("none"))


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Stages:
    made = Stages()
    monkeypatch.setattr(fold_module, "run_stage", made)
    return made


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., GrounderTraining]:
    card = grounder_card(name="g", model="org/g", family="qwen2_5_vl", parameters={"max_tokens": 20})
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(msgspec.to_builtins(card)), encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(RECIPE), encoding="utf-8")
    base = write_checkpoint(tmp_path / "base")

    def make(*hold_out: str, **options: Any) -> GrounderTraining:
        usual = {"recipe": str(tmp_path / "recipe.yaml"), "model": str(base), "display": "none"}
        held_out = parse_hold_out(hold_out)
        return GrounderTraining(
            **{
                "card": str(tmp_path / "card.yaml"),
                "held_out": held_out,
                "log_dir": tmp_path / "results",
                **usual,
                **options,
            }
        )

    return make


def train(asked: GrounderTraining, evaluation: Evaluation | None = None) -> TrainedGrounder:
    return run_training(open_training(asked, load_dataset), evaluation or Evaluation())


def test_one_split_is_trained_carded_and_evaluated(asked: Callable[..., GrounderTraining], stages: Stages) -> None:
    trained = train(asked("participant=3"))
    assert stages.done == [f"{trained.folder.name}/stages/{name}" for name in ("sft", "grpo")]
    info = TrainingFolder(trained.folder).read_info()
    assert (info.status, info.stopped) == ("complete", "")
    assert [(stage.name, stage.status) for stage in info.stages] == [("sft", "complete"), ("grpo", "complete")]
    split = msgspec.json.decode((trained.folder / "split.json").read_bytes(), type=Split)
    assert split.test.participants == ("3",)
    assert "name: r" in (trained.folder / "recipe.yaml").read_text()
    summary = TrainingFolder(trained.folder).read_summary(GrounderSummary)
    assert summary == trained.summary
    (fold,) = summary.folds
    accuracy = next(each for each in summary.pooled if each.metric == "step_accuracy")
    assert (accuracy.tuned.k, accuracy.tuned.n, accuracy.base.n) == (64, 64, 64)
    assert accuracy.base.k is not None
    assert accuracy.base.k < 20
    assert summary.means == ()
    assert summary.pooled == fold.metrics
    card = read_card(trained.folder / fold.adapter / "card.yaml", GrounderCard)
    assert card.adapter is not None
    assert (card.adapter.base, card.adapter.rank) == ("org/g", 8)
    for run in (fold.base_run, fold.tuned_run):
        assert read_run(trained.folder / run).info.asked.select == "participant=3"
    assert (trained.folder / "report.html").is_file()


def test_the_evaluation_is_asked_as_a_user_would_ask(asked: Callable[..., GrounderTraining], stages: Stages) -> None:
    evaluation = Evaluation()
    trained = train(asked("participant=3", test_limit=4, batch_size=2, device="cpu"), evaluation)
    base, tuned = evaluation.asked
    assert (base.grounder, tuned.grounder) == (asked().card, str(trained.folder / "adapter"))
    assert (base.backend, base.dtype, base.device, base.batch_size) == ("hf", "bfloat16", "cpu", 2)
    assert (base.model_path, tuned.model_path) == (asked().model, None)
    assert (base.participant, base.limit, base.sample_id, base.history) == (("3",), 4, (), None)
    assert tuned.command.startswith(f"grounding eval --no-probe --grounder {trained.folder}/adapter --backend hf")
    assert stages.done


def test_a_held_out_task_is_evaluated_by_its_steps(asked: Callable[..., GrounderTraining], stages: Stages) -> None:
    evaluation = Evaluation()
    train(asked("task=Take the children to a show"), evaluation)
    assert evaluation.asked[0].participant == ()
    assert len(evaluation.asked[0].sample_id) > 5
    assert stages.done


def test_every_participant_is_left_out_once_and_nothing_is_done_twice(
    asked: Callable[..., GrounderTraining], stages: Stages
) -> None:
    everyone = asked(leave_one_out="participant", shared_tasks="drop")
    stages.stop_at = 4  # In the second stage of the second fold.
    broken = train(everyone)
    assert broken.stopped == INTERRUPTED
    assert broken.info.status == "partial"
    assert [fold.status for fold in broken.summary.folds] == ["complete", "partial", "waiting"]
    assert len(broken.summary.folds[0].metrics) == 4
    assert broken.summary.means == ()

    stages.stop_at = 0
    evaluation = Evaluation()
    trained = train(everyone, evaluation)
    assert trained.folder == broken.folder
    folds = [f"participant-{name}" for name in "123"]
    assert stages.done == [
        *("participant-1/stages/sft", "participant-1/stages/grpo"),
        *("participant-2/stages/sft", "participant-2/stages/grpo", "participant-2/stages/grpo"),
        *("participant-3/stages/sft", "participant-3/stages/grpo"),
    ]
    summary = trained.summary
    assert [(fold.name, fold.folder, fold.status) for fold in summary.folds] == [
        (name, f"folds/{name}", "complete") for name in folds
    ]
    assert [fold.test_steps for fold in summary.folds] == [110, 88, 64]
    pooled = next(each for each in summary.pooled if each.metric == "step_accuracy")
    assert (pooled.tuned.k, pooled.tuned.n) == (262, 262)
    hits = [next(each for each in fold.metrics if each.metric == "step_accuracy") for fold in summary.folds]
    assert pooled.base.k == sum(each.base.k or 0 for each in hits)
    mean = next(each for each in summary.means if each.metric == "step_accuracy")
    assert mean.base.values == tuple(each.base.value for each in hits)
    assert mean.base.low is not None
    console = Console(width=140, record=True, file=io.StringIO())
    print_training(console, trained)
    said = console.export_text()
    assert "all held-out steps together · 262 steps, 3 folds" in said
    assert "mean of 3 folds" in said
    assert "100.0 [100.0, 100.0] (262/262)" in said
    assert f"{mean.base.mean:.1f} [{mean.base.low:.1f}, {mean.base.high:.1f}]" in said
    assert "folds      3 of 3 complete" in said
    # Each fold is a run of its own.
    for name in folds:
        own = TrainingFolder(trained.folder / "folds" / name)
        assert own.read_info().status == "complete"
        (fold,) = own.read_summary(GrounderSummary).folds
        assert (fold.folder, fold.adapter) == (".", "adapter")
        assert read_run(own.path / fold.tuned_run).summary.counts.hit == fold.test_steps


def test_what_one_backend_answered_in_full_is_not_asked_again(
    asked: Callable[..., GrounderTraining], stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The stand-ins' answers under the names of the two cards, as the evaluation would have stored them.
    def named(options: EvalOptions) -> Scored:
        scored = Evaluation()(options)
        card = find_card(options.grounder, models_dir(), GrounderCard, builtin=(), kind="grounder")
        replace = msgspec.structs.replace
        info = scored.info
        setup = None if info.setup is None else replace(info.setup, backend=options.backend)
        info = replace(info, asked=replace(info.asked, grounder=card.name), setup=setup)
        RunFolder(scored.folder).write_info(info)
        return scored

    first = run_training(open_training(asked("participant=3"), load_dataset), named)
    evaluation = Evaluation()
    assert train(asked("participant=3"), evaluation).summary == first.summary
    assert evaluation.asked == []
    # Another backend's answers may be others.
    monkeypatch.setattr(evaluate_module, "running_servers", lambda *_args, **_more: nullcontext(FakeFleet()))
    train(asked("participant=3", backend="server"), evaluation)
    assert [options.base_url for options in evaluation.asked] == [(FakeFleet.base_urls[0],)] * 2
    assert stages.done


class FakeFleet:
    """A server that nobody asks."""

    base_urls = ("http://127.0.0.1:1/v1",)


def test_a_fold_trains_on_nobody_it_is_tested_on(asked: Callable[..., GrounderTraining]) -> None:
    for fold in open_training(asked(leave_one_out="participant", shared_tasks="drop"), load_dataset).folds:
        trained = {example.step.participant for example in fold.train.examples}
        assert trained.isdisjoint(fold.split.test.participants)
        assert {example.step.id for example in fold.test.examples} == set(fold.split.test.step_ids)


def test_a_training_only_trains_where_nothing_else_is_wanted(
    asked: Callable[..., GrounderTraining], stages: Stages
) -> None:
    evaluation = Evaluation()
    trained = train(asked("participant=3", evaluates=False), evaluation)
    assert evaluation.asked == []
    assert trained.summary.status == "complete"
    assert trained.summary.pooled == ()
    assert (trained.folder / "adapter" / "card.yaml").is_file()
    # The same with its evaluation is the same run.
    again = train(asked("participant=3"), evaluation)
    assert again.folder == trained.folder
    assert len(stages.done) == 2
    assert len(evaluation.asked) == 2


def test_a_fresh_start_sets_the_earlier_run_aside(asked: Callable[..., GrounderTraining], stages: Stages) -> None:
    first = train(asked("participant=3", evaluates=False))
    again = train(asked("participant=3", evaluates=False, fresh=True))
    assert again.set_aside == first.folder.with_name(f"{first.folder.name}.old1")
    assert len(stages.done) == 4


def test_another_question_is_another_run(asked: Callable[..., GrounderTraining], tmp_path: Path) -> None:
    def name(*hold_out: str, **options: Any) -> str:
        return open_training(asked(*(hold_out or ("participant=3",)), **options), load_dataset).info.run_id

    usual = name()
    write_checkpoint(tmp_path / "moved")
    assert name(model=str(tmp_path / "moved")) == usual, "the same weights elsewhere"
    write_checkpoint(tmp_path / "other", b"\5" * 64)
    others = [
        name("participant=2", shared_tasks="drop"),
        name(limit=100),
        name(test_limit=10),
        name(seed=1),
        name(overrides=("lora.rank=4",)),
        name(model=str(tmp_path / "other")),
    ]
    assert len({usual, *others}) == 7
    assert all(each.startswith("train-g_sample-web_without-participant-") for each in (usual, *others))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"leave_one_out": "participant", "held_out": parse_hold_out(["participant=3"])}, "give one of them"),
        ({"leave_one_out": "participant"}, "--shared-tasks drop"),
        ({}, "nothing is held out"),
        ({"held_out": parse_hold_out(["participant=3"]), "model": "/no/such"}, "--model /no/such: neither a folder"),
        (
            {"held_out": parse_hold_out(["participant=3"]), "overrides": ("sft=null", "grpo=null")},
            "neither sft nor grpo",
        ),
        ({"held_out": parse_hold_out(["participant=3"]), "card": "gui-actor"}, "can't be trained"),
    ],
)
def test_what_can_not_be_trained_is_refused_before_anything_is_written(
    asked: Callable[..., GrounderTraining], tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        open_training(asked(**options), load_dataset)
    assert not (tmp_path / "results").exists()
