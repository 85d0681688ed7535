"""Following a run's answers: what is counted is what judging everything again gives, whatever was read before."""

from __future__ import annotations

import random
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Failure, Plan, Point, Polygon, Region
from grounding.report.html.queuefollow import OUTCOMES, Followed, RunFollower, Shelf, Tail
from grounding.report.html.queuesteps import StepIndex
from grounding.report.html.queuewatch import RunWatch
from grounding.runfolder import RunFolder
from grounding.scorebook import weigh

from . import queues

NEVER = float("inf")


def follow(folder: Path) -> RunFollower:
    return RunFollower(folder, Shelf())


def look(follower: RunFollower, folder: Path, until: float = NEVER) -> Followed:
    return follower.look(RunFolder(folder).read_info().asked, until)


def judged(folder: Path) -> dict[str, int]:
    """What judging every answer again gives, without the steps that were never asked."""
    verdicts = [each for each in weigh(RunFolder(folder)).verdicts if each.reason != "never asked"]
    return {name: sum(each.outcome == name for each in verdicts) for name in OUTCOMES}


def plan(number: int, kind: str | None = None) -> Plan:
    failure = Failure(kind=kind, message="no plan") if kind else None  # type: ignore[arg-type]
    return Plan(step_id=f"1/{number}", key="k", text=None if kind else "go", failure=failure)


KINDS = ("hit", "miss", "unparsed", "error", "missing")
ANSWERS = st.lists(st.tuples(st.integers(0, 24), st.sampled_from((*KINDS, "plan", "no plan"))), max_size=30)


@settings(max_examples=40, deadline=None)
@given(rounds=st.lists(ANSWERS, min_size=1, max_size=4))
def test_what_is_counted_piece_by_piece_is_what_scoring_everything_counts(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[int, str]]]
) -> None:
    folder = tmp_path_factory.mktemp("run") / "run"
    queues.begin(folder, queues.asked("a", "b"), 25)
    follower = follow(folder)
    for answers in rounds:
        for number, kind in answers:
            if kind in KINDS:
                queues.answer(folder, [queues.prediction(number, kind)])
            else:
                queues.answer(folder, [], [plan(number, None if kind == "plan" else "error")])
        found = look(follower, folder)
        assert found.counts == judged(folder)
        assert found.steps == 23
        assert found.left_to_read == 0


def test_shapes_and_absent_targets_are_judged_as_ever(tmp_path: Path) -> None:
    run = queues.begin(tmp_path / "run", queues.asked("a", "b"), 6)
    triangle = Region(polygons=(Polygon(points=tuple(Point(x_px=x, y_px=y) for x, y in ((0, 0), (40, 0), (0, 40)))),))
    steps = [queues.step(number) for number in range(6)]
    steps[1] = msgspec.structs.replace(steps[1], region=triangle)
    steps[2] = msgspec.structs.replace(steps[2], region=Region(), target_absent=True)
    run.replace_lines("steps.jsonl", steps)
    declined = msgspec.structs.replace(queues.prediction(2, "unparsed"), declined=True)
    outside = msgspec.structs.replace(queues.prediction(3), point=Point(x_px=float("1e308"), y_px=1.0))
    queues.answer(tmp_path / "run", [queues.prediction(0), queues.prediction(1, "miss"), declined, outside])
    found = look(follow(tmp_path / "run"), tmp_path / "run")
    assert found.counts == judged(tmp_path / "run") == dict(zip(OUTCOMES, (3, 1, 0, 0, 0), strict=True))


def test_only_what_was_added_is_read_and_a_torn_line_waits(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    queues.begin(folder, queues.asked("a", "b"))
    queues.answer(folder, queues.kinds(10))
    follower = follow(folder)
    assert look(follower, folder).done == 9
    path = folder / "predictions.jsonl"
    whole = path.read_bytes()
    # What was read is no longer looked at: were it read again, this would be said to be damaged.
    path.write_bytes(b"x" * len(whole))
    line = msgspec.json.encode(queues.prediction(10))
    with path.open("ab") as file:
        file.write(line[:20])
    assert look(follower, folder).done == 9
    with path.open("ab") as file:
        file.write(line[20:] + b"\n")
    assert look(follower, folder).done == 10


def test_a_run_that_starts_afresh_is_read_afresh(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    queues.begin(folder, queues.asked("a", "b"))
    queues.answer(folder, queues.kinds(30))
    follower = follow(folder)
    assert look(follower, folder).done == 27
    folder.rename(tmp_path / "run.old1")
    queues.begin(folder, queues.asked("a", "b"))
    queues.answer(folder, [queues.prediction(0)])
    found = look(follower, folder)
    assert (found.done, found.spent_usd) == (1, 0.001)


def test_reading_stops_when_its_time_is_over_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    queues.begin(folder, queues.asked("a", "b"), 3_000)
    queues.answer(folder, queues.kinds(3_000))
    line = b'{"step_id":"nobody","key":"k","point":null,"raw":"' + b"x" * 5_000 + b'"}\n'
    with (folder / "predictions.jsonl").open("ab") as file:
        file.write(line * 400)
    follower, shares = follow(folder), []
    for _ in range(100):
        found = look(follower, folder, until=time.monotonic())
        shares.append(found.left_to_read)
        if not found.left_to_read:
            break
    assert shares == sorted(shares, reverse=True)
    assert len(shares) > 3
    assert found.counts == judged(folder)


def test_money_is_what_servers_reported_and_beside_it_what_they_may_have_charged(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    queues.begin(folder, queues.asked("a", "b"))
    paid = queues.prediction(0, usd=0.5, unreported_usd=0.25).call
    bought = msgspec.structs.replace(plan(0), call=paid)
    reused = msgspec.structs.replace(plan(1), call=paid, reused=True)
    # A second answer to a step was paid for, too.
    queues.answer(folder, [queues.prediction(0, "error", usd=2.0), queues.prediction(0, usd=4.0)], [bought, reused])
    follower = follow(folder)
    found = look(follower, folder)
    assert (found.spent_usd, found.unreported_usd) == (6.5, 0.25)
    # With --plan-ahead plans were paid for where the replies stand.
    (folder / "ahead.jsonl").write_bytes(msgspec.json.encode(msgspec.structs.replace(bought, step_id="1/1")) + b"\n")
    assert look(follower, folder).spent_usd == 6.5
    (folder / "probe.json").write_bytes(
        msgspec.json.encode({"replies": [queues.prediction(3, usd=8.0)], "level": "ok"})
    )
    assert look(follower, folder).spent_usd == 14.5


def test_without_prices_there_is_no_money(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    queues.begin(folder, queues.asked("a", "b"))
    queues.answer(folder, [queues.prediction(0, usd=None)])
    assert look(follow(folder), folder).spent_usd is None


def test_the_rate_is_of_what_was_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr("grounding.report.html.queuefollow.time.monotonic", lambda: now)
    folder = tmp_path / "run"
    queues.begin(folder, queues.asked("a", "b"), 400)
    queues.answer(folder, queues.kinds(100))
    follower = follow(folder)
    assert look(follower, folder).rate_per_s is None  # They may have come at any time.
    now += 10
    queues.answer(folder, [queues.prediction(number) for number in range(100, 109)])
    assert look(follower, folder).rate_per_s == pytest.approx(0.9)
    for _ in range(20):
        now += 10
        last = look(follower, folder)
    assert last.rate_per_s == 0


@pytest.mark.parametrize("name", ["predictions.jsonl", "plans.jsonl", "steps.jsonl", "probe.json"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    queues.begin(folder, queues.asked("a", "b"))
    (folder / name).write_bytes(b'{"nonsense": }\n')
    with pytest.raises(UserError, match=name.replace(".", r"\.")):
        look(follow(folder), folder)
    seen = RunWatch(folder, Shelf()).look(NEVER)
    assert name in seen.problem
    assert seen.info is not None


def test_runs_over_the_same_steps_share_an_index(tmp_path: Path) -> None:
    shelf = Shelf()
    same = [queues.begin(tmp_path / name, queues.asked("a", name)) for name in ("one", "two")]
    other = queues.begin(tmp_path / "three", queues.asked("a", "b", fingerprint="other"))
    one, two, three = (shelf.index(run.path / "steps.jsonl", run.read_info().asked) for run in (*same, other))
    assert one is two
    assert one is not three
    shelf.close()


def test_steps_are_found_by_their_ids(tmp_path: Path) -> None:
    queues.begin(tmp_path / "run", queues.asked("a", "b"), 500)
    index = StepIndex(tmp_path / "run" / "steps.jsonl")
    while not index.read_on(time.monotonic()):
        pass
    assert len(index) == 450
    numbers = list(range(500))
    random.Random(1).shuffle(numbers)
    for number, place in zip(numbers, index.places([f"1/{number}" for number in numbers]).tolist(), strict=True):
        assert (place < 0) == (number % 10 == 9)
        if place >= 0:
            assert index.step(place).id == f"1/{number}"
    assert index.places(["nobody"]).tolist() == [-1]
    index.close()


def test_a_file_that_is_not_there_yet_has_no_lines(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "later.jsonl")
    assert tail.look()
    assert list(tail.pieces(NEVER)) == []
    tail.path.write_bytes(b"a\nb\nc")
    assert tail.look()
    assert list(tail.pieces(NEVER)) == [[b"a", b"b"]]
    assert tail.left == 1
