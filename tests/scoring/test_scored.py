import pytest

from grounding.records import Session
from grounding.scoring import join

from .builders import Played, step, verdict


def test_steps_are_put_beside_their_verdicts_by_task():
    sessions = Played({"1": {"a": "+. -+", "b": "..", "c": "?"}, "2": {"a": "u"}}).joined()
    assert [s.participant for s in sessions] == ["1", "2"]
    assert [s.skipped for s in sessions] == [3, 0]
    assert [[t.label for t in s.tasks] for s in sessions] == [["a", "c"], ["a"]]  # nothing of b is scored
    outcomes = [[scored.verdict.outcome for scored in task.steps] for task in sessions[0].tasks]
    assert outcomes == [["hit", "miss", "hit"], ["missing"]]


@pytest.mark.parametrize(
    ("line", "hits"),
    [
        ("+", (True,)),
        ("++ +- -", (True, False, False)),
        (".+ .. +", (True, True)),  # the second instruction has no scored step
        ("u e m ?", (False,) * 4),
    ],
)
def test_an_instruction_is_right_when_all_its_scored_steps_are(line, hits):
    (session,) = Played({"1": {"t": line}}).joined()
    assert session.tasks[0].instruction_hits() == hits


def test_verdicts_of_other_steps_are_ignored():
    played = Played({"1": {"t": "+"}, "2": {"t": "-"}})
    (session,) = join(played.sessions[:1], played.verdicts)
    assert session.tasks[0].steps[0].is_hit


def test_what_does_not_fit_together_is_refused():
    played = Played({"1": {"t": "+"}})
    with pytest.raises(ValueError, match="1/1 has two verdicts"):
        join(played.sessions, [*played.verdicts, verdict("1/1", "miss")])
    with pytest.raises(ValueError, match="participant 1 has two sessions"):
        join(played.sessions * 2, played.verdicts)
    with pytest.raises(ValueError, match="two steps carry the id 1/1"):
        join([Session(participant="1", steps=(step("1/1"), step("1/1")))], [])
