"""openai-whisper itself, with a checkpoint in its own format: what it says is noise, how it is run is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
import whisper.normalizers
import whisper_normalizer.english as words
from hypothesis import given, settings
from hypothesis import strategies as st

from asr.speech import clip, tone, write
from asr.whisper.tiny_whisper import write_checkpoint
from grounding.asr.audio import Audio
from grounding.asr.recogniser import Recogniser, Recognition, open_recogniser
from grounding.asr.transcribe import transcribe
from grounding.errors import UserError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(2)
    return write_checkpoint(tmp_path_factory.mktemp("whisper") / "tiny.pt")


def sounds(count: int) -> list[Audio]:
    """Clips that differ: tones that rise, in noise."""
    rng = np.random.default_rng(1)
    made = [tone(0.5 + at / 5, hz=200 * (at + 1)) for at in range(count)]
    return [Audio(samples=each + rng.normal(0, 0.05, len(each)).astype(np.float32)) for each in made]


def heard(recogniser: Recogniser, clips: list[Audio]) -> list[Recognition]:
    found = dict(recogniser.hear(iter(clips)))
    assert not [each for each in found.values() if isinstance(each, str)]
    return [cast("Recognition", found[each]) for each in clips]


def test_it_says_what_the_package_says(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding.asr.whisper.TEMPERATURES", (0.0,))
    clips = sounds(2)
    found = heard(open_recogniser(f"whisper:{checkpoint},language=en"), clips)
    model = whisper.load_model(str(checkpoint), device="cpu")
    assert len({each.text for each in found}) > 1, "a model that says the same to everything shows nothing"
    for mine, audio in zip(found, clips, strict=True):
        theirs = whisper.transcribe(
            model, audio.samples, word_timestamps=True, fp16=False, temperature=0.0, language="en"
        )
        words = [word for segment in theirs["segments"] for word in segment.get("words", ())]
        assert mine.text == theirs["text"].strip() != ""
        assert [word.text for word in mine.words] == [word["word"].strip() for word in words]
        assert [word.start_s for word in mine.words] == pytest.approx([float(word["start"]) for word in words])
        assert all(word.probability is not None and 0 <= word.probability <= 1 for word in mine.words)
    assert any(each.words for each in found)


def test_the_fallback_samples_the_same_whatever_was_heard_before(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No text of random weights is probable, so that every window falls back.
    monkeypatch.setattr("grounding.asr.whisper.TEMPERATURES", (0.0, 0.7))
    recogniser, clips = open_recogniser(f"whisper:{checkpoint},language=en"), sounds(2)
    first = heard(recogniser, clips)
    assert any(each.notes == ("sampled at temperature 0.7",) for each in first), "no clip fell back"
    torch.manual_seed(123)
    assert [each.text for each in heard(recogniser, clips[::-1])[::-1]] == [each.text for each in first]


def test_a_clip_over_which_the_package_fails_fails_alone(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recogniser, transcribed = open_recogniser(f"whisper:{checkpoint},language=en"), whisper.transcribe

    def failing(model: object, samples: np.ndarray, **options: object) -> object:
        if len(samples) == len(sounds(1)[0].samples):
            raise torch.OutOfMemoryError("out of memory")
        return transcribed(model, samples, **options)

    monkeypatch.setattr(whisper, "transcribe", failing)
    monkeypatch.setattr("grounding.asr.whisper.TEMPERATURES", (0.0,))
    paths = [write(tmp_path / f"{at}.wav", each.samples, subtype="FLOAT") for at, each in enumerate(sounds(2))]
    found = transcribe([clip(path) for path in paths], recogniser)
    said = [each.failure.message if each.failure else "" for each in found]
    assert said == ["OutOfMemoryError: out of memory", ""]


PROGRAM = """
import sys
from grounding.asr import transcribe, whisper
from grounding.cli import run
whisper.LONGEST_S = whisper.WhisperRecogniser.longest_s = 2.0
whisper.TEMPERATURES = (0.0,)
run(sys.argv[1:])
"""


def test_a_long_recording_goes_on_after_a_kill(checkpoint: Path, tmp_path: Path) -> None:
    write(tmp_path / "in" / "long.wav", np.concatenate([each.samples for each in sounds(7)]))
    command = [sys.executable, "-c", PROGRAM, "transcribe", str(tmp_path / "in"), "--display", "plain"]
    command += ["--asr", f"whisper:{checkpoint},language=en", "--transcript-store", str(tmp_path / "store")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        while "3 of" not in said:
            said = process.stderr.readline()
        process.kill()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if "pieces" in line]
    assert lines[0].startswith("grounding: long: 1 of ")
    assert "whisper:tiny.pt hears 1 recordings on cpu" in done.stderr
    assert "1 of 1 recordings by whisper:tiny.pt on cpu" in done.stderr
    assert "s of computing for each second heard now" in done.stderr
    pieces = int(lines[0].partition(" of ")[2].split()[0])
    kept = len(list((tmp_path / "store").rglob("*.json")))
    assert kept == pieces + 1, "every piece, and the whole"
    assert done.stdout.startswith("long\t")


def test_a_checkpoint_runs_no_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"dims": Evil(), "model_state_dict": {}}, tmp_path / "evil.pt")
    with pytest.raises(UserError):
        heard(open_recogniser(f"whisper:{tmp_path / 'evil.pt'}"), sounds(1))
    assert not (tmp_path / "ran").exists()


def test_weights_that_are_not_there_and_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setattr("urllib.request._opener", None)  # It is kept by the process, with the proxies that it found.
    recogniser = open_recogniser("whisper")
    assert recogniser.name == "whisper:large-v3"
    with pytest.raises(UserError, match="can't be downloaded"):
        heard(recogniser, sounds(1))
    assert not list((tmp_path / "whisper").glob("*.pt"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("whisper:huge", "has no model 'huge'"),
        ("whisper:/none/tiny.pt", "expected a checkpoint file"),
        ("whisper,language=klingon", "whisper knows"),
    ],
)
def test_what_it_refuses(spec: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_recogniser(spec)


SAID = "Um I don't won't it's twenty-one 21st 2,000 $5.50 1.5 per cent half double oh colour's Mr. é [Music] 1990s"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(SAID.split()), max_size=8).map(" ".join))
def test_words_are_compared_after_whispers_own_normaliser(text: str) -> None:
    assert words.EnglishTextNormalizer()(text) == whisper.normalizers.EnglishTextNormalizer()(text)
