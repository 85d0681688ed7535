"""The window in this process, on a display of its own: what a person can't measure from outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from person import QUESTIONS, display, need_programs, until, write_folder

if TYPE_CHECKING:
    from annotate.window.main import MainWindow

pytestmark = pytest.mark.slow


# Tk ends the process where another thread's garbage collection comes upon an interpreter: they stay until the end.
INTERPRETERS: list[Any] = []


# Tk holds its display until the process ends, and dies with it: also where another file's tests come between these.
@pytest.fixture(scope="session")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need_programs()
    with display(tmp_path_factory.mktemp("display") / "xvfb.txt", "1280x800") as name:
        yield name


@pytest.fixture
def window(screen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    from annotate.display import WindowOptions
    from annotate.window.main import MainWindow, opened
    from annotate.window.panels import make_panels

    monkeypatch.setenv("DISPLAY", screen)
    box = {"x": 430, "y": 360, "width": 90, "height": 40}
    options = WindowOptions(folder=write_folder(tmp_path / "ann", 3, bounding_box=box, instruction="open it"))
    with opened(options) as document:
        made = MainWindow(document, options, make_panels(options)[1])
        INTERPRETERS.append(made.root.tk)
        made.root.deiconify()
        made.root.update()
        made.session.go_to(0)
        shows(made, lambda: made.session.picture is not None)
        yield made
        if not made.closed:
            made.close()


def shows(window: MainWindow, true: Callable[[], bool]) -> None:
    """Let the window work until something is so."""

    def so() -> bool:
        window.root.update()
        return true()

    until(so, lambda: window.root.title())


def test_what_others_wrote_is_shown_once_it_is_taken(window: MainWindow) -> None:
    file = window.session.document.file
    items = json.loads(file.read_text())
    items[1]["instruction"] = "theirs"
    file.write_text(json.dumps(items))
    window.autosave._take_theirs()
    assert window.steps.words(1) == "theirs"


def test_transcripts_are_typed_where_there_are_no_recordings(window: MainWindow) -> None:
    window.session.perform("edit-transcript")
    window.fields.fields["transcript"].insert("end", "what was said")
    window.session.go_to(1)
    assert window.session.document.entries[0].transcript == "what was said"
    kept = json.loads((window.session.document.folder / "transcriptions_GT.json").read_text())
    assert [item["text"] for item in kept] == ["what was said"]
    assert "transcript" not in (window.session.document.folder / QUESTIONS).read_text()


def test_what_is_in_the_hand_is_dropped_by_escape_and_by_going_on(window: MainWindow) -> None:
    session, canvas = window.session, window.canvas
    places = [canvas.transform.to_view(x_px, y_px) for x_px, y_px in ((475, 380), (500, 400), (560, 420))]
    press, move, on = [{"x": round(place.x_view), "y": round(place.y_view)} for place in places]
    for leave in (lambda: session.perform("cancel"), lambda: session.go_to(1)):
        before = session.document.entries
        canvas.event_generate("<ButtonPress-1>", **press)
        canvas.event_generate("<B1-Motion>", **move)
        window.root.update()
        assert canvas.preview is not None
        leave()
        canvas.event_generate("<B1-Motion>", **on)
        canvas.event_generate("<ButtonRelease-1>", **on)
        window.root.update()
        assert session.document.entries == before


def test_an_instruction_is_edited_in_all_its_steps_and_split_by_a_key_of_its_own(window: MainWindow) -> None:
    session, field = window.session, window.fields.fields["instruction"]

    def words() -> list[str]:
        return [entry.instruction for entry in session.document.entries]

    field.insert("end", " now")
    session.go_to(1)
    assert words() == ["open it now"] * 3
    session.undo()
    assert words() == ["open it"] * 3
    session.perform("split-instruction")
    field.insert("end", " alone")
    session.go_to(0)
    assert words() == ["open it", "open it alone", "open it"]
