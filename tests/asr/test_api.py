from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from fakes.chat_server import after, dropped, error, rate_limited, raw
from fakes.transcriptions import TranscriptionServer

from asr.speech import clip, tone, write
from grounding.asr.audio import from_samples
from grounding.asr.recogniser import RecogniserOptions, RecognitionFailed, open_recogniser
from grounding.asr.recognisers.api import ApiRecogniser
from grounding.asr.running import transcribe
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


def hear(recogniser: ApiRecogniser, seconds: float = 1.0) -> object:
    try:
        return recogniser.hear([from_samples(tone(seconds))])[0]
    finally:
        recogniser.close()


def test_the_request_and_what_is_made_of_the_reply(
    server: TranscriptionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    recogniser = opened(server, language="en", prompt="candles", usd_per_minute=0.006)
    heard = recogniser.hear([from_samples(tone(1.5))])[0]
    recogniser.close()
    assert heard.text == "heard 1.5 seconds"
    assert [(word.text, word.start_s, word.end_s) for word in heard.words] == [("heard", 0.1, 0.4)]
    assert heard.language == "english"
    assert heard.cost_usd == pytest.approx(0.006), "the server says that it counts 60 seconds"
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


def test_the_cost_is_not_made_up(server: TranscriptionServer) -> None:
    assert hear(opened(server)).cost_usd is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("forms", "asked"),
    [
        (("verbose_json", "json"), ["word", "verbose_json", "verbose_json"]),
        (("json",), ["word", "verbose_json", "json", "json"]),
    ],
)
def test_a_form_that_is_refused_is_not_asked_for_again(forms: tuple[str, ...], asked: list[str]) -> None:
    with TranscriptionServer(forms=forms) as server:
        recogniser = opened(server)
        heard = recogniser.hear([from_samples(tone(1.0)), from_samples(tone(2.0))])
        recogniser.close()
        assert [each.text for each in heard] == ["heard 1.0 seconds", "heard 2.0 seconds"]
        assert heard[0].words == ()
        assert [upload.form for upload in server.uploads] == asked


def test_faults_that_pass_are_tried_again(server: TranscriptionServer) -> None:
    server.script(error(503), dropped(), rate_limited(milliseconds=20), raw(b'{"text": "hal'), raw(b"<html>"))
    assert hear(opened(server)).text == "heard 1.0 seconds"  # type: ignore[attr-defined]
    assert server.count == 6


def test_tries_come_to_an_end(server: TranscriptionServer) -> None:
    server.default = error(500, "broken")
    with pytest.raises(RecognitionFailed, match=r"HTTP 500.*after 3 tries"):
        hear(opened(server, max_retries=2))
    assert server.count == 3


def test_a_wait_that_the_server_asks_for_stops_all_of_them(server: TranscriptionServer) -> None:
    server.script(rate_limited(seconds=0.6))
    recogniser = opened(server)
    started = time.monotonic()
    hear(recogniser)
    assert time.monotonic() - started >= 0.6


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
    server.script(*[error(400, "audio too short")] * 3)
    made = [clip(write(tmp_path / f"{at}.wav", tone(0.2, hz=200 + at))) for at in range(2)]
    recogniser = opened(server, connections=1)
    heard = transcribe(made, recogniser)
    recogniser.close()
    assert [each.failure is None for each in heard] == [False, True]
    assert heard[1].words, "the form in which it was asked was not to blame"
    assert heard[0].failure is not None
    assert "audio too short" in heard[0].failure.message


def test_the_key_is_in_no_message(server: TranscriptionServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.default = error(403, f"the key {KEY} is not good")
    with pytest.raises(UserError) as caught:
        hear(opened(server))
    assert KEY not in str(caught.value)
    assert KEY not in opened(server).identity


def test_as_many_at_once_as_there_are_connections(server: TranscriptionServer, tmp_path: Path) -> None:
    answer = server.default
    server.default = after(0.2, answer)
    made = [clip(write(tmp_path / f"{at}.wav", tone(0.2, hz=200 + at))) for at in range(9)]
    recogniser = opened(server, connections=3)
    heard = transcribe(made, recogniser)
    recogniser.close()
    assert all(each.failure is None for each in heard)
    assert server.most_open == 3


def test_closing_ends_what_waits(server: TranscriptionServer) -> None:
    server.default = after(60, server.default)
    recogniser = opened(server)
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            recogniser.hear([from_samples(tone(0.2))])
        except RecognitionFailed as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.open:
        time.sleep(0.01)
    recogniser.close()
    thread.join(20)
    assert not thread.is_alive()
    assert "broken off" in str(errors[0])


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("whisper-api", {}, "which model"),
        ("whisper-api:m", {}, "set OPENAI_API_KEY"),
        ("whisper-api:m", {"base_url": "nowhere"}, "expected an address"),
        ("whisper-api:m", {"base_url": "http://a:b@c/v1"}, "a password"),
        ("whisper-api:m", {"beam_size": 3}, "beam_size"),
        ("whisper-api:m", {"device": "cuda"}, "device"),
        ("whisper-api:m", {"temperatures": (0.1, 0.2)}, "takes one"),
    ],
)
def test_what_it_refuses(spec: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_recogniser(spec, msgspec.convert(options, RecogniserOptions))


def test_the_address_may_be_that_of_the_endpoint_itself() -> None:
    options = [
        RecogniserOptions(base_url=f"http://127.0.0.1:9{path}") for path in ("", "/v1", "/v1/audio/transcriptions")
    ]
    assert len({open_recogniser("whisper-api:m", each).identity for each in options}) == 1
