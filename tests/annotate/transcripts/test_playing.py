"""Playing parts of a clip on a device that only takes notes, by a clock that is set by hand."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from annotate.recording.sound import Sound
from annotate.transcripts import devices
from annotate.transcripts.devices import ProgramDevice, open_device
from annotate.transcripts.player import AGAIN_AFTER_S, Player
from annotate.transcripts.stretching import stretched
from grounding.errors import UserError

RATE_HZ = 16_000


def tone(seconds: float, pitch_hz: float = 440.0) -> Sound:
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return Sound(rate_hz=RATE_HZ, samples=(np.sin(2 * np.pi * pitch_hz * times) * 9000).astype(np.int16))


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Notes:
    """A device that plays for as long as the sound lasts, by the same clock."""

    name = "notes"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.started: list[Sound] = []
        self.stopped = 0
        self._until_s = 0.0

    def start(self, sound: Sound) -> None:
        self.started.append(sound)
        self._until_s = self._clock() + sound.seconds

    def stop(self) -> None:
        self.stopped += 1
        self._until_s = 0.0

    def playing(self) -> bool:
        return self._clock() < self._until_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_part_is_played_and_followed_and_ends_by_itself(clock: Clock) -> None:
    device = Notes(clock)
    player = Player(lambda: device, clock)
    player.play(tone(4.0), 1.0, 2.5)
    assert device.started[0].seconds == pytest.approx(1.5)
    assert player.position_s() == pytest.approx(1.0)
    clock.now_s += 0.75
    assert player.position_s() == pytest.approx(1.75)
    assert player.playing
    clock.now_s += 1.0
    assert player.position_s() is None
    assert not player.playing


def test_slower_takes_longer_and_the_position_is_that_of_the_clip(clock: Clock) -> None:
    device = Notes(clock)
    player = Player(lambda: device, clock)
    player.play(tone(4.0), 1.0, 3.0, speed=0.5)
    assert device.started[0].seconds == pytest.approx(4.0, abs=0.1)
    clock.now_s += 2.0
    assert player.position_s() == pytest.approx(2.0)


def test_a_repeated_part_begins_again_after_a_pause_until_it_is_stopped(clock: Clock) -> None:
    device = Notes(clock)
    player = Player(lambda: device, clock)
    player.play(tone(4.0), 1.0, 2.0, again=True)
    clock.now_s += 1.01
    assert player.position_s() == pytest.approx(2.0)
    clock.now_s += AGAIN_AFTER_S + 0.01
    assert player.position_s() == pytest.approx(1.0)
    assert len(device.started) == 2
    player.stop()
    clock.now_s += 5
    assert player.position_s() is None
    assert len(device.started) == 2


def test_what_plays_is_stopped_by_what_plays_next_and_nothing_plays_nothing(clock: Clock) -> None:
    device = Notes(clock)
    player = Player(lambda: device, clock)
    player.play(tone(4.0))
    player.play(tone(2.0), 1.0)
    assert device.stopped == 1
    player.play(tone(2.0), 5.0, 6.0)
    assert not player.playing
    assert len(device.started) == 2


def test_where_nothing_plays_sound_it_is_said_and_nothing_stays_half_open(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_sounddevice", lambda: None)
    monkeypatch.setenv("PATH", "")
    player = Player(open_device, clock)
    with pytest.raises(UserError, match="ffplay"):
        player.play(tone(1.0))
    assert not player.playing
    assert player.position_s() is None


@pytest.mark.parametrize("speed", [0.5, 0.75, 1.5])
def test_stretching_keeps_the_pitch_and_changes_the_length(speed: float) -> None:
    slow = stretched(tone(2.0), speed)
    assert slow.seconds == pytest.approx(2.0 / speed, rel=0.03)
    spectrum = np.abs(np.fft.rfft(slow.samples))
    assert np.argmax(spectrum) / slow.seconds == pytest.approx(440, abs=3)


def test_speeds_beyond_the_filter_are_refused() -> None:
    with pytest.raises(ValueError, match="speed"):
        stretched(tone(0.1), 0.2)
    sound = tone(0.1)
    assert stretched(sound, 1.0) is sound


@pytest.mark.skipif(sys.platform == "win32", reason="the player is a script with a first line")
def test_a_program_gets_a_file_that_is_gone_afterwards(tmp_path: Path) -> None:
    script = tmp_path / "player"
    script.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/heard.wav\necho "$1" > {tmp_path}/name\nexec sleep 60\n')
    script.chmod(0o755)
    device = ProgramDevice((str(script),), "player")
    device.start(tone(0.5))
    assert device.playing()
    wait_for(tmp_path / "name")
    import soundfile

    samples, rate_hz = soundfile.read(tmp_path / "heard.wav", dtype="int16")
    assert rate_hz == RATE_HZ
    assert np.array_equal(samples, tone(0.5).samples)
    device.stop()
    assert not device.playing()
    assert not Path((tmp_path / "name").read_text().strip()).exists()
    with pytest.raises(UserError, match="cannot be started"):
        ProgramDevice((str(tmp_path / "absent"),), "absent").start(tone(0.1))


@pytest.mark.skipif(sys.platform == "win32", reason="the player is a script with a first line")
def test_a_player_that_fails_is_not_taken_for_silence(tmp_path: Path) -> None:
    script = tmp_path / "mute"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    player = Player(lambda: ProgramDevice((str(script),), "mute"))
    player.play(tone(30.0))

    def follow() -> None:
        for _ in range(600):
            player.position_s()
            time.sleep(0.05)

    with pytest.raises(UserError, match="mute could not play the sound"):
        follow()
    assert not player.playing


def wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists() and path.read_text().endswith("\n"):
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not come")
