"""A real vLLM server on the CPU with a tiny checkpoint of random weights, and an evaluation that asks it.

``python tools/vllm_cpu/install.py DIR`` makes the environment; ``GROUNDING_VLLM_PYTHON=DIR/bin/python`` names it, or
DIR is ``.vllm`` at the top of the checkout.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from serving.helpers import REPOSITORY, VLLM_ON_CPU, environment, is_alive

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


def python() -> Path | None:
    """The interpreter of an environment with vLLM."""
    named = os.environ.get("GROUNDING_VLLM_PYTHON")
    found = Path(named) if named else REPOSITORY / ".vllm" / "bin" / "python"
    return found if found.exists() else None


def vllm_environment(vllm_python: Path) -> dict[str, str]:
    """Where the CPU module stands in for ``vllm serve``, with little memory and no look at the network."""
    command = f"'{vllm_python}' -m vllm.entrypoints.openai.api_server"
    return environment(GROUNDING_VLLM=command, **VLLM_ON_CPU)


# The tests switch the probe off for every run that doesn't ask for it.
PROBED = {"GROUNDING_EVAL_NO_PROBE": "false"}


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
