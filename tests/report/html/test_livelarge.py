"""The served page of a large run: its steps are served from their folder, labels show, and answers are told of."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from grounding.journal import Journal
from grounding.records import Point, Prediction
from grounding.report.html import size
from grounding.report.html.live import LOOPBACK, bound_socket, serve
from grounding.report.html.livelarge import LargeLivePage

from .runs import answer, make_run
from .test_beside import CALL


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LargeLivePage:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("grounding.report.html.livelarge.draw_measured", lambda *_, **__: ())
    monkeypatch.setattr("grounding.report.html.chunks.STEPS", 16)
    monkeypatch.setattr(size, "MOST_STEPS", 10)
    make_run(tmp_path / "run", predict=lambda number, step: answer(number, step) if number < 30 else None)
    return LargeLivePage([tmp_path / "run"])


def test_a_large_page_its_steps_and_pictures_are_served_and_nothing_else(live: LargeLivePage) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        async with session.get(f"{base}/") as reply:
            text = await reply.text()
        assert "'strict-dynamic'" in text
        assert live.token in text
        packed = live.page().runs[0].beside
        assert packed is not None
        assert packed.starts == (0, 16, 32)
        async with session.get(f"{base}/{packed.files}2.js") as reply:
            assert reply.status == 200
            assert reply.headers["X-Content-Type-Options"] == "nosniff"
            assert CALL.fullmatch(await reply.text())
        folder = packed.files.split("/")[1]
        for name in (f"{folder}/0-3.js", f"{folder}/..%2f..%2fpage.html", "page-0/0-0.js", f"{folder}/%2e%2e"):
            async with session.get(f"{base}/report_files/{name}") as reply:
                assert reply.status == 404, name
        name = next(iter(live._made[0].shots)) if live._made else ""
        for kind in ("thumb", "shot"):
            async with session.get(f"{base}/{kind}/0/{name}") as reply:
                assert reply.status == 200

    served(live, asking)


def test_labels_show_and_answers_are_told_of_without_the_steps(live: LargeLivePage) -> None:
    async def asking(session: aiohttp.ClientSession, base: str) -> None:
        have = live.page().runs[0].version
        async with session.get(f"{base}/page.json", params={"have": have}) as reply:
            assert reply.status == 204
        label = {"run": 0, "step": "1/3", "label": "reasoning", "labeller": "ann"}
        heads = {"Origin": base, "X-Grounding-Token": live.token}
        async with session.post(f"{base}/label", json=label, headers=heads) as reply:
            assert reply.status == 204, await reply.text()
        for step in ("1/10", "9/9"):
            async with session.post(f"{base}/label", json={**label, "step": step}, headers=heads) as reply:
                assert reply.status == 400
        async with session.get(f"{base}/page.json", params={"have": have}) as reply:
            (run,) = (await reply.json())["runs"]
        assert [(mark["step"], mark["label"]) for mark in run["marks"]] == [("1/3", "reasoning")]
        assert "beside" not in run
        assert not any("load it again" in text for text in run["warnings"])
        journal: Journal[Prediction] = Journal(live.folders[0] / "predictions.jsonl", Prediction)
        journal.append(Prediction(step_id="1/35", key="k", point=Point(x_px=120, y_px=70), raw="later"))
        journal.close()
        async with session.get(f"{base}/page.json", params={"have": run["version"]}) as reply:
            (run,) = (await reply.json())["runs"]
        assert any("load it again" in text for text in run["warnings"])
        before = live.page().runs[0]
        assert not any("load it again" in text for text in before.warnings)
        assert "6 missing" not in str(before.facts)

    served(live, asking)


def test_the_steps_go_with_the_server(live: LargeLivePage) -> None:
    live.page()
    folder = Path(live._folder.name)
    assert folder.is_dir()
    live.close()
    assert not folder.exists()


def served(live: LargeLivePage, asking) -> None:  # type: ignore[no-untyped-def]
    """Serve a page on a real socket and ask."""

    async def both() -> None:
        listening = bound_socket(0)
        serving = asyncio.create_task(serve(live, listening))
        base = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        try:
            async with aiohttp.ClientSession() as session:
                await asking(session, base)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    try:
        asyncio.run(both())
    finally:
        live.close()
