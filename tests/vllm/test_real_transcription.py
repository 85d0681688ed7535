"""``whisper-api`` against a real vLLM server that serves a Whisper of random weights: noise comes back."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from asr.speech import clip, tone, write
from real_server import python, running
from serving.helpers import REPOSITORY

from grounding.asr.recogniser import RecogniserOptions, open_recogniser
from grounding.asr.transcribe import transcribe
from grounding.errors import UserError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NAME = "tiny-whisper"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    vllm_python = python()
    folder = tmp_path_factory.mktemp("whisper")
    program = REPOSITORY / "tools" / "vllm_cpu" / "tiny_whisper.py"
    subprocess.run([vllm_python, program, folder / "tiny"], check=True)
    arguments = ["--model", folder / "tiny", "--served-model-name", NAME, "--enforce-eager", "--dtype", "float32"]
    with running(folder / "log", *arguments, "--generation-config", "vllm") as base_url:
        yield base_url


def test_a_real_server_hears_clips(address: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    made = []
    for at in range(3):
        sound = tone(1.0, hz=300 * (at + 1)) + rng.normal(0, 0.1, 16000).astype(np.float32)
        made.append(clip(write(tmp_path / f"{at}.wav", sound)))
    recogniser = open_recogniser(f"whisper-api:{NAME}", RecogniserOptions(base_url=address, language="en"))
    heard = transcribe(made, recogniser)
    again = transcribe(made[:1], recogniser)
    assert [each.failure for each in heard] == [None] * 3
    assert any(each.text for each in heard), "nothing at all was heard"
    assert again[0].text == heard[0].text

    other = open_recogniser("whisper-api:another", RecogniserOptions(base_url=address))
    with pytest.raises(UserError, match="check the model's name"):
        transcribe(made, other)
