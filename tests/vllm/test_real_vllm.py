"""A real vLLM server: served, asked, killed, restarted, doubled, ended. The answers are noise, the machinery is not."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from llm.helpers import free_port
from PIL import Image
from real_server import FLAGS, PROBED, SAMPLE, Evaluation, Serve, card_text, python, vllm_environment
from serving.helpers import REPOSITORY, environment, is_alive, until

from grounding.cards import GrounderCard, find_card
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.records import Prediction, Query, Screenshot, Size
from grounding.run.probe.gate import MOST_DIGITS, open_for_probe, short_card

RESIZED_BY_THE_SERVER = {"resize": "server", "factor": 28, "min_pixels": 3136, "max_pixels": 8847360}
# For tests of who answers, whatever is seen.
SMALL = {"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 250_000}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    return python()


@pytest.fixture(scope="session")
def sample() -> Path:
    data = Path(os.environ.get("GROUNDING_SAMPLE_WEB") or SAMPLE)
    if not data.is_dir():
        pytest.skip(f"the bundled sample is not in this checkout: {data}")
    return data


@pytest.fixture(scope="session")
def checkpoint(vllm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny checkpoint."""
    out = tmp_path_factory.mktemp("checkpoint") / "tiny"
    program = REPOSITORY / "tools" / "vllm_cpu" / "tiny_checkpoint.py"
    subprocess.run([vllm_python, program, out, "--windows-only"], check=True)
    return out


@pytest.fixture
def evaluation(tmp_path: Path, sample: Path) -> Evaluation:
    return Evaluation(tmp_path, sample)


@pytest.fixture
def serve(vllm_python: Path, checkpoint: Path, tmp_path: Path) -> Iterator[Any]:
    opened: list[Serve] = []

    def start(*options: str) -> Serve:
        opened.append(Serve(vllm_python, checkpoint, tmp_path, *options))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


class TwoReplicas(NamedTuple):
    """One ``grounding serve --replicas 2`` and the addresses that it printed."""

    serve: Serve
    addresses: list[str]


@pytest.fixture(scope="module")
def two(
    vllm_python: Path, checkpoint: Path, sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TwoReplicas]:
    folder = tmp_path_factory.mktemp("two")
    server = Serve(vllm_python, checkpoint, folder, "--replicas", "2", "--data-dir", str(sample))
    yield TwoReplicas(server, [server.address(), server.address()])
    server.close()


def requests_served(address: str) -> int:
    """How many requests the server itself says that it has finished."""
    with urllib.request.urlopen(address.removesuffix("/v1") + "/metrics") as response:
        text = response.read().decode()
    return int(sum(float(value) for value in re.findall(r"^vllm:request_success_total{.*} (\S+)$", text, re.MULTILINE)))


def test_the_main_job_is_shared_by_two_replicas(two: TwoReplicas, evaluation: Evaluation) -> None:
    code, errors = evaluation.run("--base-url", *two.addresses, variables=environment(**PROBED))
    assert code == 0, errors
    answers, probed = evaluation.predictions(), evaluation.probed()
    assert len(answers) == 262
    assert all(line["point"] is not None for line in answers.values())
    assert len({line["raw"] for line in answers.values()}) > 30
    for line in answers.values():  # What the server made of the picture is what the card says that it makes.
        seen = line["sizes"]["model"]
        assert 0 < line["call"]["usage"]["input_tokens"] - seen["width"] * seen["height"] // 28**2 < 600
    # The server had just been seen to make those sizes by itself.
    assert all(line["sizes"]["sent"] == line["sizes"]["original"] for line in answers.values())
    # The same by the run itself, on drawn pictures of six sizes.
    assert len(probed["tokens"]) == 6
    assert all(line["agrees"] for line in probed["tokens"]), probed["tokens"]
    assert probed["parsed"] == probed["asked"] == 12
    assert all(requests_served(address) >= 20 for address in two.addresses)


def test_the_server_makes_the_cards_size_of_every_picture_as_it_is(two: TwoReplicas, tmp_path: Path) -> None:
    card = find_card("gta1", REPOSITORY / "models" / "grounders", GrounderCard, builtin=(), kind="grounder")
    kinds = (("RGB", "png"), ("RGB", "jpg"), ("RGB", "webp"), ("RGBA", "png"), ("P", "png"), ("LA", "png"))
    shots = []
    for width, height in ((333, 517), (50, 40), (1001, 701), (1919, 1079), (97, 1203)):
        noise = Image.frombytes("RGBA", (width, height), random.Random(width).randbytes(width * height * 4))
        for mode, kind in kinds:
            path = tmp_path / f"{width}x{height}-{mode}.{kind}"
            noise.convert(mode).save(path)
            shots.append(Screenshot(path=str(path), size=Size(width=width, height=height), sha256=""))

    async def ask() -> list[tuple[Prediction, Prediction]]:
        options = ChatOptions(base_url=two.addresses[0])
        asked = open_for_probe(short_card(card), options, budget=Budget(None), on_retry=lambda: None)
        queries = [Query(step_id="", key="", screenshot=shot, instruction="Click") for shot in shots]
        try:
            whole = [await asked.ground(msgspec.structs.replace(query, untouched=True)) for query in queries]
            return list(zip(whole, [await asked.ground(query) for query in queries], strict=True))
        finally:
            await asked.aclose()

    text = []
    for untouched, resized in asyncio.run(ask()):
        assert untouched.sizes is not None
        assert resized.sizes is not None
        assert untouched.sizes.sent == untouched.sizes.original != resized.sizes.sent
        counts = [each.call.usage.input_tokens for each in (untouched, resized) if each.call and each.call.usage]
        assert counts == [counts[0]] * 2
        seen = untouched.sizes.model
        text.append(counts[0] - seen.width * seen.height // 28**2)
    assert max(text) - min(text) <= MOST_DIGITS  # The prompt names the size.


def test_a_server_reads_the_files_itself(two: TwoReplicas, evaluation: Evaluation, tmp_path: Path) -> None:
    # The file itself is sent both ways, so that the server does the same with it.
    evaluation.card.write_text(card_text(image=RESIZED_BY_THE_SERVER))
    by_way = {}
    for way in ("base64", "file"):
        evaluation.results = tmp_path / way
        code, errors = evaluation.run("--base-url", two.addresses[0], "--send", way, "--limit", "40")
        assert code == 0, errors
        by_way[way] = {step: line["raw"] for step, line in evaluation.predictions().items()}
    assert len(by_way["file"]) == 40
    assert len(set(by_way["file"].values())) > 5  # Else equal answers would say nothing.
    assert by_way["file"] == by_way["base64"]


def test_one_replica_is_enough_and_ctrl_c_leaves_nothing(two: TwoReplicas, evaluation: Evaluation) -> None:
    """The last test of both servers: it ends them."""
    before = [requests_served(address) for address in two.addresses]
    evaluation.card.write_text(card_text(image=SMALL))
    process = evaluation.begin("--limit", "250", "--max-connections", "4", "--base-url", *two.addresses)
    # Two servers on the same cores: while one is long at its first request, the other may answer all of them. Which of
    # them is killed is all the same: that one is gone is only noticed where both are asked.
    until(lambda: max(requests_served(at) - was for at, was in zip(two.addresses, before, strict=True)) >= 4, 240)
    processes = two.serve.tree()
    assert len(processes) >= 6  # For each the keeper, the front end, the engine.
    os.kill(two.serve.servers()[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
    assert errors.count("any more; going on with the other server") == 1
    assert len(evaluation.predictions()) == 250
    assert two.serve.process.poll() is None

    assert two.serve.interrupt() == 0
    assert [pid for pid in processes if is_alive(pid)] == []
    logs = sorted(two.serve.logs.iterdir())
    assert [log.name for log in logs] == ["gta1-2.log", "gta1.log"]
    assert all("Application startup complete" in log.read_text() for log in logs)


def test_runs_survive_the_death_of_their_server(serve: Any, evaluation: Evaluation, tmp_path: Path) -> None:
    port = str(free_port())
    server = serve("--port", port)
    evaluation.card.write_text(card_text(image=SMALL))
    patient = Evaluation(tmp_path / "patient", evaluation.data)
    patient.card.write_text(card_text(image=SMALL))
    options = ("--limit", "40", "--max-connections", "1", "--base-url", server.address())

    # One run ends partial soon, the other waits until the server is back.
    ending = evaluation.begin(*options, "--server-wait", "5")
    waiting = patient.begin(*options)
    until(lambda: min(evaluation.answered(), patient.answered()) >= 5, 120)
    (front,) = server.servers()
    os.kill(front, signal.SIGKILL)
    assert server.process.wait(60) == 2
    assert "ended by itself (signal 9)" in server.errors.read_text()
    _, errors = ending.communicate(timeout=900)
    assert ending.returncode == 1, errors
    assert waiting.poll() is None
    before, earlier = evaluation.settled(), patient.settled()
    assert 5 <= len(before) < 40
    assert 5 <= len(earlier) < 40

    # The same command goes on when the server is back, and neither run asks what it has.
    again = serve("--port", port)
    address = again.address()
    code, errors = evaluation.run(*options)
    assert code == 0, errors
    _, errors = waiting.communicate(timeout=900)
    assert waiting.returncode == 0, errors
    assert len(evaluation.settled()) == len(patient.settled()) == 40
    assert requests_served(address) == 80 - len(before) - len(earlier)


def test_an_evaluation_starts_its_own_server_and_tells_that_it_sees_smaller_pictures(
    vllm_python: Path, checkpoint: Path, evaluation: Evaluation
) -> None:
    flags = [each.replace("8847360", "1003520") for each in FLAGS]
    serving = {"how": "vllm", "flags": flags}
    evaluation.card.write_text(card_text(model=str(checkpoint), serving=serving, image=RESIZED_BY_THE_SERVER))
    variables = vllm_environment(vllm_python) | PROBED
    code, errors = evaluation.run("--limit", "8", "--send", "file", variables=variables)
    assert code == 0, errors
    assert len(evaluation.predictions()) == 8
    (log,) = evaluation.results.glob("*/server.log")
    assert f"'{checkpoint}'" in log.read_text()
    probed = evaluation.probed()
    agreeing = {line["original"]["height"]: line["agrees"] for line in probed["tokens"]}
    assert agreeing == {240: True, 720: True, 1000: False, 1080: False, 1920: False, 1440: False}
    (found,) = [each["text"] for each in probed["findings"] if each["kind"] == "tokens"]
    assert "at 1920x1080 the server saw about 13" in found
    assert "the card says 1932x1092 (2,691)" in found


def test_a_model_that_cannot_be_loaded_is_told_with_the_first_error(vllm_python: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text('{"model_type": "no_such_model", "architectures": ["NoSuch"]}')
    server = Serve(vllm_python, broken, tmp_path)
    assert server.process.wait(300) == 2
    said = server.errors.read_text()
    assert "First error: " in said
    assert "no_such_model" in said
    assert 'Traceback (most recent call last):\n  File "/' not in said.partition("grounding: ")[0]
