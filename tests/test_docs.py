"""What README.md and the pages of docs/ show is true: commands and code run as they stand, links lead somewhere.

A command runs in a folder of its own making, with this checkout's programs. Made up are the network (one server on
loopback is every vendor's and every grounder's), the program ``vllm``, which is named to tell that it needs no GPU, and
what capitals stand for: small data sets in place of the released ones. The environment cuts runs to a step.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from data.layouts.build import sample_steps, screenspot
from fakes.chat_server import ChatServer, completion, working_out
from fakes.shop_model import shop_model
from run.probe.models import button_in
from run.ray.conftest import free_port
from shell import PATIENCE_S

from grounding.cards import GrounderCard, read_card
from grounding.cli import app
from grounding.grounders.base import SavedPredictions

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

Json = dict[str, Any]

NOT_RUN = {
    "pip install -e . && python -m grounding.eval": ".ci/run begins with it",
    "pip install -e '.[test]' && pytest": ".ci/run goes on with it",
    "pip install": "extras are installed by .ci/prepare",
    "grounding eval --grounder any@rel_1000 --base-url": "the made-up server has every model, not one",
    "grounding eval --dataset likaixin": "needs a network: tests/data/remote/test_hub.py has a hub of its own",
    "grounding annotate": "opens a window: tests/annotate does, for each of these commands",
    "python -m grounding.asr": "the whole sample heard four times: tests/asr does it for a few recordings",
    "grounding transcribe DATA/7/audio": "needs weights of Whisper: tests/asr/whisper has tiny ones",
    "grounding sweep --transcript truth whisper": "needs weights of Whisper: tests/asr/whisper has tiny ones",
    "grounding shop build": "needs reviews of Amazon: tests/benchmarks/personalwab/test_construction.py has small ones",
    "grounding eval --dataset agenticshop": "searches the web: tests/benchmarks/agenticshop/test_running.py",
    "grounding train grounder gta1": "needs weights and GPUs: tests/training/test_command.py has tiny ones",
    "grounding eval --grounder results/RUN/adapter": "needs a trained model: tests/vllm/test_real_adapter.py has one",
    "grounding train puma": "needs GPUs, or some minutes: tests/training/test_puma.py trains smaller ones",
    "python tools/vllm_cpu/tiny_checkpoint.py tiny": "tests/vllm and tests/grounders/hf make such ones",
    "grounding train grounder qwen2.5-vl --model tiny": "some minutes: tests/training/test_command.py has smaller ones",
    "python -m tools.training_proof.tinyllama": "tests/training/test_proof.py makes one",
    "python -m grounding.eval --grounder gta1 --executor ray --ray-address": "needs a cluster: tests/run/ray",
    "ray job submit": "needs a cluster with a dashboard",
}  # Beginnings of commands that aren't run here, and why; the longest that fits counts.
SERVERS = ("grounding serve", "grounding view")  # What prints its address and runs until it is stopped.


def shown() -> list[str]:
    """All lines of the pages' blocks for a shell, without their comments, each once."""
    blocks = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
    return list(dict.fromkeys(line.split("  #")[0].strip() for block in blocks for line in block.splitlines()))


def run_here() -> list[str]:
    return [command for command in shown() if not command.startswith((*NOT_RUN, *SERVERS))]


def commands() -> list[str]:
    parts = [part.strip() for line in shown() for part in line.split("&&")]
    return [part for part in parts if part.startswith(("grounding ", "python -m grounding.eval")) and "|" not in part]


def test_what_is_not_run_is_shown() -> None:
    assert len(run_here()) > 25
    assert [start for start in NOT_RUN if not any(line.startswith(start) for line in shown())] == []


@pytest.mark.parametrize("command", commands())
def test_every_command_is_understood(command: str) -> None:
    words = shlex.split(command)
    arguments = words[1:] if words[0] == "grounding" else ["eval", *words[3:]]
    function, bound, _ignored = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert callable(function)
    assert bound.signature is not None


def said(body: Json) -> Json:
    """What the model of a request would say."""
    text = json.dumps(body["messages"])
    if "tools" in body or "Arguments:" in text or "user interacting with" in text:
        return shop_model(body)
    if "AI Computer Operator" in text:
        return completion("Action: click (500, 300)")
    if "image_url" in text and "my-" in body["model"] and (centre := button_in(body)) is not None:
        return completion(f"({1000 * centre[0]:.0f}, {1000 * centre[1]:.0f})")
    return completion("Click the blue button." if "gpt" in body["model"] or "o3" in body["model"] else "(500, 300)")


class Workplace(NamedTuple):
    folder: Path
    server: ChatServer
    environment: dict[str, str]

    def command(self, line: str) -> str:
        """A command, with what its capitals stand for."""
        for shape in (r"http://127\.0\.0\.1:8000/v1", r"http://HOST:800[01]/v1"):
            line = re.sub(shape, self.server.base_url, line)
        if dataset := re.search(r"--dataset (\S+) --data-dir DIR", line):
            line = line.replace("DIR", f"data/{dataset[1]}")
        for one in ("one", "two"):
            line = re.sub(r"results/RUN|results/matrix_…|\bRUN\b|\bFOLDER\b", one, line, count=1)
        return line.replace("--port 8000", f"--port {free_port()}")

    def given(self, line: str) -> dict[str, str]:
        """Where a vendor's models are, of those that a command names."""
        options = [option for option in ("planner", "user") if re.search(rf"--{option} (gpt|o\d)", line)]
        names = [f"{option.upper()}_BASE_URL" for option in options] + ["BASE_URL"] * ("--model gpt" in line)
        command = "SWEEP" if " sweep " in line else "EVAL"
        return {f"GROUNDING_{command}_{name}": self.server.base_url for name in names}

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", self.command(line)],
            cwd=self.folder,
            env={**self.environment, **self.given(line)},
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE_S,  # Ray and two servers start for one of them.
            check=False,
        )


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    folder = tmp_path_factory.mktemp("readme")
    for name in ("datasets", "tools"):
        (folder / name).symlink_to(CHECKOUT / name)
    programs = folder / "bin"
    programs.mkdir()
    stand_in = f'#!/bin/sh\nexec {shlex.join([sys.executable, str(CHECKOUT / "tests" / "fakes" / "vllm.py")])} "$@"\n'
    (programs / "vllm").write_text(stand_in)
    (programs / "vllm").chmod(0o755)
    with ChatServer(working_out(said)) as server:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GROUNDING_")},
            "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(CHECKOUT),
            "NO_PROXY": "*",
            "OPENAI_API_KEY": "sk-made-up",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "GROUNDING_VLLM": "env vllm serve",
            "GROUNDING_EVAL_LIMIT": "1",
            "GROUNDING_SWEEP_LIMIT": "1",
        }
        yield Workplace(folder, server, environment)


@pytest.fixture(scope="module")
def data(workplace: Workplace) -> None:
    """What capitals stand for."""
    made = workplace.folder / "data"
    for name, sample in (("realwebassist", "sample-web"), ("percu", "sample-desktop"), ("personalwab", "sample-shop")):
        shutil.copytree(CHECKOUT / "datasets" / sample, made / name)
    for heard in (made / "realwebassist").glob("*/transcriptions_pocketsphinx.json"):
        for model in ("Wlarge", "Wturbo"):
            shutil.copy(heard, heard.with_name(f"transcriptions_{model}.json"))
    (workplace.folder / "my-model.yaml").write_text(re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)[0])
    (workplace.folder / "mine.py").write_text(re.findall(r"```python\n(# mine.py.*?)```", TEXT, re.DOTALL)[0])
    (workplace.folder / "answers.jsonl").write_text('{"step": "1/1", "point": [812, 440]}\n')
    (made / "boxes").mkdir()
    shot = next((CHECKOUT / "datasets" / "sample-web").glob("1/images/*.png"))
    shutil.copy(shot, made / "boxes" / "one.png")
    one = {"image": "one.png", "instruction": "open it", "bbox": [10, 10, 60, 40]}
    (made / "boxes" / "items.json").write_text(json.dumps([one]))
    screenspot(made / "screenspot-v2", sample_steps(3), suffix="_v2")
    for name, grounder in (("one", "center"), ("two", "ocr")):
        done = workplace.run(f"grounding eval --grounder {grounder} --log-dir made-{name}")
        assert done.returncode == 0, done.stderr
        (folder,) = (workplace.folder / f"made-{name}").iterdir()
        folder.rename(workplace.folder / name)


def with_extras(line: str) -> Any:
    needs = [pytest.mark.needs("web")] if re.search("sample-shop|personalwab", line) else []
    return pytest.param(line, marks=[pytest.mark.slow, *needs], id=line)


@pytest.mark.usefixtures("data")
@pytest.mark.timeout(4 * PATIENCE_S)
@pytest.mark.parametrize("line", [with_extras(line) for line in run_here()])
def test_a_command_runs(line: str, workplace: Workplace) -> None:
    done = workplace.run(line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.usefixtures("data")
@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in shown() if line.startswith(SERVERS)])
def test_a_server_is_there_until_it_is_stopped(line: str, workplace: Workplace) -> None:
    words = workplace.command(line)
    process = subprocess.Popen(
        ["bash", "-c", f"exec {words}"],
        cwd=workplace.folder,
        env=workplace.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    address = re.search(r"http://127\.0\.0\.1:\d+\S*", process.stdout.readline())
    assert address is not None
    with urllib.request.urlopen(address[0].removesuffix("/v1") + ("/health" if "serve" in line else "")) as reply:
        assert reply.status == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) in (0, 130)
    process.stdout.close()


def test_the_card_is_accepted(tmp_path: Path) -> None:
    (given,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "my-model.yaml"
    path.write_text(given, encoding="utf-8")
    assert read_card(path, GrounderCard).answer.space == "resized_px"


def test_the_answers_are_accepted(tmp_path: Path) -> None:
    lines = re.findall(r'`(\{"step".*?\})`', TEXT)
    assert len(lines) == 3
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert SavedPredictions(path, ["3/42", "3/43", "3/44"]).name == "replay:answers"


@pytest.mark.parametrize("page", [*PAGES, CHECKOUT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for name in re.findall(r"`((?:grounding|annotate|datasets|models|tests|tools)/[\w./-]+(?:\.\w+|/))`", text):
        assert (CHECKOUT / name).exists(), f"{page.name} names {name}, which is not there"
    for link in re.findall(r'\]\(([^)\s]+)\)|src="([^"]+)"', text):
        path, _, anchor = "".join(link).partition("#")
        if "://" in path:
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        # The site holds the pages of docs/ alone.
        assert page.parent.name != "docs" or target.resolve().is_relative_to(page.parent), link
        headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings], (
            link
        )


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_the_python_of_the_pages_runs(workplace: Workplace) -> None:
    page = (CHECKOUT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    (workplace.folder / "shown.py").write_text("\n".join(blocks), encoding="utf-8")
    first = workplace.run("env -u GROUNDING_EVAL_LIMIT python -m grounding.eval --grounder center")
    assert first.returncode == 0, first.stderr
    folder = re.search(r"run folder (results/sample-web_none_center_\w+)", first.stdout)
    assert folder is not None
    code = (workplace.folder / "shown.py").read_text().replace("results/sample-web_none_ocr_25bd4de98a", folder[1])
    (workplace.folder / "shown.py").write_text(code)
    done = workplace.run("python shown.py")
    assert done.returncode == 0, done.stderr
