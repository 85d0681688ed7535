"""Names by which the runs on one page can be told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from grounding.records import Record
from grounding.runfolder import Asked, AskedTranscript


class Unnamed(Record, frozen=True, kw_only=True):
    """A run that wants a name: what it is called, what it was asked (None where it has not begun), and its id."""

    name: str
    asked: Asked | None
    run_id: str


def names_apart(runs: Sequence[Unnamed]) -> tuple[str, ...]:
    """A name for each, all of them different.

    Where runs are called the same, what differs in what they were asked is added; where that is nothing that can be
    said in a word, the end of the run's id.
    """
    by_name: dict[str, list[int]] = {}
    for at, run in enumerate(runs):
        by_name.setdefault(run.name, []).append(at)
    found = [run.name for run in runs]
    for name, places in by_name.items():
        if len(places) == 1:
            continue
        asked = [runs[at].asked for at in places]
        differing = [
            field
            for field in range(len(_words(next((one for one in asked if one is not None), None))))
            if len({_words(one)[field] for one in asked if one is not None}) > 1
        ]
        for at, one in zip(places, asked, strict=True):
            more = [_words(one)[field] for field in differing] if one is not None else []
            found[at] = " · ".join(filter(None, (name, *more)))
    times = Counter(found)
    return tuple(
        name if times[name] == 1 else f"{name} ({run.run_id.rpartition('_')[2]})"
        for name, run in zip(found, runs, strict=True)
    )


def _words(asked: Asked | None) -> tuple[str, ...]:
    """What a run was asked beside its models, in a word each."""
    if asked is None:
        return ()
    return (
        asked.dataset,
        PurePath(asked.questions).stem,
        asked.select,
        asked.transcript.condition if isinstance(asked.transcript, AskedTranscript) else "true words",
        f"history {asked.history}",
        f"over the {asked.history_scope}",
        "plan ahead" if asked.plan_ahead else "plan each step",
        f"seed {asked.seed}",
        f"epoch {asked.epoch if isinstance(asked.epoch, int) else 1}",
        f"version {asked.version}",
    )
