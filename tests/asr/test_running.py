from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from asr.fake_recogniser import FakeRecogniser
from asr.speech import clip, tone, write
from grounding.asr.noise import Noisy
from grounding.asr.recogniser import Workers
from grounding.asr.records import Clip, Heard
from grounding.asr.running import heard_key, transcribe
from grounding.asr.store import TranscriptStore
from grounding.errors import UserError

WORKERS: tuple[Workers, ...] = ("processes", "batch", "connections")


def clips(folder: Path, *levels: float) -> list[Clip]:
    return [clip(write(folder / f"{at}.wav", tone(0.3, level=level))) for at, level in enumerate(levels)]


def texts(heard: list[Heard]) -> list[str]:
    return [each.failure.message if each.failure else each.text for each in heard]


@pytest.mark.parametrize("workers", WORKERS)
def test_one_record_a_clip_in_the_order_of_the_clips(tmp_path: Path, workers: Workers) -> None:
    fake = FakeRecogniser(workers, tmp_path / "log")
    made = clips(tmp_path, 0.1, 0.2, 0.3, 0.4)
    told: list[tuple[str, str]] = []
    heard = transcribe(made, fake, progress=lambda one, source: told.append((one.clip_id, source)))
    assert texts(heard) == [f"0.{level}0 for 0.3" for level in (1, 2, 3, 4)]
    assert [each.clip_id for each in heard] == ["0", "1", "2", "3"]
    assert sorted(told) == [(name, "heard") for name in "0123"]
    assert {each.audio_s for each in heard} == {0.3}
    assert [each.key for each in heard] == [heard_key(each, fake) for each in made]
    assert all(each.words[0].start_s == 0.1 and each.compute_s == 0.25 for each in heard)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(("fails", "said"), [("raise", "too loud"), ("value", "ValueError: no sense")])
def test_what_fails_is_a_record_and_the_others_go_on(tmp_path: Path, workers: Workers, fails: str, said: str) -> None:
    made = clips(tmp_path, 0.1, 0.8, 0.2)
    (tmp_path / "none.wav").write_bytes(b"x")
    made.append(clip(tmp_path / "none.wav"))
    made.append(Clip(id="gone", path=str(tmp_path / "gone.wav"), sha256="0" * 64))
    heard = transcribe(made, FakeRecogniser(workers, tmp_path / "log", fails=fails))
    assert [each.failure.kind if each.failure else "" for each in heard] == [
        "",
        "error",
        "",
        "unreadable",
        "unreadable",
    ]
    assert texts(heard)[:3] == ["0.10 for 0.3", said, "0.20 for 0.3"]
    assert heard[1].audio_s == 0.3


@pytest.mark.parametrize("workers", WORKERS)
def test_what_no_clip_can_go_on_without_ends_the_run(tmp_path: Path, workers: Workers) -> None:
    with pytest.raises(UserError, match="the model is missing"):
        transcribe(clips(tmp_path, 0.8, 0.8), FakeRecogniser(workers, tmp_path / "log", fails="user"))


@pytest.mark.slow
def test_a_process_that_dies_costs_the_clip_that_killed_it(tmp_path: Path) -> None:
    fake = FakeRecogniser("processes", tmp_path / "log", fails="exit")
    heard = transcribe(clips(tmp_path, 0.1, 0.2, 0.8, 0.3, 0.4), fake)
    assert texts(heard) == [
        "0.10 for 0.3",
        "0.20 for 0.3",
        "the recogniser's process died over this clip, twice",
        "0.30 for 0.3",
        "0.40 for 0.3",
    ]


@pytest.mark.parametrize("workers", WORKERS)
def test_what_is_stored_is_not_heard_again(tmp_path: Path, workers: Workers) -> None:
    fake = FakeRecogniser(workers, tmp_path / "log")
    store = TranscriptStore(tmp_path / "store")
    made = clips(tmp_path, 0.1, 0.8)
    first = transcribe(made, fake, store=store)
    calls = len(fake.calls)
    told: list[str] = []
    again = transcribe(made, fake, store=store, progress=lambda _, source: told.append(source))
    assert texts(again) == texts(first)
    assert told == ["stored", "heard"], "a failure is tried again"
    assert len(fake.calls) == calls + 1
    assert again[0].compute_s == 0
    other = transcribe(made[:1], FakeRecogniser(workers, tmp_path / "log", version=2), store=store)
    assert other[0].key != first[0].key
    assert len(fake.calls) == calls + 2


def test_equal_files_are_heard_once_and_keep_their_names(tmp_path: Path) -> None:
    one = clips(tmp_path, 0.1)[0]
    (tmp_path / "copy.wav").write_bytes(Path(one.path).read_bytes())
    fake = FakeRecogniser("connections", tmp_path / "log")
    heard = transcribe([one, clip(tmp_path / "copy.wav")], fake)
    assert [each.clip_id for each in heard] == ["0", "copy"]
    assert fake.calls == [1]


def test_batches_are_as_large_as_the_recogniser_takes(tmp_path: Path) -> None:
    fake = FakeRecogniser("batch", tmp_path / "log", at_once=4)
    transcribe(clips(tmp_path, *(0.01 * level for level in range(1, 11))), fake)
    assert fake.calls == [4, 4, 2]


def test_long_clips_are_cut_and_their_words_keep_their_times(tmp_path: Path) -> None:
    fake = FakeRecogniser("connections", tmp_path / "log", longest_s=1.0)
    (heard,) = transcribe([clip(write(tmp_path / "a.wav", tone(2.5, level=0.1)))], fake)
    pieces = len(fake.calls)
    assert pieces >= 3
    assert f"cut into {pieces} pieces at pauses" in heard.notes
    assert len(heard.words) == pieces
    starts = [word.start_s for word in heard.words]
    assert starts == sorted(starts)
    assert starts[0] == 0.1
    assert starts[-1] > 1.1
    assert heard.compute_s == pytest.approx(0.25 * pieces)


def test_a_clip_without_samples_is_nothing_heard(tmp_path: Path) -> None:
    fake = FakeRecogniser("batch", tmp_path / "log")
    (heard,) = transcribe([clip(write(tmp_path / "a.wav", tone(0)))], fake)
    assert (heard.text, heard.failure, heard.notes) == ("", None, ("no samples",))
    assert fake.calls == []


def test_noise_is_in_what_is_heard_and_in_the_key(tmp_path: Path) -> None:
    fake = FakeRecogniser("connections", tmp_path / "log", fails="never")
    store = TranscriptStore(tmp_path / "store")
    made = clips(tmp_path, 0.1)
    noises = [None, Noisy(source="white", snr_db=0.0), Noisy(source="white", snr_db=10.0)]
    heard = [transcribe(made, fake, noise=noise, store=store)[0] for noise in noises]
    assert len({each.key for each in heard}) == 3
    assert len({texts([each])[0] for each in heard}) == 3
    again = transcribe(made, fake, noise=noises[1], store=store)[0]
    assert again.text == heard[1].text
    assert again.key == heard_key(made[0], fake, noises[1])


def test_a_file_that_changed_meanwhile_is_not_kept_under_its_old_hash(tmp_path: Path) -> None:
    made = clips(tmp_path, 0.1)
    write(Path(made[0].path), tone(0.3, level=0.2))
    (heard,) = transcribe(made, FakeRecogniser("batch", tmp_path / "log"))
    assert heard.failure is not None
    assert "was changed" in heard.failure.message


PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from asr.fake_recogniser import FakeRecogniser
from asr.speech import clip
from grounding.asr.running import transcribe
from grounding.asr.store import TranscriptStore

if __name__ == "__main__":
    folder = Path({folder!r})
    made = [clip(folder / f"{{at}}.wav") for at in range(30)]
    fake = FakeRecogniser({workers!r}, folder / "log", slow_s=0.2, at_once=2)
    try:
        told = lambda one, _: print(one.clip_id, flush=True)
        transcribe(made, fake, store=TranscriptStore(folder / "store"), progress=told)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def start(folder: Path, workers: str) -> subprocess.Popen[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(tests=str(Path(__file__).parents[1]), folder=str(folder), workers=workers))
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline()
    return process


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "number"), [("processes", signal.SIGKILL), ("processes", signal.SIGINT)])
@pytest.mark.parametrize("whole_group", [False, True])
def test_a_run_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, workers: str, number: int, whole_group: bool
) -> None:
    made = clips(tmp_path, *(0.01 * (at + 1) for at in range(30)))
    process = start(tmp_path, workers)
    (os.killpg if whole_group else os.kill)(process.pid, number)
    process.wait(60)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    fake = FakeRecogniser("batch", tmp_path / "log", at_once=1)
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in fake.pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in fake.pids if alive(pid)], "a worker outlives its run"
    before = len(fake.calls)
    sources: list[str] = []
    heard = transcribe(
        made, fake, store=TranscriptStore(tmp_path / "store"), progress=lambda _, how: sources.append(how)
    )
    assert sources.count("stored") >= 3
    assert len(fake.calls) - before == sources.count("heard") < 30
    assert texts(heard) == [f"{0.01 * (at + 1):.2f} for 0.3" for at in range(30)]
