"""Every fold in its turn: trained, given a card, evaluated by the evaluation itself; stopped and gone on with.

The stages are stood in for by an adapter of a few bytes, the base model by the middle of the screen and the tuned one
by the gold answers; splits, folders, cards, evaluations and figures are real.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from fakes.make import grounder_card
from fakes.tuned import write_checkpoint, write_peft
from rich.console import Console

from grounding.benchmarks.clicks.benchmark import evaluate
from grounding.cards import GrounderCard, read_card
from grounding.options import EvalOptions
from grounding.run.runner import INTERRUPTED
from grounding.run.scorebook import ScoredClicks, read_run
from grounding.training.grounder import OpenedTraining, open_training, run_training
from grounding.training.options import GrounderOptions
from grounding.training.records import StageResult, Trained, TrainingFolder, TrainStage
from grounding.training.results import GrounderSummary, print_run
from grounding.training.split import Split

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

    def __call__(self, folder: Path, stage: TrainStage, *_examples: Any, **_options: Any) -> StageResult:
        output = folder / "output"
        if output.is_dir():
            return self._result("complete")
        self.done.append("/".join(folder.parts[-3:]))
        if len(self.done) == self.stop_at:
            return self._result("partial")
        write_peft(output, weights=stage.name.encode().ljust(64))
        return self._result("complete")

    def _result(self, status: Any) -> StageResult:
        stopped = INTERRUPTED if status == "partial" else ""
        return StageResult(status=status, step=2, steps=2, wall_s=1.0, stopped=stopped)


class Evaluation:
    """``grounding eval`` with other grounders: the base hits little, the tuned model everything."""

    def __init__(self) -> None:
        self.asked: list[EvalOptions] = []

    def __call__(self, options: EvalOptions) -> ScoredClicks:
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
        return evaluate(options)


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Stages:
    made = Stages()
    monkeypatch.setattr("grounding.training.grounder.run_stage", made)
    return made


Asked = Callable[..., OpenedTraining]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    card = grounder_card(name="g", model="org/g", family="qwen2_5_vl", parameters={"max_tokens": 20})
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(msgspec.to_builtins(card)), encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(RECIPE), encoding="utf-8")
    base = write_checkpoint(tmp_path / "base")

    def make(*hold_out: str, card: str = str(tmp_path / "card.yaml"), **options: Any) -> OpenedTraining:
        usual = {"recipe": str(tmp_path / "recipe.yaml"), "model": str(base), "display": "none"}
        usual |= {"hold_out": hold_out, "log_dir": tmp_path / "results"}
        return open_training(card, GrounderOptions(**{**usual, **options}))

    return make


def train(opened: OpenedTraining, evaluation: Evaluation | None = None) -> Trained[GrounderSummary]:
    return run_training(opened, evaluation or Evaluation())


def test_one_split_is_trained_carded_and_evaluated(asked: Asked, stages: Stages) -> None:
    trained = train(asked("participant=3"))
    assert stages.done == [f"{trained.folder.name}/stages/{name}" for name in ("sft", "grpo")]
    info = TrainingFolder(trained.folder).read_info()
    assert (info.status, info.stopped) == ("complete", "")
    split = msgspec.json.decode((trained.folder / "split.json").read_bytes(), type=Split)
    assert split.held_out == ("participant=3",)
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
    assert (card.adapter.base, card.adapter.rank, card.aliases) == ("org/g", 8, ())
    assert card.name == card.model == f"{card.name[:-9]}-{card.adapter.sha256[:8]}"
    assert card.name.startswith("g-sample-web-without-participant-3-")
    assert card.title.endswith(", tuned on sample-web without participant 3")
    for run in (fold.base_run, fold.tuned_run):
        assert read_run(trained.folder / run).info.asked.select == "participant=3"
    assert (trained.folder / "report.html").is_file()


@pytest.mark.usefixtures("stages")
def test_a_task_is_held_out_and_only_its_steps_are_tested(asked: Asked) -> None:
    trained = train(asked("task=Get two tickets for a film on Saturday", test_limit=3, shared="drop"))
    (fold,) = trained.summary.folds
    tuned = read_run(trained.folder / fold.tuned_run)
    split = msgspec.json.decode((trained.folder / "split.json").read_bytes(), type=Split)
    assert [verdict.step_id for verdict in tuned.verdicts] == list(split.test)


def test_every_participant_is_left_out_once_and_nothing_is_done_twice(asked: Asked, stages: Stages) -> None:
    everyone = asked(leave_one_out="participant", shared="drop")
    stages.stop_at = 4  # In the second stage of the second fold.
    broken = train(everyone)
    assert (broken.info.status, broken.info.stopped) == ("partial", INTERRUPTED)
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
    assert mean.base == pytest.approx(sum(each.base.value or 0 for each in hits) / 3)
    console = Console(width=140, record=True, file=io.StringIO())
    print_run(console, trained.folder)
    said = console.export_text()
    assert "all held-out steps together · 262 steps, 3 folds" in said
    assert "mean of 3 folds" in said
    assert f"100.0 [{pooled.tuned.low:.1f}, 100.0] (262/262)" in said
    assert f"{mean.difference:+.1f} [{mean.low:+.1f}, {mean.high:+.1f}]" in said
    assert "folds      3 of 3 complete" in said
    for fold in summary.folds:
        below = trained.folder / fold.folder
        assert (below / "split.json").is_file()
        assert read_run(below / fold.tuned_run).summary.counts.hit == fold.test_steps


def test_a_fresh_start_sets_the_earlier_run_aside(asked: Asked, stages: Stages) -> None:
    first = train(asked("participant=3", no_evaluate=True))
    train(asked("participant=3", no_evaluate=True, fresh=True))
    assert first.folder.with_name(f"{first.folder.name}.old1").is_dir()
    assert len(stages.done) == 4


def test_another_question_is_another_run(asked: Asked, tmp_path: Path) -> None:
    def name(*hold_out: str, **options: Any) -> str:
        return asked(*(hold_out or ("participant=3",)), **options).run.info.run_id

    usual = name()
    write_checkpoint(tmp_path / "moved")
    assert name(model=str(tmp_path / "moved")) == usual, "the same weights elsewhere"
    write_checkpoint(tmp_path / "other", b"\5" * 64)
    others = [
        name("participant=2", shared="drop"),
        name(test_limit=10),
        name(seed=1),
        name(overrides=("lora.rank=4",)),
        name(model=str(tmp_path / "other")),
    ]
    assert len({usual, *others}) == 6
    assert all(each.startswith("train-g_sample-web_without-participant-") for each in (usual, *others))
