"""From the files in a folder to the state that a document was in, however the program ended."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from annotate.events import CHANGES, VERSION, Event, Reloaded, Saved, Saving, Started
from annotate.folders import Found
from annotate.history import History, match
from annotate.journal import Damaged, read_journal
from annotate.native_file import NativeFile, new_native, read_native, write_native
from annotate.records import Entry
from annotate.side_folder import Recorder, SideFolder
from grounding.errors import UserError

_BUGS_OF_A_JOURNAL = (KeyError, IndexError, ValueError)
"""What events raise that don't fit the document: a step that is none, a list of another length."""


class Restored:
    """A document's state. ``known`` is the hash of the file that ``history`` was saved as last, None for no file.

    ``recovered`` changes are in ``history`` and not in that file. ``unwritten`` says that there is no file though there
    was one.
    """

    def __init__(self, history: History, recorder: Recorder, known: str | None) -> None:
        self.history = history
        self.recorder = recorder
        self.known = known
        self.recovered = 0
        self.unwritten = False
        self.notes: list[str] = []


def restore(found: Found, side: SideFolder) -> Restored:
    """Read the questions file and the journal.

    Raises:
        UserError: one of them can't be read, or the file is no JSON list.
    """
    content = _read(found.file) if found.exists else None
    try:
        events, end = read_journal(side.journal)
    except FileNotFoundError:
        return _fresh(found, side, content)
    except OSError as error:
        raise UserError(f"{side.journal}: can't be read: {error.strerror}") from error
    except Damaged as damage:
        return _repaired(found, side, content, damage.events, damage.end, f"line {damage.line} is damaged")
    if not events:
        return _fresh(found, side, content)
    started = events[0]
    if isinstance(started, Started) and started.version != VERSION:
        raise UserError(
            f"{side.journal}: was written by another version of this program (its format is {started.version}, ours "
            f"{VERSION}): use that one, or move {side.path} away, which forgets what could be undone"
        )
    try:
        return _replayed(found, side, content, events, end)
    except UserError as error:
        return _repaired(found, side, content, (), 0, str(error))
    except _BUGS_OF_A_JOURNAL as error:
        return _repaired(found, side, content, (), 0, f"it does not fit together ({type(error).__name__}: {error})")


def hash_of(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def take(history: History, file: NativeFile, content: bytes, recorder: Recorder) -> Reloaded:
    """Put a file that somebody else wrote in the place of the present state; the event has to be recorded yet."""
    event = Reloaded(snapshot=hash_of(content), items=match(history, file))
    history.reload(event, file)
    recorder.put_off(event, content)
    return event


def _fresh(found: Found, side: SideFolder, content: bytes | None) -> Restored:
    recorder = Recorder(side)
    if content is None:
        file = new_native([Entry(image=picture) for picture in found.pictures])
        start = write_native(file, [place.item.text for place in file.places], [place.gap for place in file.places])
        # What is written is what is read again when the journal is: they must be the same.
        file = read_native(start, found.file)
    else:
        start = content
        file = read_native(content, found.file)
    recorder.put_off(Started(snapshot=hash_of(start), exists=content is not None), start)
    return Restored(History(file), recorder, None if content is None else hash_of(content))


def _replayed(found: Found, side: SideFolder, content: bytes | None, events: Sequence[Event], end: int) -> Restored:
    current = None if content is None else hash_of(content)
    confirmed = max(
        index for index, event in enumerate(events) if index == 0 or isinstance(event, Started | Saved | Reloaded)
    )
    marks = [index for index in range(confirmed, len(events)) if _file_at(events[index]) == (current,)]
    known_mark = marks[-1] if marks else None
    mark = confirmed if known_mark is None else known_mark
    history = _replay(side, events, mark)
    (known,) = _file_at(events[mark]) or (None,)
    restored = Restored(history, Recorder(side, end=end), known)
    if history.dirty:
        restored.recovered = sum(isinstance(event, CHANGES) for event in events[mark + 1 :])
    if known_mark is not None:
        return restored
    if content is None:
        restored.known = None
        restored.unwritten = True
        restored.notes.append(
            f"{found.file.name} is gone. What it held is here, from the journal, and saving writes it again; to start "
            f"afresh, move {side.path} away, too."
        )
    elif history.dirty:
        restored.notes.append(
            f"{found.file.name} was changed by another program while changes made here were not saved yet. Yours are "
            "shown; nothing is written before you choose between the two."
        )
    else:
        take(history, read_native(content, found.file), content, restored.recorder)
        restored.known = current
    return restored


def _replay(side: SideFolder, events: Sequence[Event], mark: int) -> History:
    started = events[0]
    if not isinstance(started, Started):
        raise UserError("it does not begin as a journal does")
    history = History(read_native(side.kept(started.snapshot), side.journal))
    for index, event in enumerate(events):
        if isinstance(event, Reloaded):
            history.reload(event, read_native(side.kept(event.snapshot), side.journal))
        else:
            history.apply(event)
        if index == mark:
            history.mark_saved()
    return history


def _file_at(event: Event) -> tuple[str | None] | None:
    """The hash of the file that the state at an event is, or is about to be; (None,) for no file; None for neither."""
    if isinstance(event, Started):
        return (event.snapshot if event.exists else None,)
    if isinstance(event, Reloaded):
        return (event.snapshot,)
    if isinstance(event, Saving | Saved):
        return (event.sha256,)
    return None


def _repaired(
    found: Found, side: SideFolder, content: bytes | None, events: Sequence[Event], end: int, why: str
) -> Restored:
    """Go on from what of the journal is whole; the file, which may be newer, counts, and what was before is undone."""
    restored = None
    if events:
        try:
            restored = _replayed(found, side, content, events, end)
        except (UserError, *_BUGS_OF_A_JOURNAL):
            restored = None
    aside = side.set_aside(0 if restored is None else end)
    note = f"The journal could not be read to its end ({why}); a copy of it is {aside}."
    if restored is None:
        restored = _fresh(found, side, content)
        if content is not None:
            note += " The file is shown as it is; what could be undone is lost."
    elif content is not None and (restored.history.dirty or restored.known != hash_of(content)):
        take(restored.history, read_native(content, found.file), content, restored.recorder)
        restored.known, restored.recovered = hash_of(content), 0
        restored.notes.clear()
    restored.notes.append(note)
    return restored


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error
