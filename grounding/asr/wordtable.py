"""Word errors of a run, or of one file of transcripts against another, as a table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.asr.spoken import pairs_of, read_transcripts
from grounding.asr.transcripts import Transcript, best_match
from grounding.asr.transcripts import read_transcripts as read_file
from grounding.asr.word_errors import Errors, Pair, WordErrors, word_errors
from grounding.errors import UserError
from grounding.report.show import wide_console
from grounding.scoring import Interval


def words_of_run(folder: Path) -> WordErrors:
    """The word errors of what a run was told.

    Raises:
        UserError: the folder is no run, or the run was told the true words.
    """
    if not folder.is_dir():
        raise UserError(
            f"{folder}: expected the folder of a run, or two files: the true transcripts, and those that were heard"
        )
    told = read_transcripts(folder)
    if told is None:
        raise UserError(f"{folder}: has no transcripts.json: it was told the true words, or it is no run")
    return word_errors(pairs_of(told.spoken))


def words_between(reference: Path, heard: Path) -> WordErrors:
    """The word errors of one file against another.

    Entries belong together by their recording, else by their pictures, else by their place; what was not heard counts
    as left out.

    Args:
        reference: The true transcripts.
        heard: What was heard.

    Raises:
        UserError: a file can't be read, or nothing says which entries belong together.
    """
    true, other = _read(reference), _read(heard)
    texts = _matched(true, other, reference, heard)
    return word_errors(
        Pair(clip_id=entry.audio or str(number), participant=reference.parent.name, reference=entry.text, heard=text)
        for number, (entry, text) in enumerate(zip(true, texts, strict=True), start=1)
    )


def _read(path: Path) -> tuple[Transcript, ...]:
    if path.suffix.lower() != ".txt":
        return read_file(path)
    try:
        return tuple(Transcript(text=line) for line in path.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from error


def _matched(true: tuple[Transcript, ...], other: tuple[Transcript, ...], reference: Path, heard: Path) -> list[str]:
    """What was heard for each true transcript; "" where nothing was."""
    if all(entry.audio for entry in (*true, *other)):
        found = [best_match(Path(entry.audio), other) for entry in true]
    elif all(entry.steps for entry in (*true, *other)):
        of_first = {entry.steps[0]: entry for entry in other}
        found = [of_first.get(entry.steps[0]) for entry in true]
    elif len(true) == len(other):
        found = list(other)
    else:
        raise UserError(
            f"{reference} has {len(true)} transcripts and {heard} {len(other)}, and they don't say which belong "
            "together: name the recording (audio) or the pictures (steps) in both"
        )
    if not any(found):
        raise UserError(f"no transcript of {heard} is of a recording or picture in {reference}")
    return ["" if entry is None else entry.text for entry in found]


def print_words(found: WordErrors, *, most: int) -> None:
    """Print the rate, the parts, each participant's, and the most frequent errors."""
    console = wide_console()
    of = found.total
    rate = "-" if of.rate_percent is None else f"{of.rate_percent:.2f} %"
    console.print(
        Text(
            f"WER {rate}{_interval(found.by_clip)}: {of.substitutions:,} substituted, {of.deletions:,} left out, "
            f"{of.insertions:,} added of {of.reference_words:,} words in {len(found.clips):,} recordings"
        ),
        soft_wrap=True,
        highlight=False,
    )
    if found.by_participant is not None:
        console.print(Text(f"interval over participants{_interval(found.by_participant)}"), highlight=False)
    console.print(Text(f"normaliser {found.normaliser}"), highlight=False)
    if len(found.participants) > 1:
        table = Table(title="by participant", title_justify="left", title_style="bold")
        for heading in ("participant", "recordings", "words", "WER %"):
            table.add_column(heading, justify="left" if heading == "participant" else "right")
        for one in found.participants:
            table.add_row(
                Text(one.participant),
                str(one.clips),
                f"{one.errors.reference_words:,}",
                _rate(one.errors, one.interval),
            )
        console.print(table)
    _print_confusions(console, found, most)


def _print_confusions(console: Console, found: WordErrors, most: int) -> None:
    if not found.confusions or most < 1:
        return
    table = Table(title="the most frequent errors", title_justify="left", title_style="bold")
    for heading in ("said", "heard", "times"):
        table.add_column(heading, justify="right" if heading == "times" else "left", overflow="fold")
    for one in found.confusions[:most]:
        table.add_row(Text(one.reference or "-"), Text(one.heard or "-"), f"{one.count:,}")
    console.print(table)


def _rate(errors: Errors, interval: Interval | None) -> str:
    return "-" if errors.rate_percent is None else f"{errors.rate_percent:.1f}{_interval(interval)}"


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval.low:.1f}, {interval.high:.1f}]"
