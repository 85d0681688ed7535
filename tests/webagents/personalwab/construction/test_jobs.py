"""Which instructions are to be written."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.personalwab.construction.jobs import instruction_jobs, profile_subjects
from grounding.webagents.personalwab.construction.records import CutUser
from grounding.webagents.personalwab.construction.splitting import cut_time_line
from grounding.webagents.personalwab.records import Review


def users(texts: list[list[str]]) -> list[CutUser]:
    return [
        CutUser(
            id=f"u{user}",
            behaviours=cut_time_line([Review(asin="B", timestamp_ms=at, text=text) for at, text in enumerate(of_user)]),
        )
        for user, of_user in enumerate(texts)
    ]


@given(st.lists(st.lists(st.sampled_from(["", " ", "fine"]), min_size=2, max_size=40), max_size=8), st.integers(0, 9))
def test_every_behaviour_after_the_history_has_one_instruction(texts: list[list[str]], seed: int) -> None:
    people = users(texts)
    jobs = instruction_jobs(people, "one", seed)
    later = [(user.id, one) for user in people for one in user.behaviours if one.split != "history"]
    assert [(job.user_id, job.behaviour) for job in jobs] == later
    assert all(job.split == job.behaviour.split for job in jobs)
    assert all(job.behaviour.review.text.strip() for job in jobs if job.type == "review")
    assert len({job.id for job in jobs}) == len(jobs)
    every = instruction_jobs(people, "all", seed)
    assert len({job.id for job in every}) == len(every)
    wordless = sum(not one.review.text.strip() for _, one in later)
    assert len(every) == 3 * len(later) - wordless


def test_types_are_about_equally_frequent() -> None:
    counts = Counter(job.type for job in instruction_jobs(users([["fine"] * 12] * 300), "one", 0))
    assert sum(counts.values()) == 600
    assert all(150 < count < 250 for count in counts.values())


def test_a_profile_is_made_of_all_behaviour_or_of_the_history() -> None:
    (user,) = people = users([["fine"] * 20])
    (whole,) = profile_subjects(people, "all", 100)
    assert whole.behaviours == user.behaviours
    (past,) = profile_subjects(people, "history", 100)
    assert {one.split for one in past.behaviours} == {"history"}
    (few,) = profile_subjects(people, "all", 3)
    assert few.behaviours == user.behaviours[-3:]
