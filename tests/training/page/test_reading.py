"""Lines of metrics as a run may leave them: gaps, torn and damaged lines, repeated steps, samples in a long file."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.records import Point, Query
from grounding.training.grounder.records import GrounderExample
from grounding.training.page.pictures import Pictures
from grounding.training.page.reading import PACE, read_metrics
from grounding.training.page.samples import GENERATIONS, sample_sets
from grounding.training.records import MetricsLine, SampleLine

from .folders import grpo_lines, picture, point_samples, puma_run, screen_step, write_lines


def test_every_figure_is_a_series_by_kind(tmp_path: Path) -> None:
    write_lines(tmp_path / "metrics.jsonl", grpo_lines(40, held_out_every=10))
    found = read_metrics(tmp_path / "metrics.jsonl")
    train, held_out = found.figures["reward"]
    assert (train.kind, len(train.steps), held_out.kind, held_out.steps) == (
        "train",
        40,
        "held_out",
        (1, 10, 20, 30, 40),
    )
    assert len(train.spreads) == 40
    assert found.figures["rewards/hit/mean"][0].spreads[0] == 0.3
    assert "rewards/hit/std" in found.figures
    assert "reward_sd" not in found.figures
    (pace,) = found.figures[PACE]
    assert set(pace.values) == {2.5}
    assert (found.damaged, found.repeated) == (0, 0)


def test_what_is_no_finite_number_is_a_gap_however_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(
        b'{"step":1,"epoch":0,"loss":1.0,"kl":0.1}\n{"step":2,"epoch":0,"loss":null,"kl":0.2}\n'
        b'{"step":3,"epoch":0,"loss":NaN,"kl":0.3}\n{"step":4,"epoch":0,"loss":-Infinity,"kl":0.4}\n'
        b'{"step":5,"epoch":0,"loss":2.0,"kl":0.5}\n'
    )
    found = read_metrics(path)
    (loss,) = found.figures["loss"]
    assert loss.values == (1.0, None, None, None, 2.0)
    assert loss.gaps == (2, 3, 4)
    assert found.figures["kl"][0].gaps == ()


def test_a_figure_that_is_left_out_now_and_then_is_a_gap_and_one_that_is_rare_is_not(tmp_path: Path) -> None:
    lines = [
        MetricsLine(step=step, epoch=0, loss=None if step == 7 else 0.5, reward=1.0 if step % 4 == 0 else None)
        for step in range(1, 21)
    ]
    write_lines(tmp_path / "metrics.jsonl", lines)
    found = read_metrics(tmp_path / "metrics.jsonl")
    assert found.figures["loss"][0].gaps == (7,)
    assert found.figures["reward"][0].steps == (4, 8, 12, 16, 20)
    assert found.figures["reward"][0].gaps == ()


def test_torn_damaged_and_repeated_lines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_lines(path, [MetricsLine(step=step, epoch=0, loss=float(step)) for step in (1, 2, 2, 3)])
    with path.open("ab") as file:
        file.write(b'nonsense\n\n{"step":"x"}\n[1]\n\xff\xfe\n' + b"[" * 5000 + b'\n{"step":9,"lo')
    found = read_metrics(path)
    assert found.figures["loss"][0].steps == (1, 2, 3)
    assert (found.lines, found.damaged, found.repeated) == (4, 5, 1)
    assert read_metrics(tmp_path / "none.jsonl").figures == {}


def test_a_handful_of_samples_of_a_long_file(tmp_path: Path) -> None:
    shot = picture(tmp_path / "s.png")
    steps = [screen_step(number, shot) for number in range(1, 6)]
    write_lines(tmp_path / "samples.jsonl", point_samples(steps, range(1, 301), generations=12))
    with (tmp_path / "samples.jsonl").open("ab") as file:
        file.write(b'\n{"torn')
    held_out, train = sample_sets(tmp_path, Pictures())
    assert (held_out.kind, train.kind, held_out.all_steps, held_out.lines) == ("held_out", "train", 300, 3600)
    assert [group.step for group in held_out.groups] == [1, 61, 121, 180, 240, 300]
    assert all(len(group.generations) == GENERATIONS and group.left_out == 4 for group in held_out.groups)
    # Without the examples there are texts and nothing else.
    assert all(group.whole is None and group.asked == "" for group in held_out.groups)


def test_points_are_judged_by_the_scoring_and_shown_on_the_screenshot(tmp_path: Path) -> None:
    step = screen_step(1, picture(tmp_path / "s.png"))
    points = (Point(x_px=900, y_px=230), Point(x_px=899, y_px=230), Point(x_px=5000, y_px=-3), None)
    lines = [SampleLine(step=1, example=step.id, text="t", point=point) for point in points]
    write_lines(tmp_path / "samples.jsonl", lines)
    query = Query(step_id=step.id, key="k", screenshot=step.screenshot, instruction=step.instruction)
    write_lines(tmp_path / "examples.jsonl", [GrounderExample(step=step, query=query)])
    pictures = Pictures()
    ((group,),) = [each.groups for each in sample_sets(tmp_path, pictures)]
    assert [one.is_right for one in group.generations] == [True, False, False, None]
    assert group.asked == step.instruction
    assert group.whole is not None
    assert group.close is not None
    assert (group.whole.width, group.close.width) == (1280, 220)
    assert sorted(pictures.sources) == ["shot-0", "shot-1"]


def test_a_screenshot_that_is_gone_or_too_large_costs_the_picture_only(tmp_path: Path) -> None:
    pictures = Pictures()
    gone = screen_step(1, tmp_path / "gone.png").screenshot
    assert pictures.whole(gone) is None
    (tmp_path / "text.png").write_text("no picture")
    assert pictures.whole(screen_step(2, tmp_path / "text.png").screenshot) is None
    assert len(pictures.problems) == 2
    pictures._left = 10
    assert pictures.whole(screen_step(3, picture(tmp_path / "s.png")).screenshot) is None
    assert "more than" in pictures.problems[-1]


def test_texts_of_an_agent_stand_beside_what_was_wanted(tmp_path: Path) -> None:
    puma_run(tmp_path / "run")
    (found,) = sample_sets(tmp_path / "run" / "stages" / "dpo", Pictures())
    first = found.groups[0]
    assert first.gold == "blue ceramic mug"
    assert "find mugs" in first.asked
    assert first.generations[0].text.startswith("blue mug")
    assert first.size is None


@pytest.mark.parametrize("example", ["../../etc/passwd", "x" * 5000, "\0"])
def test_names_of_examples_are_names_only(tmp_path: Path, example: str) -> None:
    write_lines(tmp_path / "samples.jsonl", [SampleLine(step=1, example=example, text="t")])
    (found,) = sample_sets(tmp_path, Pictures())
    assert len(found.groups[0].example) < 300
