"""Servers that ``grounding eval`` starts by itself: when, with what, and that a run's id does not know of them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import TinyDataset
from fakes.make import grounder_card

from grounding.errors import UserError
from grounding.options import EvalOptions
from grounding.serving.managed import manage_servers, send_as
from serving.helpers import CARD, FAKE, asked, environment, is_alive, pids, started, until

pytestmark = pytest.mark.slow

Ended = subprocess.CompletedProcess[str]


class Evaluation:
    """A small data set, a card, and the command line over them."""

    def __init__(self, folder: Path, data: Path, flags: str) -> None:
        self.folder, self.data = folder, data
        self.record, self.results = folder / "record", folder / "results"
        (folder / "card.yaml").write_text(f"{CARD}serving: {{flags: [--fake-record, {self.record}{flags}]}}\n")

    def command(self, *options: str) -> list[str]:
        begin = [sys.executable, "-m", "grounding", "eval", "--dataset", "realwebassist", "--data-dir"]
        grounder = ["--grounder", str(self.folder / "card.yaml")]
        return [
            *begin,
            str(self.data),
            *grounder,
            "--log-dir",
            str(self.results),
            "--max-retries",
            "0",
            "--no-probe",
            *options,
        ]

    def run(self, *options: str, **variables: str) -> Ended:
        variables = {"GROUNDING_VLLM": shlex.join(FAKE), **variables}
        return subprocess.run(
            self.command(*options), env=environment(**variables), capture_output=True, text=True, timeout=120
        )

    @property
    def run_folder(self) -> Path:
        (folder,) = self.results.iterdir()
        return folder

    def left(self) -> list[int]:
        return [pid for pid in pids(self.record) if is_alive(pid)]


@pytest.fixture
def evaluation(tmp_path: Path, tiny_dataset: TinyDataset) -> Any:
    return lambda flags="", **data: Evaluation(tmp_path, tiny_dataset(**data), flags)


def test_a_run_gets_a_server_and_leaves_none(evaluation: Any) -> None:
    run: Evaluation = evaluation()
    ended = run.run()
    assert ended.returncode == 0, ended.stderr
    assert len(asked(run.record)) == 6
    assert run.left() == []
    assert "POST /v1/chat/completions" in (run.run_folder / "server.log").read_text()
    info = json.loads((run.run_folder / "run.json").read_text())
    assert info["asked"]["base_url"] == "managed"


def test_runs_of_one_model_share_its_server_which_is_started_once(evaluation: Any) -> None:
    run: Evaluation = evaluation()
    other = run.folder / "other.yaml"
    other.write_text((run.folder / "card.yaml").read_text().replace("name: g", "name: other"))
    ended = run.run("--grounder", str(other), "--planner", "none", "replay", "--plans", str(_plans(run)))
    assert ended.returncode == 0, ended.stderr
    ports = [line["port"] for line in asked(run.record)]
    starts = [line["arguments"][line["arguments"].index("--port") + 1] for line in started(run.record)]
    # Two runs of each model, and its server's two runs go to one port.
    assert len(starts) == 2
    assert sorted(ports) == sorted(port for port in map(int, starts) for _ in range(12))
    assert run.left() == []
    (queue,) = run.results.glob("matrix_*/queue.json")
    found = json.loads(queue.read_text())
    assert [each["state"] for each in found["runs"]] == ["complete"] * 4
    assert {each["server"] for each in found["runs"]} == {"g", "other"}


def _plans(run: Evaluation) -> Path:
    """Recorded plans for every step: the same words each."""
    path = run.folder / "plans.json"
    path.write_text(json.dumps({one.name: {str(n): f"press {n}" for n in range(1, 9)} for one in run.data.iterdir()}))
    return path


def test_replicas_share_the_work_and_the_run(evaluation: Any) -> None:
    run: Evaluation = evaluation()
    assert run.run("--replicas", "2").returncode == 0
    ports = sorted(int(line["arguments"][line["arguments"].index("--port") + 1]) for line in started(run.record))
    assert ports[1] == ports[0] + 1
    assert {line["port"] for line in asked(run.record)} == set(ports)
    assert run.run("--replicas", "1").returncode == 0
    assert len(started(run.record)) == 2
    assert run.run_folder.is_dir()


def test_files_are_sent_where_asked_for_and_the_server_may_read_their_folder(evaluation: Any) -> None:
    run: Evaluation = evaluation()
    assert run.run("--send", "file").returncode == 0
    (start,) = started(run.record)
    allowed = start["arguments"][start["arguments"].index("--allowed-local-media-path") + 1]
    assert Path(allowed) == run.data.resolve()
    urls = {
        part["image_url"]["url"] for line in asked(run.record) for part in line["body"]["messages"][0]["content"][:1]
    }
    assert len(urls) == 6
    assert all(url.startswith(f"file://{allowed}/") for url in urls)


def test_a_server_that_dies_in_mid_run_is_started_again_and_costs_no_step(evaluation: Any) -> None:
    run: Evaluation = evaluation(", --fake-die-at, '5'", participants=1, steps=20, unscored=())
    done = run.run("--max-connections", "1")
    assert done.returncode == 0, done.stderr
    assert "the server ended by itself (exit code 4)" in done.stderr
    assert "it is started again" in done.stderr
    assert "answers again after" in done.stderr
    assert len(asked(run.record)) == 20 + 1
    assert len(started(run.record)) == 2


def test_ctrl_c_while_the_server_loads_ends_both(evaluation: Any) -> None:
    run: Evaluation = evaluation(", --fake-delay, '600'")
    with subprocess.Popen(
        run.command("--display", "plain"),
        env=environment(GROUNDING_VLLM=shlex.join(FAKE)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        until(lambda: started(run.record))
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"starting the server, 0 s" in errors
    assert run.left() == []


def test_without_a_gpu_one_sentence_names_the_ways_out(evaluation: Any) -> None:
    run: Evaluation = evaluation()
    ended = run.run(GROUNDING_VLLM="")
    assert ended.returncode == 2
    said = " ".join(ended.stderr.split())
    assert "no GPU here to start one on" in said
    assert "--base-url http://HOST:PORT/v1" in said
    assert "--predictions FILE" in said
    assert not run.results.exists()


# --- when to start one -----------------------------------------------------------------------------------------------


def test_with_a_gpu_vllm_is_what_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vllm").write_text("#!/bin/sh\n")
    (tmp_path / "vllm").chmod(0o755)
    monkeypatch.delenv("GROUNDING_VLLM", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(UserError, match="the program 'vllm' that starts a server is not there"):
        manage_servers(grounder_card(), EvalOptions(), ())
    monkeypatch.setenv("PATH", str(tmp_path))
    managed = manage_servers(grounder_card(), EvalOptions(), ())
    assert managed is not None
    assert managed.options.command == ("vllm", "serve")
    assert managed.base_url == f"http://127.0.0.1:{managed.options.port}/v1"


@pytest.mark.parametrize(
    ("fields", "base_url"),
    [
        ({}, ("http://a/v1",)),
        ({"endpoint": {"base_url": "https://api.example/v1"}}, ()),
        ({"serving": {"how": "in-process"}}, ()),
        ({"serving": {"how": "recorded"}}, ()),
    ],
)
def test_nothing_is_started_for_what_is_served_elsewhere_or_never(
    fields: dict[str, Any], base_url: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDING_VLLM", shlex.join(FAKE))
    card = grounder_card(**fields)
    assert manage_servers(card, EvalOptions(base_url=base_url), ()) is None
    with pytest.raises(UserError, match="--replicas"):
        manage_servers(card, EvalOptions(base_url=base_url, replicas=2), ())


# --- how pictures are sent -------------------------------------------------------------------------------------------

LIMITS = {"factor": 28, "min_pixels": 3136, "max_pixels": 8847360}


@pytest.mark.parametrize(
    ("resize", "sends", "asked_for", "becomes"),
    [
        ("client", "base64", "file", ("server", "file")),
        ("auto", "base64", "file", ("server", "file")),
        ("auto", "base64", None, ("auto", "base64")),
        ("none", "base64", "file", ("none", "file")),
        ("server", "file", "base64", ("server", "base64")),
        ("client", "base64", "base64", ("client", "base64")),
        ("client", "base64", None, ("client", "base64")),
    ],
)
def test_a_file_is_resized_by_the_server(resize: str, sends: str, asked_for: Any, becomes: tuple[str, str]) -> None:
    card = grounder_card(image={"resize": resize, "send": sends, **LIMITS})
    image = send_as(card, asked_for).image
    assert (image.resize, image.send) == becomes
    assert image.max_pixels == LIMITS["max_pixels"]


def test_a_server_of_ones_own_is_left_to_resize_as_it_was_told(evaluation: Any) -> None:
    run: Evaluation = evaluation(size=(640, 480))
    card = run.folder / "card.yaml"
    limits = json.dumps({"resize": "auto", **LIMITS})
    card.write_text(card.read_text().replace("space: sent_px", "space: resized_px") + f"image: {limits}\n")
    assert run.run().returncode == 0
    (start,) = started(run.record)
    assert '{"min_pixels": 3136, "max_pixels": 8847360}' in start["arguments"]
    answers = [json.loads(line) for line in (run.run_folder / "predictions.jsonl").read_text().splitlines()]
    assert {json.dumps(answer["sizes"]["sent"]) for answer in answers} == {'{"width": 640, "height": 480}'}
    assert {json.dumps(answer["sizes"]["model"]) for answer in answers} == {'{"width": 644, "height": 476}'}
