"""Two workers with a real vLLM server each: the death of one's engine costs no answer."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from fakes.cluster import fake_cluster
from fakes.make import picture_file, query
from real_server import FLAGS, card_text, python
from serving.helpers import REPOSITORY, VLLM_ON_CPU, is_alive

from grounding.benchmarks.clicks.elsewhere import open_asker
from grounding.llm.budget import Budget
from grounding.options import EvalOptions
from grounding.records import Prediction
from grounding.run.building import chat_options, grounder_card, grounder_of
from grounding.run.display import Progress
from grounding.run.ray import cluster
from grounding.run.ray.worker import StageWork
from grounding.serving.command import ServerOptions
from grounding.serving.keeper import descendants
from grounding.serving.worker_server import WorkerServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MOST_PIXELS = 250_000
IMAGE = {"resize": "server", "factor": 28, "min_pixels": 3136, "max_pixels": MOST_PIXELS}
STEPS = 16


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageWork:
    """What starts a server of a tiny checkpoint beside a worker."""
    vllm_python = python()
    for name, value in VLLM_ON_CPU.items():
        monkeypatch.setenv(name, value)
    program = REPOSITORY / "tools" / "vllm_cpu" / "tiny_checkpoint.py"
    subprocess.run([vllm_python, program, tmp_path / "tiny", "--windows-only"], check=True)
    named = tmp_path / "card.yaml"
    named.write_text(card_text(image=IMAGE))
    options = EvalOptions(grounder=str(named), max_connections=4)
    card = grounder_card(options)
    assert card is not None
    chat = chat_options(options, "http://127.0.0.1:0/v1")
    own = grounder_of(options, chat, card=card, budget=Budget(None), on_retry=print)
    server = ServerOptions(
        command=(str(vllm_python), "-m", "vllm.entrypoints.openai.api_server"),
        model=str(tmp_path / "tiny"),
        flags=tuple(flag.replace("8847360", str(MOST_PIXELS)) for flag in FLAGS),
    )
    return StageWork(
        opener=open_asker,
        options=options,
        identity=own.grounder.identity,
        part="grounder",
        given=(card, ""),
        worker_server=WorkerServer(card=card, options=server),
    )


def engines() -> dict[int, int]:
    """Each engine below this process, and the server that it belongs to."""
    found = {}
    for pid in descendants(os.getpid()):
        words = Path(f"/proc/{pid}/stat").read_text()
        if "EngineCore" in Path(f"/proc/{pid}/cmdline").read_text() + words:
            found[pid] = int(words.rpartition(")")[2].split()[1])
    return found


def test_a_replica_whose_engine_dies_leaves(
    work: StageWork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = picture_file(tmp_path / "1.png", 640, 480)
    digest = hashlib.sha256((tmp_path / "1.png").read_bytes()).hexdigest()
    picture = msgspec.structs.replace(picture, sha256=digest)
    servers: list[int] = []
    monkeypatch.setattr(cluster, "LOSSES_IN_A_ROW", 1)  # No third server is started in place of the one that is lost.
    monkeypatch.setattr(cluster, "LEAVE_S", 60.0)

    async def scenario() -> list[Prediction]:
        run = cluster.Workers(EvalOptions(workers=2), tmp_path, Budget(None), Progress("none"))
        made = cluster.Pool(run, work)

        async def one(number: int) -> Prediction:
            asked = query(picture, f"press button {number}", step=f"1/{number}")
            answer = await made.do(asked.key, asked)
            assert isinstance(answer, Prediction)
            return answer

        try:
            await made.start()
            # The first is there; without the second the death of its engine would end the run.
            while sum(worker.bound > 0 for worker in made._workers) < 2:
                await asyncio.sleep(0.2)
            asking = [asyncio.create_task(one(number)) for number in range(STEPS)]
            await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            found = engines()
            servers.extend(found.values())
            assert len(found) == 2, found
            os.kill(min(found), signal.SIGKILL)
            answers = list(await asyncio.gather(*asking))
            async with asyncio.timeout(120):
                while " is lost: " not in capsys.readouterr().err:
                    await asyncio.sleep(0.2)
            return answers
        finally:
            await run.aclose()

    with fake_cluster(monkeypatch):
        answers = asyncio.run(scenario())
    assert [answer.failure for answer in answers] == [None] * STEPS
    assert [pid for pid in servers if is_alive(pid)] == []
