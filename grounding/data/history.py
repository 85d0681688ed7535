"""The history file of the RealWebAssist layout: what may be told of earlier steps, one entry per item."""

import os
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from grounding.data.fields import DatasetProblems, Fields, Problem, read_json_list, shorten
from grounding.data.fingerprint import fingerprint
from grounding.data.folders import ParticipantFolder, describe, match_name
from grounding.records import Dataset, Failure, HistoryEntry, Record, Session, Step

AUTO = "auto"
IF_PRESENT = "if-present"

AUTO_FILES = ("extracted_actions_gt.json", "extracted_actions.json")
"""What ``auto`` looks for, in this order. The first is what the official evaluator reads, in whatever case."""


def choose_history_file(history: str | None, folders: Sequence[ParticipantFolder]) -> str | None:
    """The name to look for in every participant's folder; None for no history.

    For ``auto`` it is the first of ``AUTO_FILES`` that any participant has: all participants are read from files of
    one kind, and one who lacks it is a problem, not an exception. ``if-present`` is the same, and None where no
    participant has one.
    """
    if history is None or history.casefold() not in (AUTO, IF_PRESENT):
        return history
    present = [name for name in AUTO_FILES if any(match_name(name, folder.files) for folder in folders)]
    if not present and history.casefold() == IF_PRESENT:
        return None
    return present[0] if present else AUTO_FILES[0]


def read_history(
    folder: ParticipantFolder,
    wanted: str,
    expected_items: int | None,
    problems: list[Problem],
    oddities: list[Problem],
) -> list[HistoryEntry]:
    """The entries of the file called ``wanted`` in upper or lower case, which belong to the questions' first items.

    ``instruction`` and ``extracted_action`` are read, both "" where absent or null. A file that is not there is a
    problem: the official evaluator runs without any history then, and does not say so. A number of entries that is not
    ``expected_items``, that of the questions, is an oddity.
    """
    found = match_name(wanted, folder.files)
    if found is None:
        json_files = [name for name in folder.files if name.casefold().endswith(".json")]
        problems.append(
            Problem(
                file=str(folder.path),
                field="history",
                value=shorten(wanted),
                what=f"the history file is not there ({describe(json_files)})",
                fix="add it, choose another history file, have one written (grounding caption), or run without history",
            )
        )
        return []
    path = folder.path / found
    items = read_json_list(path, problems)
    if items is None:
        return []
    if expected_items is not None and len(items) != expected_items:
        oddities.append(
            Problem(
                file=str(path),
                what=f"has {len(items)} entries where {folder.questions} has {expected_items} items",
                fix="they belong together by position, counted from the first: see that both files are of one release",
            )
        )
    return [_read_entry(value, item, str(path), problems) for item, value in enumerate(items)]


def _read_entry(value: object, item: int, file: str, problems: list[Problem]) -> HistoryEntry:
    if not isinstance(value, dict):
        what = "must be an object with instruction and extracted_action"
        problems.append(Problem(file=file, item=item, value=shorten(value), what=what, fix="correct it"))
        return HistoryEntry(instruction="", action="")
    fields = Fields(file, item, value, problems)
    fix = "correct it or leave the field out"
    return HistoryEntry(
        instruction=fields.optional_text("instruction", fix), action=fields.optional_text("extracted_action", fix)
    )


Format = Literal["grounding captions 1"]
FORMAT: Format = "grounding captions 1"
_NAMED = "the name of the history file in every participant's folder"


class CaptionedStep(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was seen and said at a step and, in words, what was done there; or why nobody could say.

    ``before_sha256`` is the step's screenshot, ``after_sha256`` the next one of the session, None at its last step.
    A step has an action, or a failure; one with neither was not asked about yet.
    """

    step_id: str
    instruction: str
    before_sha256: str
    after_sha256: str | None = None
    action: str | None = None
    failure: Failure | None = None


class CaptionFile(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """A whole file. ``identity`` is canonical text of model, prompt, image rule and parameters."""

    format: Format
    dataset: str
    captioner: str
    prompt: str
    identity: str
    steps: tuple[CaptionedStep, ...]


def next_screenshots(steps: Sequence[Step]) -> list[str | None]:
    """For each step of a session, the hash of the screenshot after it; None at the last."""
    return [*(step.screenshot.sha256 for step in steps[1:]), None] if steps else []


def caption_path(history: str | None) -> Path | None:
    """The path that a user gave as the history file; None where it is a name to look for in participants' folders. A
    name without a folder is a path where such a file of captions lies in the working folder.
    """
    if history is None:
        return None
    path = Path(history).expanduser()
    if path.parent != Path() or os.sep in history:
        return path
    try:
        with path.open("rb") as file:
            return path if file.read(64).lstrip()[:1] == b"{" else None
    except OSError:
        return None


def read_captions(path: Path) -> CaptionFile:
    """Read a file of captions. Raises DatasetProblems: it can't be read, or is not such a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        what = f"the file of captions can't be read ({error.strerror})"
        fix = f"give the path of a file that `grounding caption` wrote, or {_NAMED}"
        raise DatasetProblems([Problem(file=str(path), what=what, fix=fix)]) from error
    if content.lstrip()[:1] == b"[":
        what, fix = "is a list, as history files of a release are", f"give {_NAMED} instead of a path"
        raise DatasetProblems([Problem(file=str(path), what=what, fix=fix)])
    try:
        return msgspec.json.decode(content, type=CaptionFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what, fix = f"is not a file of captions: {error}", "write one with `grounding caption`"
        raise DatasetProblems([Problem(file=str(path), what=what, fix=fix)]) from error


def with_captions(dataset: Dataset, path: Path, participants: Collection[str] = ()) -> Dataset:
    """A data set that was loaded without history with the captions of a file as its history, and its new fingerprint.

    Every step of the participants (all, or those named) must have been asked about, over the same screenshots and with
    the same words. One for which no caption came has no entry. Others' captions are taken where the file has them.
    Raises DatasetProblems: the file is none, or is not about this data set, or is not finished.
    """
    captions = read_captions(path)
    by_id = {step.step_id: step for step in captions.steps}
    problems: list[Problem] = []
    sessions = tuple(
        _captioned(session, by_id, not participants or session.participant in participants, path, problems)
        for session in dataset.sessions
    )
    if not problems and not any(step.history_entry for session in sessions for step in session.steps):
        what, fix = "has no caption at all: every step failed", "see the failures in it, and caption again"
        problems.append(Problem(file=str(path), what=what, fix=fix))
    if problems:
        raise DatasetProblems(problems)
    return msgspec.structs.replace(
        dataset,
        sessions=sessions,
        fingerprint=fingerprint(sessions),
        history_file=f"captions:{captions.captioner}",
    )


def _captioned(
    session: Session, by_id: dict[str, CaptionedStep], needed: bool, path: Path, problems: list[Problem]
) -> Session:
    steps: list[Step] = []
    unasked: list[str] = []
    other: list[str] = []
    for step, after_sha256 in zip(session.steps, next_screenshots(session.steps), strict=True):
        found = by_id.get(step.id)
        if found is None or (found.action is None and found.failure is None):
            unasked.append(step.id)
        elif (found.instruction, found.before_sha256, found.after_sha256) != (
            step.instruction,
            step.screenshot.sha256,
            after_sha256,
        ):
            other.append(step.id)
        elif found.action is not None:
            step = msgspec.structs.replace(
                step, history_entry=HistoryEntry(instruction=found.instruction, action=found.action)
            )
        steps.append(step)
    for ids, what, fix in (
        (
            other,
            "were captioned over other screenshots or words",
            "use captions made of this data set and questions file",
        ),
        (unasked if needed else [], "have no caption yet", "run the same `grounding caption` command again to its end"),
    ):
        if ids:
            what = f"{len(ids)} of {len(session.steps)} steps of participant {session.participant} {what}"
            problems.append(Problem(file=str(path), what=what, fix=fix, field="step", value=shorten(ids[0])))
    return msgspec.structs.replace(session, steps=tuple(steps))


HistoryScope = Literal["session", "task"]
"""How far back a window reaches: over the whole session, as the release does, or not beyond the step's own task."""


def history_window(
    steps: Sequence[Step], position: int, length: int, scope: HistoryScope = "session"
) -> tuple[HistoryEntry, ...]:
    """The entries of the last ``length`` steps before a position of one participant's steps, the oldest first.

    Steps without a click count too. With the scope ``session`` the window crosses task boundaries, as in the released
    evaluator; with ``task`` it holds the last ``length`` steps of the step's own task, whatever lies between. It never
    crosses participants: the steps are those of one. A step without an entry (no history file, or nothing could be
    written about it) takes its place in the window and says nothing there.
    """
    task = steps[position].task if scope == "task" and position < len(steps) else None
    before = (steps[index] for index in range(position - 1, -1, -1))
    latest = list(islice((step for step in before if task is None or step.task == task), length))
    return tuple(step.history_entry for step in reversed(latest) if step.history_entry is not None)


def history_text(entries: Sequence[HistoryEntry]) -> str:
    """The window as the released evaluator writes it: numbered from 1 in each window, empty at the first step."""
    return "\n".join(
        f"{number}. Instruction: {entry.instruction}\n   Action: {entry.action}"
        for number, entry in enumerate(entries, start=1)
    )
