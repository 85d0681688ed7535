from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shell
from hypothesis import given
from hypothesis import strategies as st
from serving.helpers import is_alive, until

from asr.fake_recogniser import FakeRecogniser
from asr.speech import clip, tone, write
from grounding.asr.audio import SAMPLE_RATE_HZ
from grounding.asr.transcribe import Heard, TranscriptStore, cut_at_pauses, heard_key, transcribe
from grounding.cache import cached_files
from grounding.data.speech import Clip
from grounding.errors import UserError


def clips(folder: Path, *levels: float) -> list[Clip]:
    return [clip(write(folder / f"{at}.wav", tone(0.3, level=level))) for at, level in enumerate(levels)]


def texts(heard: list[Heard]) -> list[str]:
    return [each.failure.message if each.failure else each.text for each in heard]


def test_what_fails_is_a_record_and_the_others_go_on(tmp_path: Path) -> None:
    made = clips(tmp_path, 0.1, 0.8, 0.2)
    (tmp_path / "none.wav").write_bytes(b"x")
    made.append(clip(tmp_path / "none.wav"))
    made.append(Clip(id="gone", path=str(tmp_path / "gone.wav"), sha256="0" * 64))
    fake, told = FakeRecogniser(tmp_path / "log"), list[str]()
    heard = transcribe(made, fake, progress=lambda one, _source: told.append(one.clip_id))
    assert [each.failure.kind if each.failure else "" for each in heard] == ["", "error", "", "unparsed", "unparsed"]
    assert texts(heard)[:3] == ["0.10 for 0.3", "ValueError: no sense", "0.20 for 0.3"]
    assert [each.clip_id for each in heard] == ["0", "1", "2", "none", "gone"]
    assert sorted(told) == ["0", "1", "2", "gone", "none"]
    assert heard[1].audio_s == 0.3
    assert [each.key for each in heard] == [heard_key(each, fake) for each in made]


def test_what_is_stored_is_not_heard_again(tmp_path: Path) -> None:
    fake = FakeRecogniser(tmp_path / "log")
    store = TranscriptStore(tmp_path / "store")
    made = clips(tmp_path, 0.1, 0.8)
    first = transcribe(made, fake, store=store)
    told: list[str] = []
    again = transcribe(made, fake, store=store, progress=lambda _, source: told.append(source))
    assert texts(again) == texts(first)
    assert told == ["stored", "heard"], "a failure is tried again"
    assert fake.calls == 3
    assert again[0].compute_s == 0
    other = transcribe(made[:1], FakeRecogniser(tmp_path / "log", version=2), store=store)
    assert other[0].key != first[0].key
    assert fake.calls == 4


def test_a_long_clip_goes_on_where_a_run_ended_and_its_words_keep_their_times(tmp_path: Path) -> None:
    parts = [tone(1.0, level=level) for level in (0.1, 0.2, 0.8, 0.3)]
    long = clip(write(tmp_path / "long.wav", np.concatenate(parts)))
    store, told = TranscriptStore(tmp_path / "store"), list[tuple[int, int]]()

    def hear(fake: FakeRecogniser) -> Heard:
        (heard,) = transcribe([long], fake, store=store, on_piece=lambda _, done, count: told.append((done, count)))
        return heard

    with pytest.raises(UserError, match="the model is missing"):
        hear(FakeRecogniser(tmp_path / "first", fails="user", longest_s=1.0))
    before, count = told[-1]
    assert 0 < before < count
    again = FakeRecogniser(tmp_path / "again", fails="never", longest_s=1.0)
    heard = hear(again)
    assert again.calls == count - before
    assert told[-1] == (count, count)
    assert heard.notes == (f"cut into {count} pieces at pauses",)
    starts = [word.start_s for word in heard.words]
    assert len(starts) == count
    assert starts == sorted(starts)
    assert starts[0] == 0.1
    assert starts[-1] > 1.1


PROGRAM = """
import sys
from pathlib import Path
from grounding.asr import recogniser
from grounding.asr.recogniser import Recognition, open_recogniser
from grounding.asr.transcribe import TranscriptStore, transcribe
from grounding.data.speech import find_clips

def slow(audio):
    import os, time
    with open({folder!r} + "/log", "a") as log:
        log.write(str(os.getpid()) + chr(10))
    time.sleep(0.2)
    if abs(audio.samples).max() > 0.5:
        os._exit(9)
    return Recognition(text=f"{{abs(audio.samples).max():.2f}}")

recogniser._hear_here = slow
if __name__ == "__main__":
    try:
        heard = transcribe(
            find_clips([Path({folder!r}) / "in"]),
            open_recogniser("pocketsphinx"),
            store=TranscriptStore(Path({folder!r}) / "store"),
            progress=lambda one, source: print(source, one.failure.message if one.failure else one.text, flush=True),
        )
    except KeyboardInterrupt:
        sys.exit(130)
"""


def start(folder: Path) -> subprocess.Popen[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(folder=str(folder)))
    return subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "whole_group"), [(signal.SIGKILL, False), (signal.SIGINT, True)])
def test_processes_that_are_killed_go_on_where_they_were(tmp_path: Path, number: int, whole_group: bool) -> None:
    clips(tmp_path / "in", *(0.01 * (at + 1) for at in range(20)))
    process = start(tmp_path)
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline()
    (os.killpg if whole_group else os.kill)(process.pid, number)
    process.wait(60)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    pids = {int(line) for line in (tmp_path / "log").read_text().split()}
    until(lambda: not [pid for pid in pids if is_alive(pid)], 60)
    said = start(tmp_path).communicate(timeout=60)[0].splitlines()
    assert sum(line.startswith("stored") for line in said) >= 3
    assert sorted(line.split()[1] for line in said) == [f"{0.01 * (at + 1):.2f}" for at in range(20)]


@pytest.mark.slow
def test_a_process_that_dies_costs_the_clip_that_killed_it(tmp_path: Path) -> None:
    clips(tmp_path / "in", 0.1, 0.2, 0.8, 0.3, 0.4)
    said = start(tmp_path).communicate(timeout=60)[0].splitlines()
    died = "heard the recogniser's process died over this clip, twice"
    assert sorted(said) == [*(f"heard 0.{level}0" for level in (1, 2, 3, 4)), died]


@given(seconds=st.floats(0, 20), longest_s=st.floats(1, 8), seed=st.integers(0, 5))
def test_the_pieces_are_all_of_it_and_none_is_too_long(seconds: float, longest_s: float, seed: int) -> None:
    samples = np.random.default_rng(seed).normal(0, 0.1, int(seconds * SAMPLE_RATE_HZ)).astype(np.float32)
    cuts = cut_at_pauses(samples, longest_s)
    assert [a for a, _ in cuts[1:]] == [b for _, b in cuts[:-1]]
    assert not cuts or (cuts[0][0], cuts[-1][1]) == (0, len(samples))
    assert all(0 < b - a <= longest_s * SAMPLE_RATE_HZ for a, b in cuts)
    assert bool(cuts) == bool(len(samples))


def test_the_cache_command_shows_and_clears_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "grounding" / "transcripts"
    key = "1" * 64
    TranscriptStore(folder).put(Heard(clip_id="1/1", key=key, text="okay"), "whisper:turbo")
    (folder / "whisper_turbo" / key[:2] / "mine.txt").write_text("not theirs")
    shown = shell.call("cache", module="grounding").stdout
    assert "whisper_turbo" in shown
    assert f"transcripts {folder}\n" in shown
    assert list(cached_files(folder)) == ["whisper_turbo"]
    assert cached_files(folder, before=0.0) == {}
    done = shell.call("cache", "clear", "--transcripts", "--yes", module="grounding")
    assert done.stdout == "deleted 1 transcripts\n"
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["mine.txt"]
