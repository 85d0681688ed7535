from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pytest
from fakes.chat_server import error
from fakes.transcriptions import TranscriptionServer

from asr.speech import clip, tone, write
from grounding.asr.api import ApiRecogniser
from grounding.asr.audio import Audio
from grounding.asr.recogniser import RecogniserOptions, Recognition, open_recogniser
from grounding.asr.transcribe import transcribe
from grounding.errors import UserError

KEY = "sk-very-secret/key"


@pytest.fixture
def server() -> Iterator[TranscriptionServer]:
    with TranscriptionServer() as running:
        yield running


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def opened(server: TranscriptionServer, **options: object) -> ApiRecogniser:
    given = msgspec.convert({"base_url": server.base_url, **options}, RecogniserOptions)
    found = open_recogniser("whisper-api:whisper-1", given)
    assert isinstance(found, ApiRecogniser)
    found._backoff_s = 0.001
    return found


def hear(recogniser: ApiRecogniser, *seconds: float) -> list[Recognition]:
    asked = [Audio(samples=tone(each)) for each in seconds]
    found = dict(recogniser.hear(iter(asked)))
    return [cast("Recognition", found[each]) for each in asked]


def test_the_request_and_what_is_made_of_the_reply(
    server: TranscriptionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (heard,) = hear(opened(server, language="en", prompt="candles"), 1.5)
    assert heard.text == "heard 1.5 seconds"
    assert [(word.text, word.start_s, word.end_s) for word in heard.words] == [("heard", 0.1, 0.4)]
    (upload,) = server.uploads
    assert upload.fields == {
        "model": "whisper-1",
        "temperature": "0",
        "response_format": "verbose_json",
        "timestamp_granularities[]": "word",
        "language": "en",
        "prompt": "candles",
    }
    assert (upload.rate_hz, upload.samples.shape, upload.file_name) == (16000, (24000, 1), "clip.flac")
    assert np.abs(upload.samples[:, 0] - tone(1.5)).max() < 1e-4
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_form_that_is_refused_is_not_asked_for_again() -> None:
    with TranscriptionServer(forms=("json",)) as server:
        heard = hear(opened(server, connections=1), 1.0, 2.0)
        assert [each.text for each in heard] == ["heard 1.0 seconds", "heard 2.0 seconds"]
        assert heard[0].words == ()
        assert [upload.form for upload in server.uploads] == ["word", "json", "json"]


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [(401, "invalid_api_key", "check the key in OPENAI_API_KEY"), (404, "model_not_found", "check the model's name")],
)
def test_what_no_request_can_succeed_with_ends_the_run(
    server: TranscriptionServer, tmp_path: Path, status: int, code: str, said: str
) -> None:
    server.default = error(status, "whisper-1 is not for you", code=code)
    made = [clip(write(tmp_path / f"{at}.wav", tone(0.2, hz=200 + at))) for at in range(3)]
    recogniser = opened(server, connections=1)
    with pytest.raises(UserError, match=said):
        transcribe(made, recogniser)
    assert server.count == 1


def test_a_refusal_of_one_clip_is_that_clips(server: TranscriptionServer, tmp_path: Path) -> None:
    server.script(*[error(400, "audio too short")] * 2)
    made = [clip(write(tmp_path / f"{at}.wav", tone(0.2, hz=200 + at))) for at in range(2)]
    recogniser = opened(server, connections=1)
    heard = transcribe(made, recogniser)
    assert [each.failure is None for each in heard] == [False, True]
    assert heard[1].words, "the form in which it was asked was not to blame"
    assert heard[0].failure is not None
    assert "audio too short" in heard[0].failure.message


def test_the_key_is_in_no_message(server: TranscriptionServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.default = error(403, f"the key {KEY} is not good")
    with pytest.raises(UserError) as caught:
        hear(opened(server), 1.0)
    assert KEY not in str(caught.value)
    assert KEY not in opened(server).identity
