"""Who is left out of replicas that differ: the majority counts, then the targets, and chance counts for nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.coordinates import Space
from grounding.executors.agreement import Answers, judge, reach_px
from grounding.probe.replicas import Replica, ReplicaReport
from grounding.probe.targets import Target, draw_targets
from grounding.records import Failure, ImageSizes, Point, Prediction, Size

AT = "2026-01-01T00:00:00Z"
SPACES = st.sampled_from(("original_px", "resized_px", "rel_1", "rel_999", "rel_1000"))
MODEL = Size(width=1000, height=700)

Say = Callable[[Target], Point | str | None]
"""A replica's answer to a picture: a place, the message of an error, or None for a reply without a place."""


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Target, ...]:
    return draw_targets(tmp_path_factory.mktemp("targets"))


def sizes(target: Target) -> ImageSizes:
    size = target.screenshot.size
    return ImageSizes(original=size, sent=size, model=MODEL)


def answers(name: str, targets: tuple[Target, ...], say: Say) -> Answers:
    replies = []
    for target in targets:
        said = say(target)
        failure = None
        if not isinstance(said, Point):
            failure = Failure(kind="error" if said else "unparsed", message=said or "no place in it")
        point = said if isinstance(said, Point) else None
        replies.append(Prediction(step_id=target.id, key="probe", point=point, sizes=sizes(target), failure=failure))
    return Answers(replica=Replica(name=name), replies=tuple(replies))


def right(target: Target) -> Point:
    return target.button.center


def shifted(by_px: float, pictures: int = 99) -> Say:
    """Off by so many pixels in the first so many pictures."""
    left = [pictures]

    def say(target: Target) -> Point:
        left[0] -= 1
        middle = right(target)
        return Point(x_px=middle.x_px - by_px, y_px=middle.y_px) if left[0] >= 0 else middle

    return say


def scaled(factor: float) -> Say:
    """A server that shows its model pictures of another size than the card says."""
    return lambda target: Point(x_px=right(target).x_px * factor, y_px=right(target).y_px * factor)


def dice(seed: int) -> Say:
    """Anywhere, whatever is shown."""
    draw = random.Random(seed)
    return lambda target: Point(
        x_px=draw.uniform(0, target.screenshot.size.width), y_px=draw.uniform(0, target.screenshot.size.height)
    )


def fails(_target: Target) -> str:
    return "no CUDA-capable device"


def left_out(report: ReplicaReport) -> list[str]:
    return [each.replica.name for each in report.left_out]


def judged(targets: tuple[Target, ...], *say: Say, space: Space = "rel_1000") -> ReplicaReport:
    return judge([answers(f"g-{n}", targets, each) for n, each in enumerate(say)], targets, space, at=AT)


@settings(max_examples=40)
@given(data=st.data(), space=SPACES, replicas=st.integers(2, 6), seed=st.integers(0, 99))
def test_differences_within_the_last_digit_are_none(
    data: st.DataObject, targets: tuple[Target, ...], space: Space, replicas: int, seed: int
) -> None:
    model = dice(seed) if data.draw(st.booleans()) else right
    places = {target.id: model(target) for target in targets}
    part = st.floats(-0.5, 0.5)

    def say(target: Target) -> Point:
        place, reach = places[target.id], reach_px(space, sizes(target))
        assert isinstance(place, Point)
        return Point(x_px=place.x_px + data.draw(part) * reach.x_px, y_px=place.y_px + data.draw(part) * reach.y_px)

    report = judged(targets, *([say] * replicas), space=space)
    assert report.decided_by == "alike"
    assert left_out(report) == []
    assert report.warnings == ()


HARMS: dict[str, Callable[[], Say]] = {
    "sees smaller pictures": lambda: scaled(0.7),
    "sees larger pictures": lambda: scaled(1.4),
    "answers anywhere": lambda: dice(5),
    "answers with errors": lambda: fails,
    "answers without a place": lambda: lambda _: None,
    "is off in seven of twelve": lambda: shifted(150, 7),
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("replicas", [3, 4, 7])
@pytest.mark.parametrize("odd", [0, 2])
def test_the_one_of_three_or_more_that_differs_is_left_out(
    targets: tuple[Target, ...], replicas: int, odd: int, harm: str
) -> None:
    report = judged(targets, *(HARMS[harm]() if number == odd else right for number in range(replicas)))
    assert left_out(report) == [f"g-{odd}"]
    assert report.decided_by == ("errors" if harm == "answers with errors" else "majority")
    (warning,) = report.warnings
    assert warning.startswith(f"g-{odd} is left out: ")


def test_what_differed_is_named(targets: tuple[Target, ...]) -> None:
    said = [answers(f"g-{n}", targets, right) for n in range(3)]
    odd = msgspec.structs.replace(
        answers("g-3", targets, shifted(143, 7)),
        replica=Replica(name="g-3", node="gpu-b", pid=7, base_url="http://127.0.0.1:41231/v1", gpus="3"),
    )
    report = judge([*said, odd], targets, "rel_1000", at=AT)
    assert report.warnings == (
        "g-3 on gpu-b (http://127.0.0.1:41231/v1, GPU 3) is left out: 7 of 12 answers differ from those of the other "
        "3, on average by 143 px (usual among those kept: 0 px); it hits 5 of 12 targets",
    )
    found = report.left_out[0]
    assert (found.compared, found.differs, found.apart_px, found.hits) == (12, 7, 143.0, 5)
    assert len(found.replies) == 12


@given(
    st.permutations(range(6)), st.lists(st.sampled_from(["right", "scaled", "dice", "none"]), min_size=6, max_size=6)
)
def test_the_order_of_the_replicas_changes_nothing(
    targets: tuple[Target, ...], order: list[int], kinds: list[str]
) -> None:
    says: dict[str, Say] = {"right": right, "scaled": scaled(0.7), "none": lambda _: None}
    said = [answers(f"g-{n}", targets, says.get(kind) or dice(n)) for n, kind in enumerate(kinds)]
    one = judge(said, targets, "rel_1000", at=AT)
    other = judge([said[n] for n in order], targets, "rel_1000", at=AT)
    assert sorted(left_out(one)) == sorted(left_out(other))
    assert one.decided_by == other.decided_by
    assert one.usual_px == other.usual_px
    # Whatever they say, somebody is left, and a majority is one.
    kept = len(kinds) - len(left_out(one))
    assert kept > 0
    assert one.decided_by != "majority" or 2 * kept > len(kinds)
    assert one.decided_by != "nobody" or kept == len(kinds)


def test_of_two_the_one_that_hits_the_targets_is_kept(targets: tuple[Target, ...]) -> None:
    for harm in (scaled(0.7), lambda _: None, shifted(150, 7)):
        report = judged(targets, harm, right)
        assert left_out(report) == ["g-0"]
        assert report.decided_by == "targets"
        assert "It hits fewer of the probe's targets than they do" in report.warnings[0]
    assert left_out(judged(targets, fails, dice(1))) == ["g-0"]


def test_two_that_the_targets_cannot_tell_apart_are_both_kept(targets: tuple[Target, ...]) -> None:
    # Both wrong everywhere; or one wrong at four pictures, which is luck once in sixteen times.
    for pair in ((dice(1), dice(2)), (right, shifted(150, 4)), (scaled(0.3), scaled(3.0))):
        report = judged(targets, *pair)
        assert left_out(report) == []
        assert report.decided_by == "nobody"
        (warning,) = report.warnings
        assert "all are kept (g-0 hits " in warning


def test_a_split_down_the_middle_is_for_the_targets_to_decide(targets: tuple[Target, ...]) -> None:
    report = judged(targets, right, scaled(0.7), right, scaled(0.7))
    assert left_out(report) == ["g-1", "g-3"]
    assert report.decided_by == "targets"


def test_a_model_that_answers_by_chance_loses_nobody(targets: tuple[Target, ...]) -> None:
    """As with a temperature above 0 and no seed: no two are alike, and that is no fault of any of them."""
    report = judged(targets, *(dice(seed) for seed in range(5)))
    assert left_out(report) == []
    assert report.decided_by == "nobody"


def test_a_majority_that_the_targets_speak_against_is_doubted(targets: tuple[Target, ...]) -> None:
    report = judged(targets, scaled(0.7), right, scaled(0.7))
    assert left_out(report) == ["g-1"]
    assert report.warnings[1].startswith("the probe's targets speak for a replica that was left out")


def test_nothing_is_said_of_replicas_that_answered_too_little(targets: tuple[Target, ...]) -> None:
    few = [answers("g-0", targets, right), answers("g-1", targets[:5], scaled(0.5)), answers("g-2", (), right)]
    assert left_out(judge(few, targets, "rel_1000", at=AT)) == []
    silent = judged(targets, fails, fails)
    assert left_out(silent) == []
    assert silent.decided_by == "alike"


def test_numbers_that_are_no_place_are_no_place(targets: tuple[Target, ...]) -> None:
    def endless(_target: Target) -> Point:
        return Point(x_px=float("inf"), y_px=10**400)

    assert left_out(judged(targets, endless, right, right)) == ["g-0"]
    assert left_out(judged(targets, endless, lambda _: None)) == []


def test_the_reach_is_the_last_digit_of_the_models_own_numbers() -> None:
    size = Size(width=2000, height=1000)
    of = ImageSizes(original=size, sent=size, model=Size(width=1000, height=500))
    assert reach_px("original_px", of) == Point(x_px=10, y_px=10)
    assert reach_px("resized_px", of) == Point(x_px=20, y_px=20)
    assert reach_px("rel_1000", of) == reach_px("rel_1", of) == Point(x_px=20, y_px=10)
