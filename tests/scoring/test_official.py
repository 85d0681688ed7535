"""The released evaluator, written once more from its description and in another style, against ours."""

import math

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.records import Failure, Polygon, Prediction, Region, Session, Verdict
from grounding.regions import is_hit
from grounding.scoring import join, judge_all
from grounding.scoring.official import gap_px, official_scores

from .builders import BUTTON, Played, answer, box, point, step, summary


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


def test_a_label_of_two_participants_is_one_long_task():
    """One all right, one all wrong: 0 % success and 50 % progress there, 50 % and 50 % in the paper's sense."""
    result = Played({"1": {"shop": "+ +"}, "2": {"shop": "- -"}}).summary()
    assert (result.scores.official.task_success.value, result.scores.official.average_progress.value) == (0, 50)
    assert (result.scores.official.task_success.k, result.scores.official.task_success.n) == (0, 1)
    assert (result.scores.paper.task_success.value, result.scores.paper.average_progress.value) == (50, 50)
    assert [group.scores.official.task_success.value for group in result.groups["participant"].values()] == [100, 0]


def test_participants_are_pooled_in_ascending_number():
    tasks = {"10": {"shop": "-"}, "9": {"shop": "+"}}
    assert Played(tasks).summary().scores.official.average_progress.value == 50
    tasks = {"zoe": {"shop": "-"}, "ann": {"shop": "+"}}  # names have no number: the order given
    assert Played(tasks).summary().scores.official.average_progress.value == 0


def test_a_number_and_its_digits_are_two_labels():
    official = Played({"1": {1: "+"}, "2": {"1": "-"}}).summary().scores.official
    assert (official.task_success.k, official.task_success.n) == (1, 2)


def test_progress_counts_steps_not_instructions():
    assert Played({"1": {"t": "+++- +"}}).summary().scores.official.average_progress.value == 60


def test_distance_is_manhattan_and_only_over_points():
    official = Played({"1": {"t": "+ - u e m ?"}}).summary().scores.official
    assert (official.average_distance.value, official.average_distance.n) == (7 / 2, 2)  # 0 and 3 + 4
    assert (official.step_accuracy.k, official.step_accuracy.n) == (1, 6)


def test_nothing_scored_is_zero():
    official = official_scores(Played({"1": {"t": ".."}}).joined())
    figures = [getattr(official, field) for field in official.__struct_fields__]
    assert [(figure.value, figure.n) for figure in figures] == [(0, 0)] * 4


def test_no_boxes_are_a_hundred_million_pixels_away():
    assert gap_px(Region(), point(3, 4)) == 1e8
    assert not is_hit(Region(), point(3, 4))
    session = Session(participant="1", steps=(step("1/1", Region()), step("1/2")))
    verdicts = judge_all([session], [], [answer("1/1", 15, 15), answer("1/2", 15, 15)])
    distance = official_scores(join([session], verdicts)).average_distance
    assert (distance.value, distance.n) == (5e7, 2)


def test_farther_than_that_is_as_far_as_that():
    assert gap_px(BUTTON, point(3e8, 15)) == 1e8


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


@pytest.mark.parametrize(
    ("x", "y", "gap"),
    [(15, 15, 0), (10, 20, 0), (20.5, 15, 0.5), (23, 24, 7), (0, 0, 20), (15, -1, 11), (50, 16, 2)],
)
def test_the_nearest_box_counts(x, y, gap):
    region = Region(boxes=(*BUTTON.boxes, box(40, 10, 48, 20)))
    assert gap_px(region, point(x, y)) == gap


corners = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=3, max_size=6, unique=True)


@settings(deadline=None, max_examples=100)
@given(corners, st.integers(-5, 25), st.integers(-5, 25))
def test_the_gap_to_a_polygon(outline, x, y):
    hull = shapely.MultiPoint(outline).convex_hull
    if hull.geom_type != "Polygon":
        return
    around = Polygon(points=tuple(point(*corner) for corner in hull.exterior.coords[:-1]))
    gap = gap_px(Region(polygons=(around,)), point(x, y))
    if hull.intersects(shapely.Point(x, y)):
        assert gap == 0
        return
    along = shapely.get_coordinates(hull.exterior.segmentize(0.01))
    nearest = abs(along - [x, y]).sum(axis=1).min()
    assert gap <= nearest + 1e-9
    assert gap == pytest.approx(nearest, abs=0.02)


def test_a_polygon_counts_by_its_outline_not_by_its_bounds():
    triangle = Polygon(points=(point(0, 0), point(10, 0), point(0, 10)))
    assert gap_px(Region(polygons=(triangle,)), point(9, 9)) == pytest.approx(8)
    assert gap_px(Region(polygons=(triangle,), boxes=(box(8, 11, 9, 12),)), point(9, 9)) == 2


single_steps = st.lists(st.lists(st.sampled_from("+-uem"), min_size=1, max_size=5).map(" ".join), max_size=8)


@settings(deadline=None, max_examples=100)
@given(single_steps, single_steps)
def test_without_collisions_and_with_single_steps_it_is_the_paper(first, second):
    tasks = {"1": {f"one {i}": t for i, t in enumerate(first)}, "2": {f"two {i}": t for i, t in enumerate(second)}}
    scores = Played(tasks).summary(resamples=20).scores
    for field in ("step_accuracy", "average_progress", "task_success"):
        paper, official = getattr(scores.paper, field), getattr(scores.official, field)
        assert official.value == pytest.approx(paper.value or 0)
        assert (official.k, official.n) == (paper.k, paper.n)
