import msgspec
import pytest

from grounding.records import Box, Failure, Plan, Point, Prediction, Region, Screenshot, Session, Size, Step, Verdict

SHOT = Screenshot(path="images/1.png", size=Size(width=1920, height=1080), sha256="0" * 64)


def step(position, task, region=None):
    return Step(
        id=f"1/{position}",
        participant="1",
        task=task,
        instruction_index=0,
        instruction="open it",
        screenshot=SHOT,
        region=region,
    )


def test_the_center_of_a_box():
    box = Box(left_px=10, top_px=0, right_px=21, bottom_px=4)
    assert box.center == Point(x_px=15.5, y_px=2)


def test_tasks_are_in_order_of_their_first_step_and_a_label_that_comes_back_is_the_same_task():
    session = Session(participant="1", steps=tuple(step(i, label) for i, label in enumerate("babca")))
    tasks = session.tasks()
    assert [task.label for task in tasks] == ["b", "a", "c"]
    assert [[s.id for s in task.steps] for task in tasks] == [["1/0", "1/2"], ["1/1", "1/4"], ["1/3"]]
    assert {task.participant for task in tasks} == {"1"}


def test_records_are_frozen_and_compared_by_value():
    first, second = Point(x_px=1, y_px=2), Point(x_px=1.0, y_px=2.0)
    assert first == second
    assert hash(first) == hash(second)
    with pytest.raises(AttributeError):
        first.x_px = 3


@pytest.mark.parametrize(
    "record",
    [
        step(1, "t", Region(boxes=(Box(left_px=0, top_px=0, right_px=1.5, bottom_px=1),))),
        step(2, 7),
        Plan(step_id="1/1", key="k", text=None, failure=Failure(kind="unparsed", message="an empty reply")),
        Prediction(step_id="1/1", key="k", point=Point(x_px=1, y_px=0.5)),
        Verdict(step_id="1/1", outcome="miss", point=Point(x_px=1, y_px=1), distance_px=0.0),
        Verdict(step_id="1/1", outcome="missing", reason="never asked"),
    ],
)
def test_json_brings_a_record_back(record):
    assert msgspec.json.decode(msgspec.json.encode(record), type=type(record)) == record


def test_an_unknown_outcome_is_refused():
    with pytest.raises(msgspec.ValidationError, match=r"\$\.outcome"):
        msgspec.json.decode(b'{"step_id": "1/1", "outcome": "hti"}', type=Verdict)
