"""Annotations that are odd and can be read: loaded, counted, and scored as RealWebAssist's released evaluator does.

The figures are those that ``evaluate.py`` of SCAI-JHU/RealWebAssist wrote for the same files and the same answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from PIL import Image
from scoring.builders import judge_all, official_scores, summarise

from grounding.cli import run
from grounding.data.fields import DatasetProblems
from grounding.data.layouts.realwebassist import load
from grounding.records import Point, Prediction
from grounding.scoring.scored import join

from .test_images import png_of

if TYPE_CHECKING:
    from conftest import TinyDataset

BOX = {"x": 10, "y": 10, "width": 20, "height": 10}
ANSWERS = {1: (15, 15), 2: (15, 15), 3: (15, 15), 4: (50, 40), 6: (30, 20), 7: None}
"""By the number of the screenshot; the rest is answered with (15, 12.5)."""

USUAL = (24, 20, 83.33333333333334, 3.6363636363636362, 60.0, 60.0)
CASES: list[tuple[str, dict[str, Any], tuple[float, ...], int]] = [
    ("nothing", {}, USUAL, 0),
    ("an empty list", {"bounding_box": []}, (24, 19, 79.16666666666666, 4545458.181818182, 56.666666666666664, 50), 1),
    ("null", {"bounding_box": None}, (23, 19, 82.6086956521739, 3.8095238095238093, 60, 60), 0),
    (
        "a negative width",
        {"bounding_box": {**BOX, "width": -5}},
        (24, 19, 79.16666666666666, 4.090909090909091, 56.666666666666664, 50),
        1,
    ),
    (
        "a negative height beside a box elsewhere",
        {"bounding_box": [{**BOX, "height": -5}, {**BOX, "x": 40}]},
        (24, 19, 79.16666666666666, 4.090909090909091, 56.666666666666664, 50),
        1,
    ),
    (
        "both negative",
        {"bounding_box": {**BOX, "width": -5, "height": -5}},
        (24, 19, 79.16666666666666, 4.545454545454546, 56.666666666666664, 50),
        2,
    ),
    (
        "no width",
        {"bounding_box": {**BOX, "width": 0}},
        (24, 19, 79.16666666666666, 3.8636363636363638, 56.666666666666664, 50),
        1,
    ),
    ("no width where the click is", {"bounding_box": {**BOX, "x": 15, "width": 0}}, USUAL, 1),
    (
        "a centre off the screen",
        {"bounding_box": {**BOX, "x": 100}},
        (24, 19, 79.16666666666666, 7.5, 56.666666666666664, 50),
        1,
    ),
    (
        "a centre off the screen and the click inside",
        {"bounding_box": {"x": -300, "y": 2, "width": 316, "height": 40}},
        USUAL,
        1,
    ),
    ("no words", {"instruction": ""}, USUAL, 1),
    ("blank words", {"instruction": "  "}, USUAL, 1),
    (
        "no label",
        {"task": None},
        (24, 20, 83.33333333333334, 3.6363636363636362, 63.63636363636363, 63.63636363636363),
        1,
    ),
]


def release(tiny_dataset: TinyDataset, fields: dict[str, Any]) -> Path:
    """Two participants with 13 steps each; the third step of the first is changed."""

    def edit(participant: str, items: list[dict[str, Any]]) -> None:
        for item in items:
            item["bounding_box"] = [BOX] if item["bounding_box"] else None
        if participant == "1":
            items[2].update(fields)

    return tiny_dataset(steps=13, unscored=(4,), edit=edit)


@pytest.mark.parametrize(("fields", "figures", "odd"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_it_is_scored_as_the_released_evaluator_does(
    tiny_dataset: TinyDataset, fields: dict[str, Any], figures: tuple[float, ...], odd: int
) -> None:
    dataset = load(release(tiny_dataset, fields), history="auto")
    steps = [step for session in dataset.sessions for step in session.steps if step.region is not None]
    predictions = []
    for step in steps:
        place = ANSWERS.get(int(step.id.partition("/")[2]), (15, 12.5))
        point = None if place is None else Point(x_px=place[0], y_px=place[1])
        predictions.append(Prediction(step_id=step.id, key="k", point=point))
    verdicts = judge_all(dataset.sessions, (), predictions)
    found = official_scores(join(dataset.sessions, verdicts))
    whole = (found.step_accuracy.n, found.step_accuracy.k)
    rest = (found.step_accuracy, found.average_distance, found.average_progress, found.task_success)
    assert whole == figures[:2]
    assert [figure.value for figure in rest] == pytest.approx(figures[2:], rel=1e-12)
    paper = summarise(dataset.sessions, verdicts, status="complete", signature="s", resamples=10).scores.paper
    assert (paper.step_accuracy.n, paper.step_accuracy.k) == figures[:2]
    assert len(dataset.oddities) == odd
    assert dataset.warnings == (() if odd == 0 else dataset.warnings[:1])
    # A box that nobody can hit has no nearest edge, and no area.
    assert all(verdict.distance_px is None or verdict.distance_px >= 0 for verdict in verdicts)


@pytest.mark.parametrize(
    "fields",
    [
        {"task": ["a"]},
        {"bounding_box": {}},
        {"bounding_box": {"x": 1, "y": 2, "height": 3}},
        {"bounding_box": "none"},
        {"bounding_box": {**BOX, "x": "10"}},
        {"bounding_box": {**BOX, "x": None}},
        {"bounding_box": [None]},
    ],
)
def test_what_the_released_evaluator_breaks_off_at_is_refused(
    tiny_dataset: TinyDataset, fields: dict[str, Any]
) -> None:
    with pytest.raises(DatasetProblems) as caught:
        load(release(tiny_dataset, fields))
    assert {problem.item for problem in caught.value.problems} == {2}


def command(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        run([*arguments])
    out, err = capfd.readouterr()
    return int(ended.value.code or 0), out, err


def test_check_lists_them_and_eval_counts_them(
    tiny_dataset: TinyDataset, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data_dir = release(tiny_dataset, {"bounding_box": [], "instruction": ""})
    questions = data_dir / "1" / "questions_with_task_updated.json"
    code, out, err = command(capfd, "check", "--dataset", "realwebassist", "--data-dir", str(data_dir))
    assert (code, out.partition(":")[0]) == (0, "no problems found")
    assert f"warning: {questions}: item 2: bounding_box = []: is an empty list; it is scored as it stands" in err
    assert f'warning: {questions}: item 2: instruction = "": is empty; models are told no words' in err
    given = ["--dataset", "realwebassist", "--data-dir", str(data_dir), "--log-dir", str(tmp_path / "runs"), "--json"]
    code, out, err = command(capfd, "eval", *given, "--grounder", "center")
    assert code == 0
    assert "odd annotations, used as they stand: 2 (1 instruction, 1 bounding_box)" in err
    counts = msgspec.json.decode(out)["counts"]
    assert (counts["steps"], counts["hit"] + counts["miss"]) == (24, 24)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("name", ["png", "jpeg", "webp"])
def test_check_and_eval_give_one_answer_on_a_damaged_picture(
    tiny_dataset: TinyDataset, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, cut: bool
) -> None:
    data_dir = release(tiny_dataset, {})
    image = data_dir / "1" / "images" / "3.png"
    Image.radial_gradient("L").resize((64, 48)).convert("RGB").save(image, name)
    content = bytearray(image.read_bytes())
    # Wrong bytes among the pixels of a JPEG or a lossy WebP may be other pixels: nobody can tell. These are its tables.
    at = len(content) // 2 if name == "png" else content.find({"jpeg": b"\xff\xc4", "webp": b"VP8 "}[name]) + 18
    content[at : at + 12] = b"\xff" * 12
    image.write_bytes(content[:-40] if cut else content)
    given = ["--dataset", "realwebassist", "--data-dir", str(data_dir)]
    code, out, _ = command(capfd, "check", *given)
    assert code == 2
    (problem,) = out.splitlines()
    assert f"{data_dir}/1/questions_with_task_updated.json: item 2: the screenshot {image} is damaged or cut" in problem
    code, out, err = command(capfd, "eval", *given, "--grounder", "ocr", "--log-dir", str(tmp_path / "runs"))
    assert (code, out) == (2, "")
    assert problem in err
    assert not (tmp_path / "runs").exists()


def test_a_picture_that_was_written_wrong_is_an_error_and_never_a_miss(
    tiny_dataset: TinyDataset, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its checksums are right, so only a decoder finds that half of its pixels are not there."""
    data_dir = release(tiny_dataset, {})
    (data_dir / "1" / "images" / "3.png").write_bytes(png_of(64, 48))
    given = ["--dataset", "realwebassist", "--data-dir", str(data_dir)]
    assert command(capfd, "check", *given)[0] == 2
    options = ["--grounder", "ocr", "--participant", "1", "--limit", "3", "--json"]
    code, out, _ = command(capfd, "eval", *given, *options, "--log-dir", str(tmp_path / "runs"))
    counts = msgspec.json.decode(out)["counts"]
    assert (code, counts["error"]) == (1, 1)
