"""The recorder of a person's session: the rules for actions, and a real session that xdotool plays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from desktop_recording.gestures import Action, Button, Gestures, Key  # noqa: E402
from desktop_recording.session import happened_s  # noqa: E402

PROGRAMS = ("Xvfb", "openbox", "dbus-run-session", "xdotool", "mousepad")
MODULES = ("jeepney", "Xlib")


def press(time_s: float, x_px: int, y_px: int, number: int = 1) -> Button[str]:
    return Button(time_s, number, True, x_px, y_px, f"at {time_s}")


def release(time_s: float, x_px: int, y_px: int, number: int = 1) -> Button[str]:
    return Button(time_s, number, False, x_px, y_px, "")


def tap(time_s: float, name: str, char: str | None = None) -> list[Key[str]]:
    return [Key(time_s, name, True, char, f"at {time_s}"), Key(time_s + 0.01, name, False, char, "")]


def hold(time_s: float, name: str, down: bool = True) -> Key[str]:
    return Key(time_s, name, down, None, "")


def play(*events: Any) -> list[Action[str]]:
    gestures: Gestures[str] = Gestures()
    done: list[Action[str]] = []
    for event in events:
        for one in event if isinstance(event, list) else [event]:
            done += gestures.feed(one)
    return done + gestures.end()


def written(*events: Any) -> list[str]:
    return [action.written for action in play(*events)]


def test_an_event_read_late_keeps_its_moment() -> None:
    wrapped_s = 2**32 / 1000
    assert happened_s(12_340, 12.9) == pytest.approx(12.34)
    assert happened_s(100, 2 * wrapped_s + 0.3) == pytest.approx(2 * wrapped_s + 0.1)
    assert happened_s(int((wrapped_s - 0.2) * 1000), wrapped_s + 0.1) == pytest.approx(wrapped_s - 0.2)
    assert happened_s(9_000_000, 12.9) == 12.9


def test_a_click_and_its_moment() -> None:
    (action,) = play(press(1.0, 30, 40), release(1.1, 33, 42))
    assert action.written == "click (30, 40)"
    assert (action.seen, action.pointed) == ("at 1.0", True)


def test_two_clicks_close_together_are_a_double_click_with_the_first_ones_moment() -> None:
    (action,) = play(press(1.0, 30, 40), release(1.1, 30, 40), press(1.3, 31, 40), release(1.35, 31, 40))
    assert (action.written, action.seen) == ("double click (30, 40)", "at 1.0")


def test_two_slow_or_distant_clicks_are_two() -> None:
    slow = written(press(1.0, 30, 40), release(1.1, 30, 40), press(1.6, 30, 40), release(1.7, 30, 40))
    assert slow == ["click (30, 40)", "click (30, 40)"]
    distant = written(press(1.0, 30, 40), release(1.1, 30, 40), press(1.2, 60, 40), release(1.25, 60, 40))
    assert distant == ["click (30, 40)", "click (60, 40)"]


def test_three_quick_clicks_are_a_double_click_and_a_click() -> None:
    events = [one for start in (1.0, 1.2, 1.4) for one in (press(start, 5, 5), release(start + 0.05, 5, 5))]
    assert written(*events) == ["double click (5, 5)", "click (5, 5)"]


def test_a_press_let_go_elsewhere_is_a_drag_beyond_ten_pixels() -> None:
    assert written(press(1, 10, 10), release(2, 15, 15)) == ["click (10, 10)"]
    assert written(press(1, 10, 10), release(2, 16, 15)) == ["drag from (10, 10) to (16, 15)"]


def test_the_right_button() -> None:
    assert written(press(1, 9, 8, 3), release(1.1, 9, 8, 3)) == ["right click (9, 8)"]


def test_the_wheel_is_summed_by_direction() -> None:
    events = [one for n in range(3) for one in (press(1 + n / 10, 5, 5, 5), release(1 + n / 10, 5, 5, 5))]
    events += [press(1.4, 5, 5, 4), release(1.4, 5, 5, 4)]
    assert written(*events) == ["scroll (-300)", "scroll (100)"]


def test_keys_that_type_become_one_text() -> None:
    keys = [tap(1 + n / 10, char, char) for n, char in enumerate("to Mo")]
    (action,) = play(*keys)
    assert (action.written, action.text, action.seen) == ("type text: to Mo", "to Mo", "at 1.0")


def test_a_capital_letter_needs_no_chord() -> None:
    assert written(hold(1, "shift"), *tap(1.1, "a", "A"), hold(1.2, "shift", down=False)) == ["type text: A"]


def test_backspace_in_a_text_takes_a_letter_back() -> None:
    assert written(tap(1, "a", "a"), tap(1.1, "x", "x"), tap(1.2, "backspace"), tap(1.3, "b", "b")) == ["type text: ab"]
    assert written(tap(1, "backspace")) == ["press key backspace"]


def test_enter_ends_a_text_and_a_long_pause_does() -> None:
    assert written(tap(1, "a", "a"), tap(1.1, "enter")) == ["type text: a", "press key enter"]
    assert written(tap(1, "a", "a"), tap(4, "b", "b")) == ["type text: a", "type text: b"]


def test_chords_of_two_and_three() -> None:
    two = [hold(1, "ctrl"), *tap(1.1, "s", "s"), hold(1.2, "ctrl", down=False)]
    assert written(*two) == ["hotkey (Ctrl, s)"]
    three = [hold(1, "shift"), hold(1, "ctrl"), *tap(1.1, "s", "S")]
    assert written(*three) == ["hotkey (Ctrl, Shift, s)"]
    assert written(hold(1, "shift"), *tap(1.1, "tab")) == ["hotkey (Shift, tab)"]


def test_a_modifier_alone_is_no_action() -> None:
    assert written(hold(1, "ctrl"), hold(1.5, "ctrl", down=False)) == []


def test_actions_come_in_the_order_in_which_they_began() -> None:
    events = [press(1, 5, 5), release(1.05, 5, 5), *tap(1.2, "a", "a"), press(1.5, 9, 9), release(1.55, 9, 9)]
    assert written(*events) == ["click (5, 5)", "type text: a", "click (9, 9)"]


def _missing() -> list[str]:
    programs = [name for name in PROGRAMS if shutil.which(name) is None]
    programs += [] if Path("/usr/libexec/at-spi-bus-launcher").exists() else ["at-spi2-core"]
    return programs + [name for name in MODULES if find_spec(name) is None]


@pytest.fixture
def display(tmp_path: Path) -> Iterator[str]:
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x720x24", "-nolisten", "tcp", "-noreset"]
    server = subprocess.Popen(command, pass_fds=(write,), stderr=(tmp_path / "xvfb.txt").open("w"))
    os.close(write)
    with os.fdopen(read) as numbers:
        yield f":{numbers.readline().strip()}"
    server.terminate()
    server.wait(timeout=10)


# Runs inside a session bus of its own: a window manager, the program, the recorder, and the person.
_PERSON = """
set -eu
openbox --config-file /dev/null & wm=$!
{program} & program=$!
for _ in $(seq 100); do xdotool search --onlyvisible --name '{title}' >/dev/null 2>&1 && break; sleep 0.1; done
window=$(xdotool search --onlyvisible --name '{title}' | tail -1)
xdotool windowactivate --sync "$window" windowmove --sync "$window" 200 100
sleep 1
{python} {recorder} {out} --task 'first words' --second 'second words' --name played --kind preference \\
  > {log} 2>&1 & recorder=$!
for _ in $(seq 100); do grep -q 'Ctrl-C here' {log} && break; sleep 0.1; done
sleep 1
{acts}
sleep 1
kill -INT $recorder
wait $recorder
kill $program $wm
"""


def record(display: str, tmp_path: Path, program: str, title: str, acts: str) -> tuple[list[dict[str, Any]], str]:
    """Let xdotool be the person; the recorded steps and what the recorder said are returned."""
    home = tmp_path / "home"
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "DISPLAY": display, "LC_ALL": "C.UTF-8"}
    env |= {"GSETTINGS_BACKEND": "memory", "XDG_RUNTIME_DIR": str(home), "GDK_BACKEND": "x11"}
    log = tmp_path / "log.txt"
    script = _PERSON.format(
        program=program, title=title, python=sys.executable, recorder=ROOT / "tools" / "record_desktop.py",
        out=tmp_path / "out", log=log, acts=acts,
    )  # fmt: skip
    done = subprocess.run(
        ["dbus-run-session", "--", "bash", "-c", script], env=env, cwd=home, timeout=120, capture_output=True, text=True
    )
    said = log.read_text() if log.exists() else ""
    assert done.returncode == 0, (done.stderr[-2000:], said)
    path = tmp_path / "out" / "final_data" / "preference_task" / "played.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()], said


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(bool(_missing()), reason=f"recording needs {', '.join(_missing())}")
def test_a_session_in_an_editor_is_recorded(display: str, tmp_path: Path) -> None:
    acts = """
xdotool mousemove 400 300 sleep 0.5 click 1; sleep 1
xdotool type --delay 60 'Hello, Mo'; sleep 0.5
xdotool key Return; sleep 0.5
xdotool key ctrl+a; sleep 0.5
xdotool click --repeat 2 --delay 80 1; sleep 1
xdotool mousemove 300 250 mousedown 1 sleep 0.1 mousemove 380 260 sleep 0.1 mousemove 430 270 sleep 0.1 mouseup 1
sleep 0.5
xdotool click --repeat 3 --delay 60 5; sleep 1
xdotool mousemove 500 350 sleep 0.5 click 3; sleep 1
xdotool key Escape; sleep 0.5
xdotool key ctrl+shift+s; sleep 1
"""
    steps, said = record(display, tmp_path, "mousepad", "Mousepad", acts)
    assert [step["action"] for step in steps] == [
        "click (400, 300)", "type text: Hello, Mo", "press key enter", "hotkey (Ctrl, a)", "double click (400, 300)",
        "drag from (300, 250) to (430, 270)", "scroll (-300)", "right click (500, 350)", "press key esc",
        "hotkey (Ctrl, Shift, s)", "finish",
    ]  # fmt: skip
    assert {(step["first instruction"], step["second instruction"]) for step in steps} == {
        ("first words", "second words")
    }
    assert "never kept" in said
    rect = steps[0]["rect"]
    assert steps[0]["element"] == "text"
    assert rect["left"] <= 400 < rect["right"]
    assert rect["top"] <= 300 < rect["bottom"]
    from PIL import Image, ImageChops

    pictures = [Image.open(tmp_path / "out/data/events" / step["screenshot"]).convert("RGB") for step in steps]
    assert {picture.size for picture in pictures} == {(1280, 720)}
    # The text is not there before it was typed, and is there before the next key.
    assert ImageChops.difference(pictures[1], pictures[2]).getbbox() is not None
    before_typing, after_click = pictures[0].crop((300, 170, 700, 190)), pictures[1].crop((300, 170, 700, 190))
    assert ImageChops.difference(before_typing, after_click).getbbox() is None


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(bool(_missing()), reason=f"recording needs {', '.join(_missing())}")
def test_text_in_an_unknown_program_is_not_kept(display: str, tmp_path: Path) -> None:
    # No window is in use, so accessibility knows no field that has the keys.
    acts = """
xdotool search --onlyvisible --name Mousepad windowminimize --sync
sleep 0.5
xdotool type --delay 60 'secret'; sleep 0.3
xdotool key Return; sleep 0.5
"""
    steps, said = record(display, tmp_path, "mousepad", "Mousepad", acts)
    assert [step["action"] for step in steps] == ["type text: ********", "press key enter", "finish"]
    assert "secret" not in json.dumps(steps)
    assert "The text of 1 of them was not kept" in said


_FORM = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window = Gtk.Window(title="Login form")
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
name, word = Gtk.Entry(), Gtk.Entry(visibility=False)
word.set_input_purpose(Gtk.InputPurpose.PASSWORD)
box.add(name)
box.add(word)
window.add(box)
window.set_default_size(300, 120)
window.show_all()
Gtk.main()
"""


def _has_gtk() -> bool:
    command = ["/usr/bin/python3", "-c", "import gi; gi.require_version('Gtk', '3.0')"]
    return Path(command[0]).exists() and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(bool(_missing()), reason=f"recording needs {', '.join(_missing())}")
@pytest.mark.skipif(not _has_gtk(), reason="the form with a password needs python3-gi and gir1.2-gtk-3.0")
def test_a_password_is_never_kept(display: str, tmp_path: Path) -> None:
    form = tmp_path / "form.py"
    form.write_text(_FORM)
    acts = """
xdotool type --delay 60 'robin'; sleep 0.5
xdotool key Tab; sleep 0.5
xdotool type --delay 60 'hunter2'; sleep 0.5
xdotool key Return; sleep 0.5
"""
    steps, said = record(display, tmp_path, f"/usr/bin/python3 {form}", "Login form", acts)
    actions = [step["action"] for step in steps]
    assert actions == ["type text: robin", "press key tab", "type text: ********", "press key enter", "finish"]
    assert "hunter2" not in said + json.dumps(steps)


def test_help_needs_no_display() -> None:
    env = {"PATH": os.environ["PATH"]}
    command = [sys.executable, str(ROOT / "tools" / "record_desktop.py"), "--help"]
    answer = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert "--unknown-fields" in answer.stdout


def test_without_a_display_it_says_what_to_do(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"]}
    command = [sys.executable, str(ROOT / "tools" / "record_desktop.py"), str(tmp_path), "--task", "x"]
    answer = subprocess.run(command, env=env, capture_output=True, text=True)
    assert answer.returncode == 2
    assert "--display" in answer.stderr
    assert "Traceback" not in answer.stderr
