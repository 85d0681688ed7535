"""Folders of training runs as the loop leaves them: the records of the package written as lines, without a training."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from PIL import Image

from grounding.records import Box, Point, Polygon, Query, Record, Region, Screenshot, Size, Step
from grounding.scoring.paired import Difference
from grounding.scoring.scores import Estimate
from grounding.training.folder import TrainingAsked, TrainingFolder, TrainingInfo, TrainingKind
from grounding.training.grounder.pooled import FoldMean, FoldOutcome, GrounderSummary, MetricChange, MetricMean
from grounding.training.grounder.records import GrounderExample
from grounding.training.grounder.split import HeldOut, LeftOut, Split, SplitSide, SplitTask
from grounding.training.loop.records import Launch, StageResult
from grounding.training.puma.learning import PairFile
from grounding.training.puma.outcome import KindFigures, ModelOutcome, PumaSummary
from grounding.training.puma.records import (
    Candidate,
    PairCounts,
    Preference,
    PreferenceChange,
    PreferencePair,
    TaskCandidates,
)
from grounding.training.puma.split import PumaSplit
from grounding.training.records import Method, MetricsLine, SampleLine, StageInfo
from grounding.webagents.personalwab.scores import ShopEstimate

SIZE = Size(width=1280, height=720)
BOX = Box(left_px=900, top_px=200, right_px=980, bottom_px=230)


def write_lines(path: Path, lines: Sequence[Record]) -> None:
    """Records as a file of lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def grpo_lines(steps: int, *, seed: int = 0, held_out_every: int = 20) -> list[MetricsLine]:
    """A reward that rises and is noisy, with everything that GRPO measures besides."""
    chance = random.Random(seed)
    found = []
    for step in range(1, steps + 1):
        done = step / steps
        share = 0.15 + 0.6 / (1 + math.exp(-8 * (done - 0.4)))
        reward = min(1.0, max(0.0, share + chance.gauss(0, 0.12)))
        found.append(
            MetricsLine(
                step=step, epoch=2 * done, loss=chance.gauss(0.0, 0.02) + 0.001 * done, reward=reward,
                reward_sd=math.sqrt(reward * (1 - reward)), kl=0.04 * done**2 + abs(chance.gauss(0, 0.003)),
                clipped_fraction=max(0.0, chance.gauss(0.004, 0.003)), learning_rate=1e-6 * (1 - done),
                gradient_norm=abs(chance.gauss(0.8, 0.3)), completion_tokens=28 - 10 * done + chance.gauss(0, 1.5),
                seconds=2.5 * step,
                values={
                    "rewards/hit/mean": reward, "rewards/hit/std": 0.3, "rewards/format/mean": min(1.0, 0.7 + done),
                    "entropy": 1.1 - 0.6 * done, "frac_reward_zero_std": abs(chance.gauss(0.3 * done, 0.1)),
                },
            )
        )  # fmt: skip
        if step % held_out_every == 0 or step in (1, steps):
            found.append(
                MetricsLine(
                    step=step, epoch=2 * done, kind="held_out", reward=min(1.0, share - 0.05 + chance.gauss(0, 0.03)),
                    reward_sd=0.4, loss=0.001, completion_tokens=29 - 10 * done,
                )
            )  # fmt: skip
    return found


def sft_lines(steps: int, *, seed: int = 1) -> list[MetricsLine]:
    """A loss that falls, on both kinds of examples."""
    chance = random.Random(seed)
    found = []
    for step in range(1, steps + 1):
        loss = 0.3 + 2.2 * math.exp(-4 * step / steps)
        found.append(
            MetricsLine(
                step=step, epoch=step / steps, loss=loss + chance.gauss(0, 0.08), seconds=1.2 * step,
                learning_rate=1e-4 * min(1.0, 10 * step / steps), gradient_norm=abs(chance.gauss(2.0, 0.5)),
                values={"mean_token_accuracy": 1 - loss / 4},
            )
        )  # fmt: skip
        if step % max(1, steps // 5) == 0:
            found.append(MetricsLine(step=step, epoch=step / steps, kind="held_out", loss=loss + 0.12))
    return found


def dpo_lines(steps: int, *, seed: int = 2) -> list[MetricsLine]:
    """A preference accuracy that rises from chance."""
    chance = random.Random(seed)
    found = []
    for step in range(1, steps + 1):
        done = step / steps
        right = min(1.0, max(0.0, 0.5 + 0.4 * done + chance.gauss(0, 0.1)))
        found.append(
            MetricsLine(
                step=step, epoch=done, loss=0.69 - 0.4 * done + chance.gauss(0, 0.03), preference_accuracy=right,
                learning_rate=5e-6 * (1 - done), gradient_norm=abs(chance.gauss(4, 1)), seconds=3.0 * step,
                values={"rewards/margins": 1.8 * done + chance.gauss(0, 0.2), "logps/chosen": -40 + 5 * done},
            )
        )  # fmt: skip
        if step % max(1, steps // 6) == 0 or step == 1:
            found.append(
                MetricsLine(
                    step=step, epoch=done, kind="held_out", preference_accuracy=0.5 + 0.3 * done, loss=0.69 - 0.3 * done
                )
            )  # fmt: skip
    return found


def screen_step(number: int, shot: Path, *, instruction: str = "") -> Step:
    """A step whose click belongs on a button; every third has a triangle besides."""
    corners = ((300, 500), (360, 500), (330, 560))
    triangle = Polygon(points=tuple(Point(x_px=x, y_px=y) for x, y in corners))
    return Step(
        id=f"3/{number}", participant="3", task=f"task {number // 4}", instruction_index=number % 4,
        instruction=instruction or f"Put the {number}. thing into the cart",
        screenshot=Screenshot(path=str(shot), size=SIZE, sha256=f"{number:064x}"),
        region=Region(boxes=(BOX,), polygons=(triangle,) if number % 3 == 0 else ()),
    )  # fmt: skip


def picture(path: Path) -> Path:
    """A screen with a button and some lines, as a file."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), (245, 246, 250))
    image.paste((30, 41, 59), (0, 0, SIZE.width, 60))
    for row in range(9):
        image.paste((205, 210, 220), (60, 110 + 60 * row, 760 - 40 * (row % 4), 126 + 60 * row))
    image.paste((22, 120, 200), (900, 200, 980, 230))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, compress_level=1)
    return path


def point_samples(
    steps: Sequence[Step], at: Sequence[int], *, generations: int = 4, text: str = ""
) -> list[SampleLine]:
    """Answers that come nearer to the button with every step; one of each group holds no point."""
    chance = random.Random(7)
    found = []
    for place, step in enumerate(at):
        off = 300 * (1 - place / max(1, len(at) - 1)) + 8
        for asked in (steps[0], steps[1 + place % (len(steps) - 1)]):
            for number in range(generations):
                unread = number == generations - 1
                spot = Point(x_px=940 + chance.gauss(0, off), y_px=215 + chance.gauss(0, off / 3))
                hit = 900 <= spot.x_px <= 980 and 200 <= spot.y_px <= 230
                found.append(
                    SampleLine(
                        step=step, example=asked.id, point=None if unread else spot,
                        text=text or ("I see no such thing." if unread else f"({spot.x_px:.0f}, {spot.y_px:.0f})"),
                        reward=0.0 if unread else 0.1 + 0.9 * hit, advantage=chance.gauss(0, 1),
                        rewards={"hit": 0.0 if unread else float(hit), "format": float(not unread)},
                        kind="held_out" if asked is steps[0] else "train",
                    )
                )  # fmt: skip
    return found


def stage_info(name: str, method: Method, step: int, steps: int) -> StageInfo:
    """A stage as ``run.json`` has it."""
    status = "complete" if step == steps else "partial" if step else "waiting"
    return StageInfo(name=name, method=method, status=status, step=step, steps=steps, wall_s=2.5 * step)


def run_info(stages: Sequence[StageInfo], *, kind: TrainingKind = "grounder", **changes: object) -> TrainingInfo:
    """``run.json`` of a run; ``changes`` are of ``asked`` where they are fields of it, else of the info."""
    asked = TrainingAsked(
        kind=kind, card="gta1-7b" if kind == "grounder" else "tiny-llama", identity="i", model="/models/base",
        dataset="sample-web" if kind == "grounder" else "sample-shop", fingerprint="0123abcd", select="all",
        split="participant 3 held out" if kind == "grounder" else "10 % of the users held out",
        recipe_name="grpo-gta1" if kind == "grounder" else "puma-tiny", recipe="r", seed=0, launch=Launch(),
        version="1",
    )  # fmt: skip
    asked = msgspec.structs.replace(asked, **{key: changes.pop(key) for key in list(changes) if hasattr(asked, key)})
    info = TrainingInfo(
        run_id="abc", status="complete", signature="data:sample-web@0123abcd|recipe:grpo-gta1|seed:0", asked=asked,
        stages=tuple(stages), data_dir="datasets/sample-web", command="grounding train grounder gta1-7b",
        versions={"trl": "1.16.0", "torch": "2.13.0"}, started_at="2026-01-01T00:00:00Z", wall_s=4210.0,
    )  # fmt: skip
    return msgspec.structs.replace(info, **changes)


def write_stage(
    folder: Path, metrics: Sequence[MetricsLine], *, result: StageResult | None = None,
    examples: Sequence[Record] = (), samples: Sequence[SampleLine] = (),
) -> Path:  # fmt: skip
    """The files of a stage."""
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "metrics.jsonl", metrics)
    if examples:
        write_lines(folder / "examples.jsonl", examples)
    if samples:
        write_lines(folder / "samples.jsonl", samples)
    if result is not None:
        (folder / "result.json").write_bytes(msgspec.json.encode(result))
    return folder


def result_of(step: int, steps: int, *, stopped: str = "") -> StageResult:
    """``result.json`` of a stage."""
    return StageResult(
        status="complete" if step == steps else "partial", step=step, steps=steps, epoch=2 * step / steps,
        wall_s=2.5 * step, output=None if step < steps else "output", stopped=stopped, peak_memory_bytes=3 << 30,
    )  # fmt: skip


def write_run(folder: Path, info: TrainingInfo) -> Path:
    """``run.json`` and a recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    TrainingFolder(folder).write_info(info)
    (folder / "recipe.yaml").write_text("name: grpo-gta1\nhistory: 10  # RealWebAssist tells ten\ngrpo:\n  beta: 0.0\n")
    return folder


def grounder_run(
    folder: Path, *, steps: int = 200, done: int | None = None, instruction: str = "", text: str = "",
    edit: Callable[[list[MetricsLine]], list[MetricsLine]] = lambda lines: lines, shot: Path | None = None,
    sampled: int = 1,
    **changes: object,
) -> Path:  # fmt: skip
    """A grounder tuned by SFT and GRPO, with samples on screenshots."""
    done = steps if done is None else done
    shot = shot or picture(folder.parent / "shots" / "screen.png")
    asked = [screen_step(number, shot, instruction=instruction) for number in range(1, 6)]
    examples = [
        GrounderExample(
            step=one,
            query=Query(step_id=one.id, key="k", screenshot=one.screenshot, instruction=one.instruction),
        )
        for one in asked
    ]  # fmt: skip
    stopped = "" if done == steps else "stopped by Ctrl-C"
    sft = max(1, steps // 5)
    info = run_info(
        (stage_info("sft", "sft", sft, sft), stage_info("grpo", "grpo", done, steps)),
        **({} if done == steps else {"status": "partial", "stopped": stopped}),
        **changes,
    )
    write_run(folder, info)
    write_stage(folder / "stages" / "sft", sft_lines(sft), result=result_of(sft, sft), examples=examples)
    lines = edit([line for line in grpo_lines(steps) if line.step <= done])
    at = sorted({max(1, done * part // sampled) for part in range(sampled + 1)}) if done else []
    write_stage(
        folder / "stages" / "grpo", lines, examples=examples, result=result_of(done, steps, stopped=stopped),
        samples=point_samples(asked, at, text=text) if at else (),
    )  # fmt: skip
    if done == steps:
        write_results(folder, [outcome("participant-3", ".")])
    return folder


def puma_run(folder: Path, *, steps: int = 120) -> Path:
    """A web agent aligned by SFT and DPO, with samples as text."""
    write_run(
        folder,
        run_info((stage_info("sft", "sft", 60, 60), stage_info("dpo", "dpo", steps, steps)), kind="puma"),
    )  # fmt: skip
    write_stage(folder / "stages" / "sft", sft_lines(60), result=result_of(60, 60))
    pairs = [
        PreferencePair(
            task=f"u{number}-t", user=f"u{number}", type="search", prompt=f"Memory: …\nInstruction: find mugs {number}",
            chosen="blue ceramic mug", rejected="mug", chosen_score=1.0, rejected_score=0.2,
        )
        for number in range(4)
    ]  # fmt: skip
    samples = [
        SampleLine(step=step, example=f"u{number}-t", text=f"blue mug no {step}", reward=0.4 + step / 300)
        for step in (1, steps // 2, steps)
        for number in range(2)
    ]
    stage = write_stage(
        folder / "stages" / "dpo", dpo_lines(steps), result=result_of(steps, steps), examples=pairs, samples=samples
    )
    drawn = [
        TaskCandidates(
            task=pair.task, key="k",
            candidates=(Candidate(text="mug", score=0.2, times=3), Candidate(text="blue ceramic mug", score=1.0)),
        )
        for pair in pairs
    ]  # fmt: skip
    write_lines(stage / "candidates.jsonl", [*drawn, TaskCandidates(task="equal", key="k")])
    write_agent_results(folder, stage)
    return folder


def write_agent_results(folder: Path, stage: Path) -> None:
    """``summary.json``, ``split.json`` and what a DPO stage keeps, as a training of PUMA leaves them."""
    counted = PairCounts(tasks=80, drawn=800, repeated=311, single=4, equal=31, too_long=1, pairs=44)
    both = PairFile(train=counted, held_out=msgspec.structs.replace(counted, tasks=20, pairs=14))
    before = Preference(pairs=14, whole=0.5, per_token=0.429, reward=None)
    after = Preference(pairs=14, whole=0.786, per_token=0.714, reward=0.857)
    (stage / "pairs.json").write_bytes(msgspec.json.encode(both))
    change = PreferenceChange(before=before, after=after, pairs_before=(), pairs_after=())
    (stage / "preference.json").write_bytes(msgspec.json.encode(change))

    def figures(result: float) -> tuple[KindFigures, ...]:
        return tuple(
            KindFigures(
                kind=kind, tasks=20, function=ShopEstimate(value=0.9, n=20, k=18, low=0.72, high=0.98),
                result=ShopEstimate(value=result, n=20, low=result - 0.1, high=result + 0.1),
            )
            for kind in ("search", "recommend", "review", "overall")
        )  # fmt: skip

    models = (
        ModelOutcome(name="base", run="evaluation/base", figures=figures(0.21)),
        ModelOutcome(
            name="full", variant="full", memory_tokens=768, model="models/full", run="evaluation/full", pairs=both,
            before=before, after=after, figures=figures(0.48),
        ),
        ModelOutcome(
            name="no-memory", variant="no-memory", memory_tokens=768, model="models/no-memory", figures=figures(0.31)
        ),
    )  # fmt: skip
    TrainingFolder(folder).write_summary(PumaSummary(status="complete", signature="s", reading="paper", models=models))
    split = PumaSplit(
        train=tuple(f"t{number}" for number in range(80)), held_out=tuple(f"h{number}" for number in range(20)),
        train_users=("a", "b", "c"), held_out_users=("d",), test_users=(), tested=90,
        left_out={"tell of a purchase that is tested": ("x",)},
    )  # fmt: skip
    (folder / "split.json").write_bytes(msgspec.json.encode(split))


def change(metric: str, before: float, after: float, n: int = 60) -> MetricChange:
    """A metric that rose, with intervals of about the width that so many steps give."""
    return MetricChange(
        metric=metric,
        base=Estimate(value=before, k=round(before * n / 100), n=n, low=before - 9.2, high=before + 9.6),
        tuned=Estimate(value=after, k=round(after * n / 100), n=n, low=after - 8.8, high=after + 8.1),
        difference=Difference(value=after - before, low=after - before - 5.1, high=after - before + 5.4, p=0.0312),
    )


def outcome(name: str, folder: str, place: int = 0) -> FoldOutcome:
    """A fold that was evaluated."""
    return FoldOutcome(
        name=name, held_out=name.replace("-", "="), folder=folder, status="complete", train_steps=178, test_steps=84,
        adapter="adapter" if folder == "." else f"{folder}/adapter", base_run="evaluation/base",
        tuned_run="evaluation/tuned",
        metrics=(change("step_accuracy", 41.2 + 3 * place, 47.7 + 2 * place, 84),),
    )  # fmt: skip


def fold_mean(*values: float) -> FoldMean:
    """A mean of folds with an interval."""
    mean = sum(values) / len(values)
    return FoldMean(values=values, mean=mean, low=mean - 4.4, high=mean + 4.4)


def write_results(folder: Path, folds: Sequence[FoldOutcome]) -> None:
    """``summary.json`` and ``split.json`` of a grounder's training."""
    means = (
        MetricMean(
            metric="step_accuracy", base=fold_mean(41.2, 44.2), tuned=fold_mean(47.7, 49.7),
            difference=fold_mean(6.5, 5.5),
        ),
    )  # fmt: skip
    summary = GrounderSummary(
        status="complete", signature="s", folds=tuple(folds), means=means if len(folds) > 1 else (),
        pooled=(
            change("step_accuracy", 42.7, 48.9), change("instruction_accuracy", 33.1, 38.0),
            change("average_progress", 18.4, 20.9), change("task_success", 2.2, 4.1),
        ),
    )  # fmt: skip
    TrainingFolder(folder).write_summary(summary)
    if len(folds) == 1:
        side = SplitSide(
            participants=("1", "2"), step_ids=tuple(f"1/{number}" for number in range(178)),
            tasks=tuple(SplitTask(participant="1", label=f"task {number}", steps=12) for number in range(9)),
        )  # fmt: skip
        test = SplitSide(
            participants=("3",), step_ids=tuple(f"3/{number}" for number in range(84)),
            tasks=(SplitTask(participant="3", label="buy a mug", steps=84),),
        )  # fmt: skip
        split = Split(
            dataset="sample-web", fingerprint="0123abcd", held_out=(HeldOut(kind="participant", name="3"),),
            train=side, test=test, left_out=(LeftOut(reason="screenshot", step_ids=("1/900", "1/901")),),
        )  # fmt: skip
        (folder / "split.json").write_bytes(msgspec.json.encode(split))


def folds_run(folder: Path, *, folds: int = 3, steps: int = 80) -> Path:
    """Leave-one-out: a run with a folder for each fold."""
    outcomes = []
    for number in range(1, folds + 1):
        name = f"participant-{number}"
        below = folder / "folds" / name
        write_run(below, run_info((stage_info("grpo", "grpo", steps, steps),), split=f"participant={number}"))
        write_stage(below / "stages" / "grpo", grpo_lines(steps, seed=number), result=result_of(steps, steps))
        outcomes.append(outcome(name, f"folds/{name}", number))
    write_run(folder, run_info((), split="leave-one-out participant"))
    write_results(folder, outcomes)
    return folder
