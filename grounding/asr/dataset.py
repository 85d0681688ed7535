"""A data set's recordings through recognisers: files of transcripts beside, and the word error rate of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grounding.asr.conditions import Condition, parse_condition
from grounding.asr.obtaining import Hearing, obtain
from grounding.asr.records import Heard
from grounding.asr.spoken import Spoken, Transcripts, slug
from grounding.asr.table import words_text
from grounding.asr.transcripts import transcript_of, write_transcripts
from grounding.asr.units import picture_of
from grounding.display import Progress
from grounding.errors import UserError
from grounding.loaders import load_dataset, participant_folders
from grounding.records import Session
from grounding.report.show import EXIT_OK, EXIT_PARTIAL, wide_console


def transcribe_dataset(
    dataset: str,
    data_dir: Path | None,
    sources: Sequence[str],
    *,
    out: Path | None,
    participants: Sequence[str] = (),
    how: Hearing,
) -> int:
    """Have all recordings heard by each of the sources and print their word error rates.

    Args:
        dataset: The data set's name.
        data_dir: Where it lies, if it is not bundled.
        sources: Conditions that are heard.
        out: Where ``PARTICIPANT/transcriptions_NAME.json`` is written; None for nowhere.
        participants: Only these.
        how: How recognisers are asked.

    Returns:
        The exit code: 1 where some recordings have no transcript.

    Raises:
        UserError: the data set, a source or a file is wrong.
    """
    conditions = [_heard(text) for text in sources]
    loaded = load_dataset(dataset, data_dir, participants=participants)
    folders = participant_folders(dataset, data_dir)
    chosen = frozenset(step.id for session in loaded.sessions for step in session.steps)
    table = Table(title=Text(f"{dataset}: word error rates"), title_style="bold", title_justify="left")
    for heading in ("transcript", "WER %", "words", "substituted", "left out", "added", "recordings", "none", "time"):
        table.add_column(heading, justify="left" if heading == "transcript" else "right", overflow="fold")
    lacking, written = 0, []
    for condition in conditions:
        obtained = obtain(
            condition, loaded.sessions, folders, chosen=chosen, how=how, phase=Progress(how.display).phase
        )
        told = obtained.transcripts
        if told is None:
            continue
        lacking += told.failures()
        table.add_row(*map(Text, _cells(told)))
        if out is not None:
            written += _write(out, condition, told, obtained.heard, loaded.sessions, folders)
    console = wide_console(120)
    console.print(table)
    for path in written:
        console.print(Text(f"written {path}"), soft_wrap=True, highlight=False)
    return EXIT_PARTIAL if lacking else EXIT_OK


def _heard(text: str) -> Condition:
    condition = parse_condition(text)
    if not condition.is_heard:
        raise UserError(
            f"--asr {text}: nothing is heard there; name a recogniser, such as pocketsphinx or whisper:turbo"
        )
    return condition


def _cells(told: Transcripts) -> list[str]:
    of, score = told.score.errors, told.score
    recordings = {one.clip_id: one for one in told.spoken if one.clip_id}
    audio_s = sum(one.audio_s for one in recordings.values())
    compute_s = sum(one.compute_s for one in recordings.values())
    factor = f"{compute_s:.0f} s, factor {compute_s / audio_s:.2f}" if compute_s and audio_s else "kept"
    return [
        told.condition,
        words_text(score),
        f"{of.reference_words:,}",
        *(f"{count:,}" for count in (of.substitutions, of.deletions, of.insertions)),
        f"{len(recordings):,}",
        f"{told.failures():,}",
        factor,
    ]


def _write(
    out: Path,
    condition: Condition,
    told: Transcripts,
    heard: Mapping[str, Heard],
    sessions: Sequence[Session],
    folders: Mapping[str, Path],
) -> list[Path]:
    paths = []
    for session in sessions:
        folder = folders[session.participant]
        pictures = {step.id: picture_of(step, folder) for step in session.steps}
        entries = [
            transcript_of(heard[one.clip_id], audio=_audio(one, folder), steps=[pictures[step] for step in one.steps])
            for one in told.spoken
            if one.participant == session.participant and one.failure is None
        ]
        path = out / session.participant / f"transcriptions_{slug(condition.label)}.json"
        write_transcripts(path, entries)
        paths.append(path)
    return paths


def _audio(one: Spoken, folder: Path) -> str:
    path = Path(one.audio)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
