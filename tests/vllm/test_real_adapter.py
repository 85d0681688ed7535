"""An adapter behind a real vLLM server: the same answers as in this process, and the base beside it at one address."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from real_server import here, pictures, python, served, vllm_environment
from serving.helpers import REPOSITORY

from grounding.cards import GrounderCard, ServingCard, read_card
from grounding.records import Prediction

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FLAGS = ("--dtype", "float32", "--enforce-eager", "--generation-config", "vllm", "--max-model-len", "4096")
FLAGS += ("--limit-mm-per-prompt", '{"image":1,"video":0}')
FLAGS += ("--mm-processor-kwargs", '{"min_pixels":3136,"max_pixels":200000}')


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from grounders.hf.tiny import write_plain

    return write_plain(tmp_path_factory.mktemp("plain") / "tiny")


@pytest.fixture(scope="module")
def adapter(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an adapter of rank 4 with its card, which names the server's flags."""
    from training.tiny_adapter import CARD, tuned, write_lora

    from grounding.training.grounder import write_tuned

    where = tmp_path_factory.mktemp("adapter")
    card = msgspec.structs.replace(CARD, serving=ServingCard(flags=FLAGS))
    write_tuned(where / "a", write_lora(where / "o", checkpoint), tuned(checkpoint, card), base=checkpoint)
    return where / "a"


@pytest.fixture(scope="module")
def address(adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What ``grounding serve FOLDER`` prints when it is ready."""
    vllm_python = python()
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


def raws(answers: list[Prediction]) -> list[str | None]:
    return [answer.raw for answer in answers]


def test_an_adapter_answers_alike_behind_vllm_and_in_this_process(
    adapter: Path, checkpoint: Path, address: str, tmp_path: Path
) -> None:
    from training.tiny_adapter import CARD

    tuned, queries = read_card(adapter / "card.yaml", GrounderCard), pictures(tmp_path)
    of_tuned, of_base = raws(served(tuned, address, queries)), raws(served(CARD, address, queries))
    assert None not in (*of_tuned, *of_base)
    assert of_tuned == raws(here(tuned, None, queries))
    assert of_base == raws(here(CARD, checkpoint, queries))
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
