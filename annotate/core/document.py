"""One participant's folder, open for annotation: entries, changes, undo, saving. No window, no threads.

Every change is in the journal on disk before it is in memory, and the questions file is written from memory whenever
``save`` is called. The journal's events; a step is its position in the list that it started with::

    {"do": "start", "version": 4, "sha256": …, "values": […]}   the file it started from, or went on from (null: none)
    {"do": "change", "steps": {"3": …}, "what": …, "joined": …}   new values of steps
    {"do": "undo", "steps": [3]}   {"do": "redo", "steps": [3]}
    {"do": "saving", "sha256": …}   {"do": "saved", "sha256": …}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.errors import UserError

from .folders import Found, find, locate, upright_size
from .journal import (
    ChangedOnDisk,
    EditJournal,
    Event,
    SaveFailed,
    hash_of,
    in_words,
    read_list,
    replace_file,
    write_list,
)
from .native import NativeItem, new_item, read_issues, read_item, settle, write_item
from .records import AnnotatedStep
from .words import words_of_steps

VERSION = 4
_BAD_JOURNAL = (LookupError, ValueError, TypeError, AttributeError, RecursionError)
"""What events raise that are damaged or fit no step."""
_CHOICE = "Choose: take the file as it is now (your version is kept beside the journal), or write yours over it."


class _Value:
    """One value of a step, as the file has it or will, and what made it; ``group`` is that of a change of several."""

    def __init__(self, value: Any, what: str = "", group: int = 0) -> None:
        self.value, self.what, self.group = value, what, group

    @cached_property
    def item(self) -> NativeItem:
        return read_item(self.value)


class _Step:
    """All values of one step, the present one at ``now``; those behind it can be made again."""

    def __init__(self, value: Any) -> None:
        self.values = [_Value(value)]
        self.now = 0

    @property
    def current(self) -> _Value:
        return self.values[self.now]

    def made(self, by: int) -> _Value | None:
        """What undo (-1) would take back, or redo (1) make again."""
        at = self.now + max(by, 0)
        return self.values[at] if 0 < at < len(self.values) else None

    def push(self, value: _Value, *, joined: bool) -> None:
        """A new value; one of the same movement takes the place of the one before it."""
        self.now += not (joined and self.now)
        self.values[self.now :] = [value]


class Document:
    """The steps of one questions file, in memory. One thread owns it.

    ``recovered`` counts the changes that the journal held and the file did not. ``notes`` are to be told once, after
    opening. ``annotator`` is whose name a changed entry gets; "" leaves the entry's own.
    """

    def __init__(self, folder: Path, found: Found, journal: EditJournal, annotator: str) -> None:
        self.folder, self.file, self.annotator = folder, found.file, annotator
        self.recovered = 0
        self.notes: list[str] = []
        self._journal = journal
        self._steps: list[_Step] = []
        self._groups = 0
        self._saved: list[Any] = []
        self._foreign = self._unwritten = self._closed = False
        self._said: Mapping[str, tuple[str, str]] = {}
        self._entries: tuple[AnnotatedStep, ...] | None = None
        self._ours: set[str | None] = set()
        """The hashes of the file that are no change by others: the last one, and while saving the next one."""
        self._restore(found)

    @classmethod
    def open(cls, folder: Path, *, annotator: str = "") -> Document:
        """Open a participant's folder in the release layout, or a plain folder of images; others are kept out of it.

        Raises UserError: there is nothing to annotate, the file is no JSON list, or another program has the folder
        open.
        """
        found = find(folder, QUESTIONS)
        journal = EditJournal(folder, found.file.name)
        with ExitStack() as undone:
            undone.callback(journal.close)
            warning = journal.lock()
            document = cls(folder, found, journal, annotator)
            if warning:
                document.notes.append(warning)
            if document._foreign:
                name = found.file.name
                document.notes.append(f"{name} is set out as this program does not write: the first save reformats it.")
            try:
                document.reload_transcripts()
            except UserError as error:
                document.notes.append(f"No transcripts are shown: {error}.")
            undone.pop_all()
        return document

    @property
    def entries(self) -> Sequence[AnnotatedStep]:
        """The steps as they are now, frozen."""
        if self._entries is None:
            self._entries = tuple(
                replace(entry, transcript=self._said[entry.image][0]) if entry.image in self._said else entry
                for entry in (step.current.item.entry for step in self._steps)
            )
        return self._entries

    @property
    def dirty(self) -> bool:
        """Whether the steps differ from the file as it was last read or saved here. Cheap."""
        return self._unwritten or self._values() != self._saved

    @property
    def trouble(self) -> str:
        """Why changes are only in memory now (disk full, folder not writable), as a sentence; "" if they are safe."""
        return self._journal.trouble

    def transcript_source(self, index: int) -> str:
        """Whose words ``Entry.transcript`` is: ``what was said``, ``heard by pocketsphinx`` …; "" without any."""
        return self._said.get(self.entries[index].image, ("", ""))[1]

    def image_path(self, index: int) -> Path:
        return locate(self.folder, self.entries[index].image)

    def issues(self, index: int) -> list[str]:
        """What is odd about a step: fields of a wrong type, a picture that is missing, damaged or stored turned."""
        found = [f"{field} {what}".strip() for field, what in read_issues(self._steps[index].current.item)]
        try:
            turned = upright_size(self.image_path(index))[1]
        except UserError as error:
            return [*found, f"final_image {error}"]
        if turned != 1:
            found.append(
                f"final_image is stored turned (EXIF orientation {turned}): boxes are drawn on the picture as shown, "
                "the evaluation reads it as it is stored; save the picture upright"
            )
        return found

    def first_todo(self) -> int | None:
        return next((index for index, entry in enumerate(self.entries) if entry.state == "todo"), None)

    def _values(self) -> list[Any]:
        return [step.current.value for step in self._steps]

    def change(self, index: int, entry: AnnotatedStep, what: str, *, joined: bool = False) -> None:
        """Take a new value for a step: into the journal (on disk when this returns), then into memory.

        ``what`` was done, for undo; ``joined`` is part of the same movement as the change before it. Where the journal
        can't be written, ``trouble`` says why, and it is written later. Raises UserError: the step is no object in the
        file.
        """
        self.change_together({index: entry}, what, joined=joined)

    def change_together(self, entries: Mapping[int, AnnotatedStep], what: str, *, joined: bool = False) -> None:
        """Change several steps, as ``change`` does; undo in one of them takes it back in all that it is the last of."""
        values: dict[str, Any] = {}
        for index, entry in entries.items():
            item = self._steps[index].current.item
            if not item.is_object:
                why = "is not an object, and has no fields to change: correct it there"
                raise UserError(f"{self.file}: item {index} {why}")
            old = item.entry
            new = replace(settle(entry, item), transcript="", at=old.at, annotator=old.annotator)
            if new != old:
                new = replace(new, at=_now(), annotator=self.annotator or entry.annotator)
                values[str(index)] = write_item(item, new)
        if values:
            self._do({"do": "change", "steps": values, "what": what, "joined": joined})

    def undo(self, index: int) -> str | None:
        return self._again("undo", index)

    def redo(self, index: int) -> str | None:
        return self._again("redo", index)

    def _again(self, do: str, index: int) -> str | None:
        made = [step.made(-1 if do == "undo" else 1) for step in self._steps]
        here = made[index]
        if here is None:
            return None
        together = [at for at, one in enumerate(made) if one is not None and one.group == here.group]
        self._do({"do": do, "steps": together if here.group else [index]})
        return here.what

    def _do(self, event: Event) -> None:
        if self._closed:
            raise ValueError("the document is closed")
        try:
            self._journal.record(event)
        finally:
            # Also where Ctrl-C comes in between: the event waits to be written then.
            self._apply(event)

    def _apply(self, event: Event) -> None:
        do = event["do"]
        if do == "start":
            self._steps = [_Step(value) for value in event["values"]]
        elif do == "change":
            self._groups += 1
            group = self._groups if len(event["steps"]) > 1 else 0
            for key, value in event["steps"].items():
                self._steps[int(key)].push(_Value(value, event["what"], group), joined=event["joined"])
        elif do in ("undo", "redo"):
            for number in event["steps"]:
                self._steps[number].now += -1 if do == "undo" else 1
        self._entries = None

    def save(self, *, overwrite: bool = False) -> None:
        """Write the questions file where something differs, whole or not at all; the one before it is kept beside it.

        With ``overwrite``, a version that somebody else wrote is kept in the side folder. Raises ChangedOnDisk:
        somebody else changed or deleted the file. Raises SaveFailed: disk full, no permission …; the file is as it was.
        """
        work = "in memory only: leave the program open" if self.trouble else "kept in memory and in the journal"
        try:
            theirs = self.file.read_bytes() if self.file.exists() else None
            foreign = _hash(theirs) not in self._ours
            if not self.dirty and not (foreign and overwrite):
                return
            if foreign and not overwrite:
                what = "has been deleted" if theirs is None else "was changed by another program"
                raise ChangedOnDisk(f"{self.file} {what} since it was read here: nothing was written. {_CHOICE}")
            values = self._values()
            content = write_list(values)
            sha256 = hash_of(content)
            if foreign and theirs is not None:
                self._journal.keep(theirs)
            self._ours = self._ours | {sha256}
            self._journal.record({"do": "saving", "sha256": sha256})
            replace_file(self.file, content, previous=self.file.with_name(f"{self.file.name}.previous"))
        except OSError as error:
            why = in_words(error, self.file)
            raise SaveFailed(f"Not saved: {why}. Your work is {work}; put this right, and it is saved.") from error
        self._ours, self._saved, self._unwritten = {sha256}, values, False
        self._foreign = False
        self._journal.record({"do": "saved", "sha256": sha256}, sync=False)

    def changed_on_disk(self) -> bool:
        """Whether the file's content differs from what was last read or saved here, or is gone; by its hash."""
        try:
            return _hash(self.file.read_bytes() if self.file.exists() else None) not in self._ours
        except OSError:
            return True

    def reload(self) -> None:
        """Go on from the file on disk; ours is kept beside the journal. Raises UserError: no file, or ours not kept."""
        content = _content(self.file)
        values, self._foreign = read_list(content, self.file)
        try:
            if self.dirty:
                self._journal.keep(write_list(self._values()))
        except OSError as error:
            raise SaveFailed(f"Your version can't be kept: {in_words(error, self._journal.folder)}.") from error
        self._start(values, content)
        self._journal.record()

    def reload_transcripts(self) -> None:
        """Read the transcriptions files again, after one was corrected. Raises UserError: one can't be read."""
        self._said = words_of_steps(self.folder, [step.current.item.entry for step in self._steps])
        self._entries = None

    def close(self) -> None:
        """Let other programs into the folder. Does not save. May be called twice."""
        if not self._closed:
            self._closed = True
            self._journal.close()

    def __enter__(self) -> Document:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _restore(self, found: Found) -> None:
        content = _content(found.file) if found.exists else None
        try:
            events = self._journal.read()
            ours = bool(events) and self._replay(content, events)
        except _BAD_JOURNAL as error:
            # The file counts.
            aside = self._journal.set_aside()
            self.notes.append(f"The journal could not be read ({error}); it is kept as {aside}.")
            events, ours = [], False
        if events and content is None and not ours:
            self._ours, self._unwritten = {None}, True
            self.notes.append(
                f"{self.file.name} is gone. What it held is here, from the journal, and saving writes it again; to "
                f"start afresh, move {self._journal.folder} away, too."
            )
        elif events and not ours and self.dirty:
            self.notes.append(
                f"{self.file.name} was changed by another program while changes made here were not saved yet. Yours "
                "are shown; nothing is written before you choose between the two."
            )
        else:
            values: list[Any] = [new_item(AnnotatedStep(image=picture)).value for picture in found.pictures]
            if content is not None:
                values, self._foreign = read_list(content, self.file)
            if not ours:
                self._start(values, content)

    def _start(self, values: list[Any], content: bytes | None) -> None:
        event = {"do": "start", "version": VERSION, "sha256": _hash(content), "values": values}
        self._apply(event)
        self._journal.put_off(event)
        self._saved, self._ours = self._values(), {_hash(content)}
        self.recovered, self._unwritten = 0, False

    def _replay(self, content: bytes | None, events: Sequence[Event]) -> bool:
        """Make the state that the events give; whether the file on disk is one of them."""
        if events[0]["version"] != VERSION:
            raise ValueError("another version of this program wrote it")
        firm = max(at for at, event in enumerate(events) if event["do"] in ("start", "saved"))
        same = [at for at in range(firm, len(events)) if events[at].get("sha256", "") == _hash(content)]
        mark = same[-1] if same else firm
        for at, event in enumerate(events):
            self._apply(event)
            if at == mark:
                self._saved = self._values()
        self._ours = {events[mark]["sha256"]}
        if self.dirty:
            self.recovered = sum(event["do"] in ("change", "undo", "redo") for event in events[mark + 1 :])
        return bool(same)


def _hash(content: bytes | None) -> str | None:
    return None if content is None else hash_of(content)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
