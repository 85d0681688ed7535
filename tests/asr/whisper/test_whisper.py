"""openai-whisper itself, with a checkpoint in its own format: what it says is noise, how it is run is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("whisper", reason="openai-whisper is not installed here: pip install 'grounding[whisper]'")

import torch
import whisper

from asr.speech import clip, tone, write
from asr.whisper.tiny_whisper import ENGLISH, NEWEST, write_checkpoint
from grounding.asr.audio import Audio, from_samples
from grounding.asr.recogniser import RecogniserOptions, RecognitionFailed, open_recogniser
from grounding.asr.recognisers.whisper import WhisperRecogniser
from grounding.asr.running import transcribe
from grounding.asr.store import TranscriptStore
from grounding.errors import UserError

pytestmark = pytest.mark.slow

GREEDY = RecogniserOptions(language="en", temperatures=(0.0,))


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(2)
    return write_checkpoint(tmp_path_factory.mktemp("whisper") / "tiny.pt")


def sounds(count: int) -> list[Audio]:
    """Clips that differ: tones that rise, in noise."""
    rng = np.random.default_rng(1)
    made = [tone(0.5 + at / 5, hz=200 * (at + 1)) for at in range(count)]
    return [from_samples(each + rng.normal(0, 0.05, len(each)).astype(np.float32)) for each in made]


def opened(checkpoint: Path, options: RecogniserOptions = GREEDY) -> WhisperRecogniser:
    found = open_recogniser(f"whisper:{checkpoint}", options)
    assert isinstance(found, WhisperRecogniser)
    return found


def by_the_package(checkpoint: Path, audio: Audio, **options: object) -> dict[str, object]:
    model = whisper.load_model(str(checkpoint), device="cpu")
    found: dict[str, object] = whisper.transcribe(
        model, audio.samples, word_timestamps=True, fp16=False, **{"temperature": 0.0, "language": "en", **options}
    )
    return found


def test_a_batch_says_what_the_package_says_of_each_clip_alone(checkpoint: Path) -> None:
    clips = sounds(3)
    recogniser = opened(checkpoint)
    heard = recogniser.hear(clips)
    assert recogniser.decoder_calls < recogniser.windows
    alone = [by_the_package(checkpoint, each) for each in clips]
    assert [each.text for each in heard] == [str(each["text"]).strip() for each in alone]
    assert len({each.text for each in heard}) > 1, "a model that says the same to everything shows nothing"
    assert all(each.text for each in heard)
    for mine, package in zip(heard, alone, strict=True):
        words = [word for segment in package["segments"] for word in segment.get("words", ())]  # type: ignore[attr-defined]
        assert [word.text for word in mine.words] == [word["word"].strip() for word in words]
        assert [word.start_s for word in mine.words] == pytest.approx([float(word["start"]) for word in words])
        assert all(0 <= word.start_s <= word.end_s for word in mine.words)
        assert all(word.probability is not None and 0 <= word.probability <= 1 for word in mine.words)
    assert any(each.words for each in heard)


def test_the_first_windows_of_all_clips_are_decoded_in_one_call(checkpoint: Path) -> None:
    calls: list[int] = []
    recogniser = opened(checkpoint)
    model = recogniser._opened()
    decode = model.decode

    def counted(windows: torch.Tensor, options: object) -> object:
        calls.append(len(windows))
        return decode(windows, options)

    model.decode = counted
    recogniser.hear(sounds(5))
    assert calls[0] == 5


def test_several_windows_and_the_prompt_between_them(checkpoint: Path) -> None:
    long = from_samples(np.concatenate([sounds(1)[0].samples, np.zeros(29 * 16000, np.float32), sounds(3)[2].samples]))
    assert long.seconds > 30
    heard = opened(checkpoint).hear([long, *sounds(1)])
    assert heard[0].text == str(by_the_package(checkpoint, long)["text"]).strip()


def test_the_language_is_found_and_differing_ones_are_decoded_apart(checkpoint: Path) -> None:
    clips = sounds(2)
    heard = opened(checkpoint, RecogniserOptions(temperatures=(0.0,))).hear(clips)
    alone = [by_the_package(checkpoint, each, language=None) for each in clips]
    assert [each.language for each in heard] == [each["language"] for each in alone]
    assert [each.text for each in heard] == [str(each["text"]).strip() for each in alone]


def test_prompt_and_beams_reach_the_package(checkpoint: Path) -> None:
    (audio,) = sounds(1)
    plain = opened(checkpoint).hear([audio])[0].text
    prompt = RecogniserOptions(language="en", temperatures=(0.0,), prompt="candles, Harbor Goods")
    prompted = opened(checkpoint, prompt).hear([audio])[0].text
    assert prompted == str(by_the_package(checkpoint, audio, initial_prompt=prompt.prompt)["text"]).strip()
    assert prompted != plain
    beams = opened(checkpoint, RecogniserOptions(language="en", temperatures=(0.0,), beam_size=3)).hear([audio])[0]
    assert beams.text == str(by_the_package(checkpoint, audio, beam_size=3)["text"]).strip()


def test_the_fallback_samples_the_same_whatever_else_is_in_the_batch(checkpoint: Path) -> None:
    # No text of random weights is probable, so that every window falls back.
    falling = RecogniserOptions(language="en", temperatures=(0.0, 0.7))
    model = opened(checkpoint, falling)
    clips = sounds(3)
    together = model.hear(clips)
    sampled = [at for at, each in enumerate(together) if each.notes == ("sampled at temperature 0.7",)]
    assert sampled, "no clip fell back"
    torch.manual_seed(123)
    alone = [model.hear([each])[0] for each in reversed(clips)][::-1]
    assert [each.text for each in alone] == [each.text for each in together]


@pytest.mark.parametrize(("vocabulary", "mels"), [(ENGLISH, 80), (NEWEST, 128)])
def test_english_models_and_those_of_128_mels(tmp_path: Path, vocabulary: int, mels: int) -> None:
    path = write_checkpoint(tmp_path / "other.pt", vocabulary=vocabulary, mels=mels)
    (audio,) = sounds(1)
    heard = opened(path).hear([audio])[0]
    assert heard.text == str(by_the_package(path, audio)["text"]).strip()


def test_silence_and_the_shortest_clips(checkpoint: Path) -> None:
    heard = opened(checkpoint).hear([from_samples(np.zeros(16000, np.float32)), from_samples(tone(0.01))])
    assert len(heard) == 2


def test_a_run_stores_what_it_hears_and_asks_once(checkpoint: Path, tmp_path: Path) -> None:
    clips = [clip(write(tmp_path / f"{at}.wav", each.samples)) for at, each in enumerate(sounds(3))]
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    clips.insert(1, clip(tmp_path / "broken.wav"))
    store = TranscriptStore(tmp_path / "store")
    first = transcribe(clips, opened(checkpoint), store=store)
    assert [each.failure.kind if each.failure else "" for each in first] == ["", "unreadable", "", ""]
    assert all(each.compute_s > 0 for each in first if not each.failure)
    again = opened(checkpoint)
    second = transcribe(clips, again, store=store)
    assert again.decoder_calls == 0
    assert [each.text for each in second] == [each.text for each in first]
    other = write_checkpoint(tmp_path / "other.pt", seed=1)
    changed = transcribe(clips, opened(other), store=store)
    assert [each.text for each in changed] != [each.text for each in first]


def test_a_clip_over_which_the_package_fails_fails_alone(checkpoint: Path, tmp_path: Path) -> None:
    recogniser = opened(checkpoint)
    model = recogniser._opened()
    decode = model.decode
    bad = sounds(2)[1]
    mel = whisper.pad_or_trim(whisper.log_mel_spectrogram(bad.samples, 80, padding=480000), 3000)

    def failing(windows: torch.Tensor, options: object) -> object:
        if any(torch.equal(window[:, :50], mel[:, :50]) for window in windows):
            raise torch.OutOfMemoryError("out of memory")
        return decode(windows, options)

    model.decode = failing
    with pytest.raises(RecognitionFailed, match="out of memory"):
        recogniser.hear([bad])
    paths = [write(tmp_path / f"{at}.wav", each.samples, subtype="FLOAT") for at, each in enumerate(sounds(3))]
    heard = transcribe([clip(path) for path in paths], recogniser)
    assert [each.failure is None for each in heard] == [True, False, True]


@pytest.mark.parametrize("kind", ["text", "zip", "other"])
def test_a_file_that_is_no_checkpoint(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bad.pt"
    if kind == "text":
        path.write_text("no weights")
    elif kind == "zip":
        path.write_bytes(b"PK\x03\x04" + bytes(100))
    else:
        torch.save({"model_state_dict": {}}, path)
    with pytest.raises(UserError, match="expected openai-whisper's format"):
        opened(path).hear(sounds(1))


def test_a_checkpoint_runs_no_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"dims": Evil(), "model_state_dict": {}}, tmp_path / "evil.pt")
    with pytest.raises(UserError):
        opened(tmp_path / "evil.pt").hear(sounds(1))
    assert not (tmp_path / "ran").exists()


def test_weights_that_are_not_there_and_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    recogniser = open_recogniser("whisper")
    assert recogniser.name == "whisper:large-v3"
    with pytest.raises(UserError, match="can't be downloaded") as caught:
        recogniser.hear(sounds(1))
    assert "large-v3.pt" in str(caught.value)
    assert "openai-whisper downloads them now" in capsys.readouterr().err
    assert not list((tmp_path / "whisper").glob("*.pt"))


def test_identities_tell_apart_what_can_change_the_text(checkpoint: Path) -> None:
    names = [open_recogniser(spec).identity for spec in ("whisper", "whisper:turbo", "whisper:tiny.en")]
    names += [opened(checkpoint, RecogniserOptions(language=each)).identity for each in (None, "en", "de")]
    names += [open_recogniser("whisper:turbo,beam_size=5").identity]
    assert len(set(names)) == len(names)
    same = open_recogniser("whisper:turbo", RecogniserOptions(batch_size=3, processes=9, connections=9))
    assert same.identity == names[1]


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("whisper:huge", RecogniserOptions(), "has no model 'huge'"),
        ("whisper:/none/tiny.pt", RecogniserOptions(), "expected a checkpoint file"),
        ("whisper", RecogniserOptions(language="klingon"), "whisper knows"),
        ("whisper", RecogniserOptions(model_dir="x"), "for pocketsphinx"),
    ],
)
def test_what_it_refuses(spec: str, options: RecogniserOptions, said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_recogniser(spec, options)
