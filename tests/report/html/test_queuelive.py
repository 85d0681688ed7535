"""The server of the page over several runs: to this machine only, and each run's own page below it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from grounding.report.html.live import LOOPBACK, bound_socket
from grounding.report.html.queuelive import LiveQueue, RunOnDemand, serve_queue

from . import queues
from .runs import make_run

Asking = Callable[[aiohttp.ClientSession, str], Coroutine[Any, Any, None]]


def asked(folder: Path, asking: Asking) -> None:
    """Serve the runs of a folder on a real socket and ask."""

    async def both() -> None:
        listening = bound_socket(0)
        serving = asyncio.create_task(serve_queue(LiveQueue(folder), listening))
        base = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        try:
            async with aiohttp.ClientSession() as session:
                await asking(session, base)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(both())


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    make_run(tmp_path / "results" / "r1", status="started")  # No diagrams are drawn.
    queues.begin(tmp_path / "results" / "r2", queues.asked("none", "y"))
    states = [
        queues.queued("none + fake", "r1", "complete"),
        queues.queued("none + y", "r2", "running"),
        queues.queued("none + z", "r3", "waiting"),
    ]
    queues.write(tmp_path / "results" / "matrix_1", states)
    return tmp_path / "results" / "matrix_1"


def test_the_page_follows_and_says_when_nothing_is_new(runs: Path) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        async with session.get(f"{base}/") as reply:
            assert reply.status == 200
            assert "connect-src 'self'" in await reply.text()
        async with session.get(f"{base}/queue.json") as reply:
            page = await reply.json()
        assert [run["link"] for run in page["runs"]] == ["run/0/", "run/1/", ""]
        async with session.get(f"{base}/queue.json", params={"have": page["version"]}) as reply:
            assert reply.status == 204
        queues.answer(runs.parent / "r2", [queues.prediction(0)])
        async with session.get(f"{base}/queue.json", params={"have": page["version"]}) as reply:
            assert (await reply.json())["runs"][1]["counts"]["hit"] == 1

    asked(runs, asking)


def test_a_run_has_its_own_page_with_its_pictures_and_its_labels(runs: Path) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        async with session.get(f"{base}/run/0/") as reply:
            assert reply.status == 200
        async with session.get(f"{base}/run/0/page.json") as reply:
            page = await reply.json()
        assert page["runs"][0]["folder"] == str(runs.parent / "r1")
        async with session.get(f"{base}/run/0/{page['runs'][0]['shots'][0]['full']}") as reply:
            assert (reply.status, reply.headers["Content-Type"]) == (200, "image/png")
        sent = {"run": 0, "step": "1/3", "label": "reasoning", "labeller": "ann"}
        headers = {"Origin": base, "X-Grounding-Token": page["token"]}
        # The token of one run's page is none for another's.
        async with session.post(f"{base}/run/1/label", json=sent, headers=headers) as reply:
            assert reply.status == 403
        async with session.post(f"{base}/run/0/label", json=sent, headers=headers) as reply:
            assert reply.status == 204
        async with session.get(f"{base}/run/2/") as reply:
            assert reply.status == 409
            assert "run.json" in await reply.text()

    asked(runs, asking)
    assert (runs.parent / "r1" / "labels.jsonl").exists()
    assert not (runs.parent / "r2" / "labels.jsonl").exists()


@pytest.mark.parametrize("path", ["", "queue.json", "run/0/", "run/0/page.json"])
def test_other_names_of_this_machine_are_refused(runs: Path, path: str) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        async with session.get(f"{base}/{path}", headers={"Host": "evil.example"}) as reply:
            assert reply.status == 403
        async with session.get(f"{base}/{path}") as reply:
            assert reply.status == 200
            assert reply.headers["X-Frame-Options"] == "DENY"
            assert reply.headers["X-Content-Type-Options"] == "nosniff"

    asked(runs, asking)


@pytest.mark.parametrize("path", ["run/9/", "run/-1/", "run/0/run.json", "run/0/..%2f..%2fqueue.json", "run.json"])
def test_nothing_else_is_served(runs: Path, path: str) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        async with session.get(f"{base}/{path}") as reply:
            assert reply.status == 404

    asked(runs, asking)


def test_a_damaged_queue_is_said_and_the_server_goes_on(runs: Path) -> None:
    kept = (runs / "queue.json").read_bytes()

    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        (runs / "queue.json").write_bytes(b"{}")
        async with session.get(f"{base}/queue.json") as reply:
            assert reply.status == 409
            assert "queue.json" in await reply.text()
        (runs / "queue.json").write_bytes(kept)
        async with session.get(f"{base}/queue.json") as reply:
            assert reply.status == 200

    asked(runs, asking)


def test_a_run_that_grows_large_is_shown_as_one_and_leaves_nothing_behind(
    runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    live = RunOnDemand(runs.parent / "r1")
    small = live.page()
    assert small.token == live.token
    assert len(small.runs[0].steps) == 40
    monkeypatch.setattr("grounding.report.html.size.MOST_STEPS", 10)
    large = live.page()
    assert large.token == live.token
    assert not large.runs[0].steps
    assert live.may_label(0, "1/3")
    (made,) = (tmp_path / "temporary").iterdir()
    files = [path for path in made.rglob("*.js")]
    assert files
    assert live.step_file("../../run.json") is None
    live.close()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_nothing_is_read_of_a_run_before_it_is_opened(runs: Path) -> None:
    live = RunOnDemand(runs.parent / "r3")
    assert live.shot(0, "x.webp") is None
    assert live.step_file("x/y.js") is None
    assert not live.may_label(0, "1/3")
    live.close()
