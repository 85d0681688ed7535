"""``whisper-api`` against a real vLLM server that serves a Whisper of random weights: noise comes back."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from asr.speech import clip, tone, write
from real_server import python, vllm_environment
from serving.helpers import REPOSITORY

from grounding.asr.recogniser import RecogniserOptions, open_recogniser
from grounding.asr.transcribe import transcribe
from grounding.errors import UserError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NAME = "tiny-whisper"
PATIENCE_S = 900.0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    vllm_python = python()
    if vllm_python is None:
        pytest.skip("no vLLM here: python tools/vllm_cpu/install.py .vllm (or name one in GROUNDING_VLLM_PYTHON)")
    folder = tmp_path_factory.mktemp("whisper")
    program = REPOSITORY / "tools" / "vllm_cpu" / "tiny_whisper.py"
    subprocess.run([vllm_python, program, folder / "tiny"], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [vllm_python, "-m", "vllm.entrypoints.openai.api_server", "--model", folder / "tiny"]
    command += ["--served-model-name", NAME, "--host", "127.0.0.1", "--port", str(port), "--enforce-eager"]
    command += ["--dtype", "float32", "--generation-config", "vllm"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=vllm_environment(vllm_python), stdout=log, stderr=log, start_new_session=True
        )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not _healthy(port):
            assert process.poll() is None, (folder / "log").read_text()[-3000:]
            assert time.monotonic() < deadline, (folder / "log").read_text()[-3000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


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
