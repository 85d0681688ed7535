"""The server of the page: to this machine only, no file but the run's screenshots, labels from the page alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from grounding.errors import UserError
from grounding.records import Point, Prediction
from grounding.report.html import pictures
from grounding.report.html.live import LOOPBACK, LiveFolder, LivePage, bound_socket, serve
from grounding.report.html.pictures import thumbnail_name
from grounding.run.journal import Journal

from . import manyruns
from .runs import answer, make_run

LABEL = {"run": 0, "step": "1/3", "label": "reasoning", "labeller": "ann"}
Asking = Callable[[aiohttp.ClientSession, Any, str], Coroutine[Any, Any, None]]


def asked(what: Path | LivePage | LiveFolder, asking: Asking) -> None:
    """Serve a run, or what is given, on a real socket and ask."""

    async def both() -> None:
        listening = bound_socket(0)
        live = LivePage([what]) if isinstance(what, Path) else what
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
def run(tmp_path: Path) -> Path:
    make_run(tmp_path / "run")
    return tmp_path / "run"


NO_FILES = ("shot/0/run.json", "shot/0/..%2f..%2fetc%2fpasswd", "shot/1/x.webp", "shot/-1/x", "shot/²/x", "thumb/0/")
NO_FILES += ("run.json",)


def test_the_page_its_data_and_its_pictures_are_served_and_nothing_else(run: Path) -> None:
    async def asking(session: aiohttp.ClientSession, live: LivePage, base: str) -> None:
        async with session.get(f"{base}/") as reply:
            assert reply.status == 200
            assert live.token in await reply.text()
        async with session.get(f"{base}/live.json") as reply:
            news = await reply.json()
        page = news["page"]
        assert news["live"]["runs"][0]["steps"] == 36
        async with session.get(f"{base}/live.json", params={"have": page["runs"][0]["version"]}) as reply:
            assert "page" not in await reply.json()
        shot = page["runs"][0]["shots"][0]
        for name, kind in (("thumb", "image/webp"), ("full", "image/png")):
            async with session.get(f"{base}/{shot[name]}") as reply:
                assert (reply.status, reply.headers["Content-Type"]) == (200, kind)
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
        for host in ("evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example"):
            async with session.get(f"{base}/live.json", headers={"Host": host}) as reply:
                assert reply.status == 403, host
        for path in NO_FILES:
            async with session.get(f"{base}/{path}") as reply:
                assert reply.status == 404, path
        kept = (run / "predictions.jsonl").read_bytes()
        for content, status in ((b"{}\n", 409), (kept, 200)):
            (run / "predictions.jsonl").write_bytes(content)
            async with session.get(f"{base}/live.json") as reply:
                assert reply.status == status
                assert ("predictions.jsonl, line 1" in await reply.text()) == (status == 409)

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


REFUSED: list[tuple[dict[str, str | None], dict[str, object], int]] = [
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
]


def test_a_label_is_kept_and_what_is_none_refused(run: Path) -> None:
    async def asking(session: aiohttp.ClientSession, live: LivePage, base: str) -> None:
        sent = {"Origin": base, "X-Grounding-Token": live.token, "Content-Type": "application/json"}
        for headers, body, status in REFUSED:
            given = {name: value for name, value in {**sent, **headers}.items() if value is not None}
            async with session.post(f"{base}/label", data=json.dumps(body), headers=given) as reply:
                assert reply.status == status, (headers, body, await reply.text())
        assert not (run / "labels.jsonl").exists()
        async with session.post(f"{base}/label", json=LABEL, headers=sent) as reply:
            assert reply.status == 204

    asked(run, asking)
    (line,) = map(json.loads, (run / "labels.jsonl").read_text().splitlines())
    assert line.items() >= {"step": "1/3", "label": "reasoning", "labeller": "ann"}.items()


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


# --- a folder of runs ---------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that has ended, one at work, one that waits."""
    make_run(tmp_path / "results" / "r1")
    manyruns.begin(tmp_path / "results" / "r2", manyruns.asked("none", "y"))
    manyruns.say(tmp_path / "results" / "r2", {"hit": 1})
    states = [
        manyruns.queued("none + fake", "r1", "complete"),
        manyruns.queued("none + y", "r2", "running"),
        manyruns.queued("none + z", "r3", "waiting"),
    ]
    manyruns.write(tmp_path / "results" / "matrix_1", states)
    return tmp_path / "results" / "matrix_1"


def test_the_page_of_a_folder_follows_its_runs(folder: Path) -> None:
    async def asking(session: aiohttp.ClientSession, _: LiveFolder, base: str) -> None:
        async with session.get(f"{base}/") as reply:
            assert reply.status == 200
            assert "connect-src 'self'" in await reply.text()
        for done in (1, 2):
            manyruns.say(folder.parent / "r2", {"hit": done})
            async with session.get(f"{base}/live.json") as reply:
                runs = (await reply.json())["live"]["runs"]
            assert [run.get("link", "") for run in runs] == ["run/0/", "run/1/", ""]
            assert runs[1]["counts"] == {"hit": done}
        async with session.get(f"{base}/thumb/1/{runs[1]['latest'][0]['screenshot']['sha256']}.webp") as reply:
            assert (reply.status, reply.headers["Content-Type"]) == (200, "image/webp")

    asked(LiveFolder(folder), asking)


def test_a_run_has_its_own_page_with_its_pictures_and_its_labels(folder: Path) -> None:
    async def asking(session: aiohttp.ClientSession, _: LiveFolder, base: str) -> None:
        async with session.get(f"{base}/") as reply:
            assert reply.status == 200
        for path in ("run/9/", "run/-1/", "run/0/run.json", "run/0/..%2f..%2fqueue.json", "run.json", "run/x/"):
            async with session.get(f"{base}/{path}") as reply:
                assert reply.status == 404, path
        async with session.get(f"{base}/run/2/") as reply:
            assert reply.status == 409
            assert "run.json" in await reply.text()
        async with session.get(f"{base}/run/0/") as reply:
            assert reply.status == 200
            assert reply.headers["X-Frame-Options"] == "DENY"
        async with session.get(f"{base}/run/0/live.json") as reply:
            page = (await reply.json())["page"]
        assert page["runs"][0]["folder"] == str(folder.parent / "r1")
        async with session.get(f"{base}/run/0/{page['runs'][0]['shots'][0]['full']}") as reply:
            assert (reply.status, reply.headers["Content-Type"]) == (200, "image/png")
        headers = {"Origin": base, "X-Grounding-Token": page["token"]}
        # The token of one run's page is none for another's, nor for the page over all.
        for path, status in (("run/1/label", 403), ("label", 404), ("run/0/label", 204)):
            async with session.post(f"{base}/{path}", json=LABEL, headers=headers) as reply:
                assert reply.status == status, path
        for path in ("", "live.json", "run/0/", "run/0/live.json"):
            async with session.get(f"{base}/{path}", headers={"Host": "evil.example"}) as reply:
                assert reply.status == 403

    asked(LiveFolder(folder), asking)
    assert (folder.parent / "r1" / "labels.jsonl").exists()
    assert not (folder.parent / "r2" / "labels.jsonl").exists()


# --- large runs ---------------------------------------------------------------------------------------------------


def test_a_run_of_another_benchmark_has_a_page_while_it_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "desktop"
    folder.mkdir()
    (folder / "run.json").write_text('{"benchmark": "desktop", "run_id": "d", "status": "started"}')
    manyruns.say(folder, {"hit": 3, "miss": 1})

    async def asking(session: aiohttp.ClientSession, _: Any, base: str) -> None:
        for page in ("", "run/0/"):
            async with session.get(f"{base}/{page}") as reply:
                assert reply.status == 200
            async with session.get(f"{base}/{page}live.json") as reply:
                (run,) = (await reply.json())["live"]["runs"]
            assert (run["state"], run["counts"]) == ("running", {"hit": 3, "miss": 1})
            assert (run["score"]["name"], run["score"]["value"]) == ("step accuracy", 75.0)
        (folder / "report.html").write_text("the page of the run")
        async with session.get(f"{base}/run/0/") as reply:
            assert await reply.text() == "the page of the run"

    for shown in (tmp_path, folder):
        (folder / "report.html").unlink(missing_ok=True)
        asked(LiveFolder(shown), asking)


def test_the_steps_of_a_large_run_are_not_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding.report.html.plots.draw_diagrams", lambda *_, **__: ())
    make_run(tmp_path / "run", predict=lambda number, step: answer(number, step) if number < 30 else None)
    live = LivePage([tmp_path / "run"])
    assert len(live.page().runs[0].steps) == 40
    monkeypatch.setattr(pictures, "LARGE_STEPS", 10)
    live = LivePage([tmp_path / "run"])

    async def asking(session: aiohttp.ClientSession, _: LivePage, base: str) -> None:
        async with session.get(f"{base}/") as reply:
            assert '"packed":"eJ' in await reply.text()
        heads = {"Origin": base, "X-Grounding-Token": live.token}
        for step, status in (("1/3", 204), ("1/10", 400), ("9/9", 400)):
            async with session.post(f"{base}/label", json={**LABEL, "step": step}, headers=heads) as reply:
                assert reply.status == status
        # Labels show at once, and that more was answered.
        async with session.get(f"{base}/live.json") as reply:
            (run,) = (await reply.json())["page"]["runs"]
        assert [(mark["step"], mark["label"]) for mark in run["marks"]] == [("1/3", "reasoning")]
        assert (run["steps"], run["packed"]) == ([], "")
        assert not any("load it again" in text for text in run["warnings"])
        journal: Journal[Prediction] = Journal(tmp_path / "run" / "predictions.jsonl", Prediction)
        journal.append(Prediction(step_id="1/35", key="k", point=Point(x_px=120, y_px=70), raw="later"))
        journal.close()
        async with session.get(f"{base}/live.json", params={"have": run["version"]}) as reply:
            (run,) = (await reply.json())["page"]["runs"]
        assert any("load it again" in text for text in run["warnings"])
        assert not any("load it again" in text for text in live.page().runs[0].warnings)

    asked(live, asking)
