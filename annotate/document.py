"""One participant's folder, open for annotation: entries, changes, undo, saving. No window, no threads.

State is what the journal and the file it started from give together: every change is on disk before it is in memory,
and the questions file is written from it whenever ``save`` is called. Not thread-safe: one thread owns a document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from annotate.events import (
    Changed,
    Event,
    Inserted,
    OrderRedone,
    OrderUndone,
    Redone,
    Removed,
    Saved,
    Saving,
    Undone,
)
from annotate.folders import find, locate
from annotate.heard import choose_transcripts, read_transcripts, read_typed
from annotate.native_file import read_native
from annotate.native_item import read_item
from annotate.picture_issues import picture_issues
from annotate.picture_size import UprightSize, upright_size
from annotate.records import Entry, Issue
from annotate.restoring import Restored, hash_of, restore, take
from annotate.saving import ChangedOnDisk, SaveFailed, fingerprint, in_words, replace_file
from annotate.settling import settle
from annotate.side_folder import SideFolder
from grounding.errors import UserError
from grounding.loaders.realwebassist import QUESTIONS
from grounding.records import Size


class Document:
    """The steps of one questions file, in memory.

    Attributes:
        folder: The participant's folder, or the plain folder of images.
        file: The questions file. In a plain folder of images it may not exist yet: the first ``save`` writes it.
        recovered: How many changes the journal held that the file did not (the program was killed before saving).
        notes: What to tell the user once, right after opening: in sentences, without line ends.
        annotator: Whose name a changed entry gets; "" leaves the entry's own.
    """

    def __init__(
        self, folder: Path, file: Path, side: SideFolder, restored: Restored, transcripts: Path | None
    ) -> None:
        """Use ``open``."""
        self.folder = folder
        self.file = file
        self.annotator = ""
        self.recovered = restored.recovered
        self.notes: tuple[str, ...] = tuple(restored.notes)
        self._side = side
        self._history = restored.history
        self._recorder = restored.recorder
        self._known = restored.known
        self._attempted = restored.known
        self._unwritten = restored.unwritten
        self._transcripts = transcripts
        self._heard: Mapping[str, str] = {}
        self._shows_typed = True
        self._entries: tuple[Entry, ...] | None = None
        self._sizes: dict[tuple[Path, int, int], UprightSize] = {}
        self._closed = False

    @classmethod
    def open(cls, folder: Path, *, annotator: str = "", questions: str = QUESTIONS, transcripts: str = "") -> Document:
        """Open a participant's folder in the release layout, or a plain folder of images.

        Keeps other programs out of the folder until ``close``. Nothing is written to the questions file. Where the file
        was changed by somebody else since it was last saved here, and no unsaved change of ours is left, their file is
        taken as ``reload`` does; with unsaved changes ours are in memory and ``changed_on_disk`` is true.

        Args:
            folder: The folder.
            annotator: Written into the entries that are changed; "" for nobody.
            questions: Name of the questions file in the folder.
            transcripts: Name of the transcriptions file to take ``Entry.transcript`` from; "" for the first one that a
                recogniser made, or else ``transcriptions_GT.json``. Then, and only then, what was typed at a step
                without a recording comes before what a recogniser heard.

        Raises:
            UserError: there is no such folder, nothing to annotate in it, the file is no JSON list, or another program
                has the folder open.
        """
        found = find(folder, questions)
        side = SideFolder(folder, found.file.name)
        warning = side.lock(annotator=annotator)
        with ExitStack() as undone:
            undone.callback(side.release)
            restored = restore(found, side)
            if warning:
                restored.notes.append(warning)
            restored.notes += found.remarks()
            document = cls(folder, found.file, side, restored, choose_transcripts(folder, transcripts))
            document.annotator = annotator
            document._shows_typed = not transcripts
            try:
                document.reload_transcripts()
            except UserError as error:
                if transcripts:
                    raise
                document.notes += (f"No transcripts are shown: {error}.",)
            # Nothing failed: the folder stays ours until it is closed.
            undone.pop_all()
        return document

    @property
    def entries(self) -> Sequence[Entry]:
        """The steps as they are now, frozen."""
        if self._entries is None:
            self._entries = tuple(map(self._with_transcript, self._history.entries()))
        return self._entries

    @property
    def dirty(self) -> bool:
        """Whether the steps differ from the file as it was last read or saved here. Cheap."""
        return self._unwritten or self._history.dirty

    @property
    def trouble(self) -> str:
        """Why changes are only in memory now (disk full, folder not writable), as a sentence; "" if they are safe."""
        return self._recorder.trouble

    def image_path(self, index: int) -> Path:
        """The picture of a step, an existing file inside the folder.

        Raises:
            UserError: the step names none, or one that is missing or outside the folder.
        """
        return locate(self.folder, self.entries[index].image)

    def image_size(self, index: int) -> Size:
        """Width and height of a step's picture as it is shown upright (EXIF rotation applied), in pixels. Cached.

        Raises:
            UserError: there is no such picture, or it can't be read.
        """
        return self._upright(self.image_path(index)).size

    def issues(self, index: int) -> tuple[Issue, ...]:
        """What is odd about a step: fields of a wrong type, boxes outside the picture, a missing picture."""
        text = self._history.text(self._number(index))
        found = read_item(json.loads(text), text, index).issues
        try:
            picture = self._upright(self.image_path(index))
        except UserError as error:
            return (*found, Issue(index=index, field="final_image", what=str(error)))
        return found + picture_issues(index, self.entries[index], picture)

    def change(self, index: int, entry: Entry, what: str, *, joined: bool = False) -> None:
        """Take a new value for a step: into the journal (on disk when this returns), then into memory.

        Boxes that differ from what the file had become whole pixels. ``at`` and ``annotator`` are filled in here. A
        step with the state ``boxes`` and no box becomes ``todo``. A value equal to the present one is no change. Where
        the journal can't be written, the change is in memory all the same, ``trouble`` says why, and it is written
        later.

        Args:
            index: The step.
            entry: Its new value, made with ``msgspec.structs.replace`` from the present one, so that boxes keep their
                ``source``. ``transcript`` must be the present one: it lives in a file of its own.
            what: What was done, for the undo menu, as in ``move box``.
            joined: Part of the same movement as the change before it (a key held down): one undo takes back both.

        Raises:
            ValueError: boxes on a step that is not ``boxes``, or another transcript.
            UserError: the step is not an object in the file, so that it has no fields to change.
        """
        step = self._history.step(self._number(index))
        current, item = step.current.entry, step.current.item
        if not item.is_object:
            raise UserError(
                f"{self.file}: item {index} is not an object, and has no fields to change: correct it there"
            )
        if entry.transcript != self.entries[index].transcript:
            raise ValueError("the transcript is in a file of its own, and is not changed here")
        new = replace(settle(entry, item), transcript="", at=current.at, annotator=current.annotator)
        if new == current:
            return
        new = replace(new, at=_now(), annotator=self.annotator or entry.annotator)
        self._do(Changed(step=self._number(index), entry=new, what=what, joined=joined))

    def undo(self, index: int) -> str | None:
        """Take back the last change of a step; what was taken back, or None where nothing is left. Without limit."""
        return self._do(Undone(step=self._number(index))) if self.can_undo(index) else None

    def redo(self, index: int) -> str | None:
        """Make the change again that was taken back last; what it was, or None."""
        return self._do(Redone(step=self._number(index))) if self.can_redo(index) else None

    def can_undo(self, index: int) -> bool:
        """Whether the step has a change to take back."""
        return self._history.step(self._number(index)).can_undo

    def can_redo(self, index: int) -> bool:
        """Whether the step has a change to make again."""
        return self._history.step(self._number(index)).can_redo

    def insert(self, index: int, entry: Entry) -> None:
        """Put a new step before the one at ``index`` (``len(entries)`` for the end). Undone by ``undo_order``."""
        if not 0 <= index <= len(self._history.order):
            raise IndexError(f"no place for a step: {index}")
        new = replace(settle(entry, None), transcript="", at=_now(), annotator=self.annotator or entry.annotator)
        self._do(Inserted(step=self._history.next_step, at=index, entry=new))

    def remove(self, index: int) -> None:
        """Take a step out. ``undo_order`` brings it back with its own history."""
        self._do(Removed(step=self._number(index)))

    def undo_order(self) -> str | None:
        """Take back the last ``insert`` or ``remove``; what was taken back, or None."""
        return self._do(OrderUndone()) if self._history.can_undo_order else None

    def redo_order(self) -> str | None:
        """Make the ``insert`` or ``remove`` again that was taken back last; what it was, or None."""
        return self._do(OrderRedone()) if self._history.can_redo_order else None

    def first_todo(self) -> int | None:
        """The first step that nobody has looked at."""
        return next((index for index, entry in enumerate(self.entries) if entry.state == "todo"), None)

    def save(self, *, overwrite: bool = False) -> None:
        """Write the questions file, whole or not at all; the file before it is kept as ``<name>.previous``.

        Nothing is written where nothing differs. With ``overwrite``, a version that somebody else wrote is kept in the
        side folder before it is replaced.

        Raises:
            annotate.saving.ChangedOnDisk: somebody else changed or deleted the file since it was read or saved here.
            annotate.saving.SaveFailed: disk full, no permission …: the message says it in words, the file is as it
                was, and the work stays in memory and, where that can be written, in the journal.
        """
        theirs = self._on_disk()
        foreign = theirs not in (self._known, self._attempted)
        if not self.dirty and not (foreign and overwrite):
            return
        if foreign and not overwrite:
            what = "has been deleted" if theirs is None else "was changed by another program"
            raise ChangedOnDisk(f"{self.file} {what} since it was read here: nothing was written. {_CHOICE}")
        content = self._history.write()
        sha256 = hash_of(content)
        try:
            if foreign and theirs is not None:
                self._side.keep(self.file.read_bytes())
            self._recorder.record(Saving(sha256=sha256))
            self._attempted = sha256
            replace_file(self.file, content, previous=self.file.with_name(f"{self.file.name}.previous"))
        except OSError as error:
            raise SaveFailed(f"Not saved: {in_words(error, self.file)}. {self._where_the_work_is()}") from error
        self._known = sha256
        self._unwritten = False
        self._history.mark_saved()
        self._recorder.record(Saved(sha256=sha256), sync=False)

    def changed_on_disk(self) -> bool:
        """Whether the file's content differs from what was last read or saved here (or it is gone).

        By the hash of its bytes, read anew. A file that can't be read has changed, too; ``save`` says why.
        """
        try:
            return fingerprint(self.file) not in (self._known, self._attempted)
        except OSError:
            return True

    def reload(self) -> None:
        """Take the file as it is on disk; where a step of it differs from ours, ours is one ``undo`` away.

        Raises:
            UserError: the file is gone or no JSON list; nothing has changed then.
        """
        try:
            content = self.file.read_bytes()
        except OSError as error:
            raise UserError(f"{self.file}: can't be read: {error.strerror}") from error
        take(self._history, read_native(content, self.file), content, self._recorder)
        self._recorder.record()
        self._known = self._attempted = hash_of(content)
        self._unwritten = False
        self._entries = None

    def reload_transcripts(self) -> None:
        """Read the transcriptions file again, after it was corrected.

        Raises:
            UserError: it can't be read, is no such file, or is gone; the transcripts are as they were.
        """
        if self._transcripts is None:
            self._transcripts = choose_transcripts(self.folder)
        if self._transcripts is not None:
            heard = read_transcripts(self._transcripts, self._history.entries())
            self._heard = {**heard, **(read_typed(self.folder) if self._shows_typed else {})}
            self._entries = None

    def close(self) -> None:
        """Let other programs into the folder. Does not save. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._recorder.close()
        self._side.release()

    def __enter__(self) -> Document:
        """The document itself; it is closed at the end of the ``with`` block."""
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _do(self, event: Event) -> str | None:
        """First on disk, then in memory."""
        if self._closed:
            raise ValueError("the document is closed")
        try:
            self._recorder.record(event)
        finally:
            # Also where Ctrl-C comes in between: the event waits to be written then.
            what = self._history.apply(event)
            self._entries = None
        return what

    def _number(self, index: int) -> int:
        if not 0 <= index < len(self._history.order):
            raise IndexError(f"no step {index}: there are {len(self._history.order)}")
        return self._history.order[index]

    def _with_transcript(self, entry: Entry) -> Entry:
        text = self._heard.get(entry.image, "")
        return replace(entry, transcript=text) if text else entry

    def _upright(self, path: Path) -> UprightSize:
        try:
            status = path.stat()
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from error
        key = (path, status.st_mtime_ns, status.st_size)
        if key not in self._sizes:
            self._sizes[key] = upright_size(path)
        return self._sizes[key]

    def _on_disk(self) -> str | None:
        try:
            return fingerprint(self.file)
        except OSError as error:
            raise SaveFailed(f"{self.file} can't be read: {error.strerror}. {self._where_the_work_is()}") from error

    def _where_the_work_is(self) -> str:
        if self.trouble:
            return "Your work is in memory only: leave the program open, and put this right."
        return "Your work is kept in memory and in the journal: put this right, and it is saved."


_CHOICE = "Choose: take the file as it is now (your version can be had back with undo), or write yours over it."


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
