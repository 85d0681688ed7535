"""The process that looks at screenshots: a real one, asked, overtaken, killed and left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from annotate.proposals.records import Found
from annotate.proposals.source import ProposalSource
from proposals.screens import BUTTON, screen

PATIENCE_S = 60.0


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProposalSource]:
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    made = ProposalSource()
    yield made
    made.close()


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "screen.png"
    Image.fromarray(screen()).save(path)
    return path


def wait(source: ProposalSource, until: Callable[[Found], bool] = lambda found: found.complete) -> Found:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = source.look_in()
        if found is not None and until(found):
            return found
        time.sleep(0.01)
    raise AssertionError("nothing was found in time")


def test_regions_come_before_texts_and_everything_is_remembered(source: ProposalSource, picture: Path) -> None:
    assert source.ask(picture, "click buy now") is None
    assert source.is_waiting
    found = wait(source)
    assert not source.is_waiting
    button = next(one for one in found.proposals if one.frame == BUTTON)
    assert button.words == "Buy now"
    assert found.meant is not None
    assert found.proposals[found.meant] == button
    assert source.ask(picture, "click buy now") == found
    # Another instruction is another question, and so is another picture under the same name.
    assert source.ask(picture, "terms of use") is None
    assert wait(source).meant != found.meant
    Image.new("RGB", (300, 200), (250, 250, 250)).save(picture)
    os.utime(picture, ns=(1, 1))
    assert source.known(picture, "click buy now") is None


def test_a_newer_question_is_answered_and_the_older_one_is_not_waited_for(
    source: ProposalSource, picture: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.png"
    Image.new("RGB", (300, 200), (250, 250, 250)).save(other)
    source.ask(picture, "")
    source.ask(other, "")
    found = wait(source)
    assert found.image == str(other)
    assert found.proposals == ()


def test_a_killed_process_is_said_and_the_next_question_starts_another(source: ProposalSource, picture: Path) -> None:
    source.ask(picture, "")
    first = source.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    found = wait(source)
    assert "ended with code -9" in found.problem
    assert source.ask(picture, "") is None
    assert source.pid not in (None, first)
    assert any(one.frame == BUTTON for one in wait(source).proposals)


def test_a_broken_picture_is_a_problem_in_words_and_asked_for_again(source: ProposalSource, tmp_path: Path) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nthat is all")
    source.ask(path, "")
    assert "broken.png: the picture can't be read" in wait(source).problem
    assert source.ask(path, "") is None


def test_a_process_that_can_not_be_started_is_said(tmp_path: Path, picture: Path) -> None:
    nowhere = ProposalSource((str(tmp_path / "no-such-program"),))
    found = nowhere.ask(picture, "")
    assert found is not None
    assert "can't be started" in found.problem
    assert not nowhere.is_waiting
    nowhere.close()


def test_the_last_words_of_a_process_that_fails_are_shown(picture: Path) -> None:
    failing = ProposalSource((sys.executable, "-c", "raise SystemExit('models are missing')"))
    found = failing.ask(picture, "") or wait(failing)
    assert "models are missing" in found.problem or "can't be started" in found.problem
    failing.close()


def test_the_process_ends_when_the_window_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from annotate.proposals.source import ProposalSource\n"
        "source = ProposalSource()\n"
        f"source.ask(Path({str(tmp_path / 'none.png')!r}), '')\n"
        "print(source.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    window = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert window.stdout is not None
    pid = int(window.stdout.readline())
    window.kill()
    window.communicate()
    deadline = time.monotonic() + PATIENCE_S
    while _is_alive(pid):
        assert time.monotonic() < deadline, "the process outlived the window"
        time.sleep(0.02)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_picture_that_is_stored_on_its_side_is_read_as_it_is_shown(source: ProposalSource, tmp_path: Path) -> None:
    path = tmp_path / "turned.png"
    image = Image.fromarray(screen()).transpose(Image.Transpose.ROTATE_90)
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    image.save(path, exif=exif)
    source.ask(path, "buy now")
    found = wait(source)
    button = next(one for one in found.proposals if one.frame == BUTTON)
    assert button.words == "Buy now"
