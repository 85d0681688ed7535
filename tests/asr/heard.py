"""Short ways to write runs under several sources of transcripts."""

from __future__ import annotations

from collections.abc import Mapping

from scoring.builders import Played

from grounding.asr.ablation import HeardRun
from grounding.asr.spoken import Spoken, Transcripts, score_words
from grounding.asr.substitution import instructions_of
from grounding.records import Failure

Lines = dict[str, dict[str | int, str]]


def transcripts(
    played: Played,
    condition: str,
    heard: Mapping[str, str],
    *,
    failures: Mapping[str, Failure] | None = None,
    said: str = "open the shopping cart now",
) -> Transcripts:
    """What was heard, by the id of an instruction's first step; the rest was heard as it was said."""
    spoken = tuple(
        Spoken(
            participant=one.participant,
            task=one.task,
            instruction_index=one.instruction_index,
            steps=one.steps,
            reference=said,
            heard="" if one.steps[0] in (failures or {}) else heard.get(one.steps[0], said),
            clip_id=f"clip {one.steps[0]}",
            clip_sha256="ab" * 32,
            audio="/nowhere/1.flac",
            failure=(failures or {}).get(one.steps[0]),
        )
        for one in instructions_of(played.sessions)
    )
    return Transcripts(
        condition=condition, recogniser="r", noise="", source="s", score=score_words(spoken), spoken=spoken
    )


def run(condition: str, lines: Lines, told: Transcripts | None = None) -> HeardRun:
    """A run with outcomes as in :class:`scoring.builders.Played`."""
    played = Played(lines)
    return HeardRun(
        condition=condition,
        folder=f"results/{condition}",
        transcripts=told,
        summary=played.summary(),
        tasks=tuple(task for session in played.joined() for task in session.tasks),
    )


def heard_run(
    condition: str, lines: Lines, heard: Mapping[str, str], *, failures: Mapping[str, Failure] | None = None
) -> HeardRun:
    """The same under a source of transcripts."""
    return run(condition, lines, transcripts(Played(lines), condition, heard, failures=failures))
