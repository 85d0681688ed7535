"""``grounding transcribe`` as a user has it."""

from __future__ import annotations

from pathlib import Path

import pytest
import shell
from fakes.transcriptions import TranscriptionServer

from asr.speech import tone, write
from grounding.data.speech import read_transcripts


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, seconds in (("1", 1.0), ("2", 2.0), ("10", 3.0)):
        write(tmp_path / "in" / f"{name}.wav", tone(seconds))
    return tmp_path / "in"


def test_texts_and_then_a_file_without_asking_again(recordings: Path, tmp_path: Path) -> None:
    with TranscriptionServer() as server:
        asked = ["transcribe", recordings, "--asr", "whisper-api:whisper-1", "--base-url", server.base_url]
        done = shell.call(*asked, module="grounding")
        assert (done.returncode, done.stdout) == (
            0,
            "1\theard 1.0 seconds\n2\theard 2.0 seconds\n10\theard 3.0 seconds\n",
        )
        assert "3 of 3 recordings by whisper-api:whisper-1 · 0.1 minutes of audio" in done.stderr
        again = shell.call(*asked, "--out", tmp_path / "out.json", "--display", "plain", module="grounding")
        assert again.returncode == 0
        assert server.count == 3
        assert "kept from before 3" in again.stderr
        kept = read_transcripts(tmp_path / "out.json")
        assert [each.text for each in kept] == done.stdout.replace("\t", "\n").split("\n")[1::2]
        assert [each.audio for each in kept] == ["in/1.wav", "in/2.wav", "in/10.wav"]  # As seen from the file.
        shell.call(*asked, "--noise", "white:5dB", module="grounding")
        assert server.count == 6
        shell.call(*asked, "--no-transcript-store", module="grounding")
        assert server.count == 9


def test_a_recording_that_cannot_be_read_is_named(recordings: Path, tmp_path: Path) -> None:
    (recordings / "3.wav").write_bytes(b"")
    with TranscriptionServer() as server:
        asked = ["transcribe", recordings, "--asr", "whisper-api:whisper-1", "--base-url", server.base_url]
        done = shell.call(*asked, "--out", tmp_path / "out.json", module="grounding")
    assert done.returncode == 1
    assert "3: no transcript: the file is empty" in done.stderr
    assert "3 of 4 recordings" in done.stderr
    assert len(read_transcripts(tmp_path / "out.json")) == 3
