"""Saving a second after the last change, and saying so when it can't be done. It never asks first and never blocks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from annotate.saving import ChangedOnDisk, SaveFailed
from annotate.window.session import Session
from grounding.errors import UserError

_SAVE_AFTER_MS = 1000
_TRY_AGAIN_MS = 10_000
_LOOK_EVERY_MS = 2000
_CHANGED, _FAILED, _JOURNAL = "changed on disk", "save failed", "journal"


class Autosave:
    """Writes the document's file when the annotator rests.

    A file that somebody else changed is never overwritten unasked: saving waits for the annotator's word, and the work
    is in the journal meanwhile.

    Args:
        session: What to save.
        on_state: Called when what ``words`` says may be another.
    """

    def __init__(self, session: Session, on_state: Callable[[], object]) -> None:
        self._session, self._on_state = session, on_state
        self._timer: str | None = None
        self._look: str | None = session.root.after(_LOOK_EVERY_MS, self._look_at_file)
        self._waiting_for_word = False
        self._saved_at = ""
        session.watch(on_edited=self._edited)
        session.on_close(self._stop)

    @property
    def words(self) -> str:
        """What the status bar says of saving."""
        if self._waiting_for_word:
            return "file changed on disk"
        if self._session.document.dirty:
            return "not saved yet"
        return f"saved {self._saved_at}" if self._saved_at else "all saved"

    def save(self) -> bool:
        """Save now; False, with a message, where that was not possible."""
        self._cancel()
        self._session.finish_edits()
        self._cancel()  # Typed words were a change, which asked for another save.
        return self._write(overwrite=False)

    def _edited(self) -> None:
        self._cancel()
        self._timer = self._session.root.after(_SAVE_AFTER_MS, self._rested)
        trouble = self._session.document.trouble
        if trouble:
            self._session.banner(_JOURNAL, trouble)
        else:
            self._session.clear_banner(_JOURNAL)
        self._on_state()

    def _rested(self) -> None:
        self._timer = None
        # Also while the annotator has yet to choose: somebody who closed the question is asked again after a change.
        self._write(overwrite=False)

    def _write(self, *, overwrite: bool) -> bool:
        document = self._session.document
        try:
            document.save(overwrite=overwrite)
        except ChangedOnDisk as error:
            self._ask(str(error))
        except SaveFailed as error:
            self._session.banner(_FAILED, str(error), [("Try again", self.save)])
            self._cancel()
            self._timer = self._session.root.after(_TRY_AGAIN_MS, self._rested)
        else:
            if self._waiting_for_word and document.changed_on_disk():
                self._ask_about_file()  # There was nothing of ours to write.
                return True
            self._waiting_for_word = False
            self._saved_at = datetime.now().strftime("%H:%M:%S")
            self._session.clear_banner(_FAILED)
            self._session.clear_banner(_CHANGED)
            if not document.trouble:
                self._session.clear_banner(_JOURNAL)
        self._on_state()
        return not document.dirty

    def _ask(self, why: str) -> None:
        self._waiting_for_word = True
        self._session.banner(
            _CHANGED, why, [("Take the file's version", self._take_theirs), ("Keep mine", self._keep_ours)]
        )

    def _ask_about_file(self) -> None:
        file = self._session.document.file
        what = "was changed by another program" if file.exists() else "is gone"
        self._ask(f"{file.name} {what} since it was read here. Nothing is overwritten.")

    def _take_theirs(self) -> None:
        self._session.finish_edits()
        try:
            self._session.document.reload()
        except UserError as error:
            self._ask(str(error))
            return
        self._waiting_for_word = False
        self._session.refresh()
        undo = self._session.keymap.shown("undo")
        self._session.status(f"The file's version is shown; {undo} brings yours back, step by step")
        self._on_state()

    def _keep_ours(self) -> None:
        self._session.finish_edits()
        self._write(overwrite=True)

    def _look_at_file(self) -> None:
        self._look = self._session.root.after(_LOOK_EVERY_MS, self._look_at_file)
        if not self._waiting_for_word and self._session.document.changed_on_disk():
            self._ask_about_file()
            self._on_state()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._session.root.after_cancel(self._timer)
            self._timer = None

    def _stop(self) -> None:
        self._cancel()
        if self._look is not None:
            self._session.root.after_cancel(self._look)
            self._look = None
