"""Playing parts of a clip by a program that takes notes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from annotate.core import sound as module
from annotate.core.sound import Player, Sound
from grounding.errors import UserError

RATE_HZ = 16_000


def tone(seconds: float, pitch_hz: float = 440.0) -> Sound:
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return Sound(rate_hz=RATE_HZ, samples=(np.sin(2 * np.pi * pitch_hz * times) * 9000).astype(np.int16))


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    script = folder / "notes"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o755)
    monkeypatch.setattr(module, "PROGRAMS", (str(script),))


def waits(player: Player) -> None:
    for _ in range(600):
        if not player.playing():
            return
        time.sleep(0.02)
    raise AssertionError("it still plays")


def test_a_part_is_played_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, f'cp "$1" {tmp_path}/heard.wav\necho "$1" >> {tmp_path}/names')
    player, part = Player(), tone(4.0).between(1.0, 2.5)
    player.play(part)
    waits(player)
    samples, rate_hz = soundfile.read(tmp_path / "heard.wav", dtype="int16")
    assert rate_hz == RATE_HZ
    assert np.array_equal(samples, part.samples)
    names = (tmp_path / "names").read_text().split()
    assert not any(Path(name).exists() for name in names)


@pytest.mark.parametrize(("does", "said"), [("exit 3", "could not be played"), (None, "install one of the programs")])
def test_what_cannot_be_played_is_said(
    does: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, does or "")
    if does is None:
        monkeypatch.setattr(module, "PROGRAMS", ("no-such-program",))
    player = Player()

    def plays() -> None:
        player.play(tone(30.0))
        waits(player)

    with pytest.raises(UserError, match=said):
        plays()
    assert not player.playing()
