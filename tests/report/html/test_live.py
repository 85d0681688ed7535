"""The server of the page: to this machine only, no file but the run's screenshots, labels from the page alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from grounding.errors import UserError
from grounding.report.html.content import Diagram
from grounding.report.html.live import LOOPBACK, LivePage, SentLabel, bound_socket, serve
from grounding.report.html.pictures import thumbnail_name
from grounding.report.html.plots import draw_diagrams
from grounding.scoring.scored import ScoredTask

from .runs import make_run

LABEL = {"run": 0, "step": "1/3", "label": "reasoning", "labeller": "ann"}
Asking = Callable[[aiohttp.ClientSession, LivePage, str], Coroutine[Any, Any, None]]


def asked(folder: Path, asking: Asking) -> None:
    """Serve a run on a real socket and ask."""

    async def both() -> None:
        listening = bound_socket(0)
        live = LivePage([folder])
        serving = asyncio.create_task(serve(live, listening))
        base = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        try:
            async with aiohttp.ClientSession() as session:
                await asking(session, live, base)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(both())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    make_run(tmp_path / "run")
    return tmp_path / "run"


def test_the_page_its_data_and_its_pictures_are_served(run: Path) -> None:
    async def asking(session: aiohttp.ClientSession, live: LivePage, base: str) -> None:
        async with session.get(f"{base}/") as reply:
            assert reply.status == 200
            assert live.token in await reply.text()
        async with session.get(f"{base}/page.json") as reply:
            page = await reply.json()
        async with session.get(f"{base}/page.json", params={"have": page["runs"][0]["version"]}) as reply:
            assert reply.status == 204
        shot = page["runs"][0]["shots"][0]
        for name, kind in (("thumb", "image/webp"), ("full", "image/png")):
            async with session.get(f"{base}/{shot[name]}") as reply:
                assert (reply.status, reply.headers["Content-Type"]) == (200, kind)
                assert reply.headers["X-Content-Type-Options"] == "nosniff"

    asked(run, asking)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example"])
def test_other_names_of_this_machine_are_refused(run: Path, host: str) -> None:
    async def asking(session: aiohttp.ClientSession, _: LivePage, base: str) -> None:
        async with session.get(f"{base}/page.json", headers={"Host": host}) as reply:
            assert reply.status == 403

    asked(run, asking)


@pytest.mark.parametrize(
    "path",
    [
        "shot/0/run.json",
        "shot/0/..%2f..%2fetc%2fpasswd",
        "shot/1/x.webp",
        "shot/-1/x",
        "shot/²/x",
        "thumb/0/",
        "run.json",
    ],
)
def test_no_other_file_is_served(run: Path, path: str) -> None:
    async def asking(session: aiohttp.ClientSession, _: LivePage, base: str) -> None:
        async with session.get(f"{base}/{path}") as reply:
            assert reply.status == 404

    asked(run, asking)


def test_a_step_whose_screenshot_is_no_picture_file_is_not_served(run: Path) -> None:
    lines = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
    (run / "secret.txt").write_text("secret")
    for line in lines:
        line["screenshot"]["path"] = str(run / "secret.txt")
    (run / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    async def asking(session: aiohttp.ClientSession, _: LivePage, base: str) -> None:
        name = thumbnail_name(lines[0]["screenshot"]["sha256"])
        for kind in ("shot", "thumb"):
            async with session.get(f"{base}/{kind}/0/{name}") as reply:
                assert reply.status == 404

    asked(run, asking)


def test_a_label_is_kept(run: Path) -> None:
    async def asking(session: aiohttp.ClientSession, live: LivePage, base: str) -> None:
        headers = {"Origin": base, "X-Grounding-Token": live.token}
        async with session.post(f"{base}/label", json=LABEL, headers=headers) as reply:
            assert reply.status == 204

    asked(run, asking)
    (line,) = map(json.loads, (run / "labels.jsonl").read_text().splitlines())
    assert line.items() >= {"step": "1/3", "label": "reasoning", "labeller": "ann"}.items()


def test_a_label_draws_nothing_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def counted(tasks: Sequence[ScoredTask], **named: bool) -> tuple[Diagram, ...]:
        drawn.append(len(tasks))
        return draw_diagrams(tasks, **named)

    monkeypatch.setattr("grounding.report.html.live.draw_diagrams", counted)
    live = LivePage([run])
    before = live.page()
    live.keep_label(msgspec.convert(LABEL, SentLabel))
    after = live.page()
    assert len(drawn) == 1
    assert after.runs[0].version != before.runs[0].version
    assert after.runs[0].diagrams == before.runs[0].diagrams != ()


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Origin": "http://evil.example"}, LABEL, 403),
        ({"Origin": "null"}, LABEL, 403),
        ({"Origin": None}, LABEL, 403),
        ({"X-Grounding-Token": "guess"}, LABEL, 403),
        ({"X-Grounding-Token": None}, LABEL, 403),
        ({"Content-Type": "text/plain"}, LABEL, 415),
        ({}, {**LABEL, "step": "9/9"}, 400),
        ({}, {**LABEL, "step": "1/10"}, 400),
        ({}, {**LABEL, "run": 7}, 400),
        ({}, {**LABEL, "run": -1}, 400),
        ({}, {**LABEL, "label": "nonsense"}, 400),
        ({}, {**LABEL, "labeller": ""}, 400),
        ({}, {**LABEL, "labeller": "a\nb"}, 400),
        ({}, {**LABEL, "note": "x" * 2_001}, 400),
        ({}, {**LABEL, "note": "x" * 100_000}, 413),
        ({}, {**LABEL, "more": 1}, 400),
    ],
)
def test_labels_that_are_none_are_refused(
    run: Path, headers: dict[str, str | None], body: dict[str, object], status: int
) -> None:
    async def asking(session: aiohttp.ClientSession, live: LivePage, base: str) -> None:
        sent = {"Origin": base, "X-Grounding-Token": live.token, "Content-Type": "application/json", **headers}
        given = {name: value for name, value in sent.items() if value is not None}
        async with session.post(f"{base}/label", data=json.dumps(body), headers=given) as reply:
            assert reply.status == status, await reply.text()

    asked(run, asking)
    assert not (run / "labels.jsonl").exists()


def test_a_damaged_run_is_said_and_the_server_goes_on(run: Path) -> None:
    async def asking(session: aiohttp.ClientSession, _: LivePage, base: str) -> None:
        kept = (run / "predictions.jsonl").read_bytes()
        (run / "predictions.jsonl").write_bytes(b"{}\n")
        async with session.get(f"{base}/page.json") as reply:
            assert reply.status == 409
            assert "predictions.jsonl, line 1" in await reply.text()
        (run / "predictions.jsonl").write_bytes(kept)
        async with session.get(f"{base}/page.json") as reply:
            assert reply.status == 200

    asked(run, asking)


def test_a_port_that_is_taken_is_said() -> None:
    taken = bound_socket(0)
    taken.listen()
    try:
        with pytest.raises(UserError, match="--port"):
            bound_socket(taken.getsockname()[1])
    finally:
        taken.close()
    with pytest.raises(UserError, match="--port 99999999"):
        bound_socket(99_999_999)
