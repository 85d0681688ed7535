"""The released evaluator, written once more from its description and in another style, against ours."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.geometry import is_hit
from grounding.records import Failure, Prediction, Region, Session, Verdict
from grounding.scoring.metrics import gap_px
from grounding.scoring.scored import join
from scoring.builders import judge_all, official_scores

from .builders import BUTTON, answer, box, point, step, summary


class Reference:
    """Reads the release's own form: per participant a list of {"task", "bounding_box", "answer"} in file order."""

    def __init__(self, questions):
        self.questions = questions

    def over(self, participants):
        clicks = [
            item
            for participant in sorted(participants)
            for item in self.questions[participant]
            if item["bounding_box"] is not None
        ]
        marks = ["1" if self.success(item) else "0" for item in clicks]
        strings = {}
        for item, mark in zip(clicks, marks, strict=True):
            strings[item["task"]] = strings.get(item["task"], "") + mark
        progress = [len(s.split("0")[0]) * 100 / len(s) for s in strings.values()]
        distances = [self.distance(item) for item in clicks if item["answer"] is not None]
        return {
            "accuracy": 100 * marks.count("1") / (len(marks) or 1),
            "average_progress": sum(progress) / (len(progress) or 1),
            "task_success_rate": 100 * sum("0" not in s for s in strings.values()) / (len(strings) or 1),
            "average_distance": sum(distances) / (len(distances) or 1),
            "total": len(marks),
            "correct": marks.count("1"),
            "tasks": len(strings),
            "valid": len(distances),
        }

    @staticmethod
    def success(item):
        if item["answer"] is None:
            return False
        x, y = item["answer"]
        return any(
            not (x < b["x"] or x > b["x"] + b["width"] or y < b["y"] or y > b["y"] + b["height"])
            for b in item["bounding_box"]
        )

    @staticmethod
    def distance(item):
        x, y = item["answer"]
        gaps = [
            abs(x - min(max(x, b["x"]), b["x"] + b["width"])) + abs(y - min(max(y, b["y"]), b["y"] + b["height"]))
            for b in item["bounding_box"]
        ]
        return min([*gaps, 100_000_000])


small = st.integers(0, 12) | st.integers(0, 48).map(lambda n: n / 4)
bounding_boxes = st.none() | st.lists(
    st.fixed_dictionaries({"x": small, "y": small, "width": small, "height": small}), max_size=3
)
items = st.fixed_dictionaries(
    {
        "task": st.sampled_from(["a", "b", 1, "1", 2]),
        "bounding_box": bounding_boxes,
        "answer": st.none() | st.tuples(small, small),
    }
)
releases = st.dictionaries(st.sampled_from([1, 2, 10]), st.lists(items, max_size=12), max_size=3)


def ours(questions):
    sessions, predictions = [], []
    for participant, rows in questions.items():
        steps = []
        for i, item in enumerate(rows):
            boxes = item["bounding_box"]
            region = boxes and Region(
                boxes=tuple(box(b["x"], b["y"], b["x"] + b["width"], b["y"] + b["height"]) for b in boxes)
            )
            name = f"{participant}/{i}"
            steps.append(step(name, Region() if boxes == [] else region, task=item["task"], instruction=i))
            failed = Prediction(step_id=name, key="k", point=None, failure=Failure(kind="error", message="500"))
            predictions.append(answer(name, *item["answer"]) if item["answer"] else failed)
        sessions.append(Session(participant=str(participant), steps=tuple(steps)))
    return sessions, judge_all(sessions, [], predictions)


def assert_equal(scores, expected):
    assert scores.step_accuracy.value == pytest.approx(expected["accuracy"])
    assert (scores.step_accuracy.k, scores.step_accuracy.n) == (expected["correct"], expected["total"])
    assert scores.average_progress.value == pytest.approx(expected["average_progress"])
    assert scores.average_progress.n == scores.task_success.n == expected["tasks"]
    assert scores.task_success.value == pytest.approx(expected["task_success_rate"])
    assert scores.average_distance.value == pytest.approx(expected["average_distance"])
    assert scores.average_distance.n == expected["valid"]


@settings(deadline=None, max_examples=300)
@given(releases)
def test_against_the_reference(questions):
    sessions, verdicts = ours(questions)
    result = summary(sessions, verdicts, resamples=20)
    reference = Reference(questions)
    assert_equal(result.scores.official, reference.over(questions))
    for participant in questions:
        group = result.groups["participant"][str(participant)]
        assert_equal(group.scores.official, reference.over([participant]))


def test_coordinates_that_are_not_numbers_are_valid_and_at_no_distance():
    assert gap_px(BUTTON, point(math.nan, math.nan)) == 0
    assert gap_px(BUTTON, point(math.nan, 24)) == 4
    assert not is_hit(BUTTON, point(math.nan, 15))
    session = Session(participant="1", steps=(step("1/1"), step("1/2")))
    verdicts = [
        Verdict(step_id="1/1", outcome="unparsed", point=point(math.nan, math.nan)),
        Verdict(step_id="1/2", outcome="miss", point=point(23, 24)),
    ]
    distance = official_scores(join([session], verdicts)).average_distance
    assert (distance.value, distance.n) == (3.5, 2)
