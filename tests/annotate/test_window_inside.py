"""The window in this process, on a display of its own: what a person can't measure from outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from person import QUESTIONS, display, need_programs, until, write_folder

from annotate.document import Document

if TYPE_CHECKING:
    from annotate.window.main_window import MainWindow

pytestmark = pytest.mark.slow
LONG = "open the one that is a little further down than all of the others "


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need_programs()
    with display(tmp_path_factory.mktemp("display") / "xvfb.txt", "1280x800") as name:
        yield name


@pytest.fixture
def window(screen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    from annotate.window.main_window import MainWindow, keymap_for
    from annotate.window.panels import WindowOptions

    monkeypatch.setenv("DISPLAY", screen)
    box = {"x": 430, "y": 360, "width": 90, "height": 40}
    options = WindowOptions(folder=write_folder(tmp_path / "ann", 3, bounding_box=box, instruction=LONG * 3))
    with Document.open(options.folder) as document:
        made = MainWindow(document, options, keymap_for(options))
        made.root.deiconify()
        made.root.update()
        made.session.go_to(0)
        shows(made, lambda: made.session.picture() is not None)
        yield made
        if not made.closed:
            made.close()


def shows(window: MainWindow, true: Callable[[], bool]) -> None:
    """Let the window work until something is so."""

    def so() -> bool:
        window.root.update()
        return true()

    until(so, lambda: window.root.title())


def test_the_list_shows_as_much_as_fits_and_what_others_wrote(window: MainWindow) -> None:
    shows(window, lambda: window.steps.words(1).endswith("…"))
    narrow = window.steps.words(1)
    assert LONG.startswith(narrow.removesuffix("…"))
    file = window.session.document.file
    items = json.loads(file.read_text())
    items[1]["instruction"] = "theirs"
    file.write_text(json.dumps(items))
    window.session.document.reload()
    window.session.refresh()
    assert window.steps.words(1) == "theirs"


def test_the_status_bar_follows_the_box(window: MainWindow) -> None:
    window.session.select(0)
    window.session.perform("move-right-10")
    assert window.status.box.cget("text") == "box 1:  90 x 40 px at 440, 360"
    window.session.undo()
    assert window.status.box.cget("text") == "box 1:  90 x 40 px at 430, 360"


def test_a_window_manager_does_not_pull_the_window_from_under_a_dialog(window: MainWindow) -> None:
    call = window.root.tk.call
    seen: list[str] = []

    def dialog() -> str:
        return str(call("grab", "current", window.root))

    def leave_while_asked() -> None:
        if not dialog():
            window.root.after(50, leave_while_asked)
            return
        window.close()
        seen.append(dialog())
        window.root.tk.eval(call("wm", "protocol", dialog(), "WM_DELETE_WINDOW"))

    window.root.after(50, leave_while_asked)
    window.session.perform("open")
    assert seen
    assert seen[0]
    assert not window.closed
    window.session.change(replace(window.session.entry, comment="hm"), "edit comment")
    window.close()
    assert window.closed
    assert json.loads(window.session.document.file.read_text())[0]["annotation"]["comment"] == "hm"


def test_transcripts_are_typed_where_there_are_no_recordings(window: MainWindow) -> None:
    window.session.perform("edit-transcript")
    window.fields.transcript.insert("end", "what was said")
    window.session.go_to(1)
    assert window.session.document.entries[0].transcript == "what was said"
    kept = json.loads((window.session.document.folder / "transcriptions_GT.json").read_text())
    assert [item["text"] for item in kept] == ["what was said"]
    assert "transcript" not in (window.session.document.folder / QUESTIONS).read_text()


def test_words_that_a_field_cannot_show_have_a_scrollbar(window: MainWindow) -> None:
    def has_bar() -> bool:
        return any(child.winfo_class() == "TScrollbar" and child.winfo_ismapped()
                   for child in window.fields.instruction.master.winfo_children())  # fmt: skip

    shows(window, has_bar)
    window.session.change(replace(window.session.entry, instruction="open it"), "edit instruction")
    shows(window, lambda: not has_bar())


def test_hidden_boxes_are_shown_to_somebody_who_draws_one(window: MainWindow) -> None:
    canvas = window.canvas
    window.session.perform("toggle-boxes")
    assert not canvas.boxes_shown
    places = [canvas.transform.to_view(x_px, y_px) for x_px, y_px in ((100, 100), (200, 160), (300, 220))]
    for event, place in zip(("<ButtonPress-1>", "<B1-Motion>", "<ButtonRelease-1>"), places, strict=True):
        canvas.event_generate(event, x=round(place.x_view), y=round(place.y_view))
        window.root.update()
    assert canvas.boxes_shown
    assert len(window.session.entry.boxes) == 2
