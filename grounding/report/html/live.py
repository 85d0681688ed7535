"""The page of runs that may still go on, served to this machine alone, where people can label steps."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from grounding.errors import UserError
from grounding.errorsplit.labels import Label
from grounding.places import cache_dir
from grounding.records import Record, Screenshot
from grounding.report.html.content import Diagram, Page, RunPage
from grounding.report.html.gather import DATA_FILES, gather, screenshots, version_of
from grounding.report.html.loopback import LOOPBACK, only_this_machine, own_hosts
from grounding.report.html.page import page_over, render
from grounding.report.html.pictures import thumbnail, thumbnail_name
from grounding.report.html.plots import draw_diagrams
from grounding.report.html.triage import MOST_NOTE, append_label
from grounding.runfolder import RunFolder, utc_now
from grounding.scorebook import weigh
from grounding.scoring.scored import join

if TYPE_CHECKING:
    from aiohttp import web

_MOST_LABEL_BYTES = 4 * MOST_NOTE + 8_192
_KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif"}
"""Pictures that are shown; nothing else of the disk is."""


class SentLabel(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page sends: ``run`` counts in the page's runs, ``plan`` is what the person saw."""

    run: int
    step: str
    label: Literal["reasoning", "grounding", "annotation-wrong", "ambiguous", "other", "withdrawn"]
    labeller: str
    note: str = ""
    plan: str | None = None


class _Kept(Record, frozen=True, kw_only=True):
    """A run as it was gathered last. ``data`` is the version of the files that its diagrams are drawn from."""

    version: str
    data: str
    page: RunPage
    shots: dict[str, Screenshot]


class LivePage:
    """Runs on disk as one page; each is read again when its files have changed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self.token = secrets.token_urlsafe(24)
        self._kept: list[_Kept | None] = [None] * len(self.folders)
        self._reading = threading.Lock()

    def page(self) -> Page:
        """The page as things stand.

        Raises:
            UserError: a run's file is damaged.
        """
        with self._reading:
            runs = [self._run(number).page for number in range(len(self.folders))]
        return page_over(runs, self.token)

    @property
    def versions(self) -> str:
        """What the page would be told by, without making it."""
        return ".".join(map(version_of, self.folders))

    def _run(self, number: int) -> _Kept:
        kept, folder = self._kept[number], self.folders[number]
        version = version_of(folder)
        if kept is not None and kept.version == version:
            return kept
        data = version_of(folder, DATA_FILES)
        scored = weigh(RunFolder(folder))
        sessions = RunFolder(folder).read_sessions()
        shots = {thumbnail_name(shot.sha256): shot for shot in screenshots(sessions)}
        addresses = {shot.sha256: (f"thumb/{number}/{name}", f"shot/{number}/{name}") for name, shot in shots.items()}
        diagrams: tuple[Diagram, ...] = ()
        if kept is not None and kept.data == data:
            diagrams = kept.page.diagrams
        elif scored.info.status != "started":
            tasks = [task for session in join(sessions, scored.verdicts) for task in session.tasks]
            diagrams = draw_diagrams(tasks, independent=scored.summary.independent)
        page = gather(folder, scored=scored, addresses=addresses, diagrams=diagrams)
        found = _Kept(version=version, data=data, page=msgspec.structs.replace(page, version=version), shots=shots)
        self._kept[number] = found
        return found

    def shot(self, number: int, name: str) -> Screenshot | None:
        """A screenshot of one of the runs' steps; None for every other name."""
        if not 0 <= number < len(self.folders):
            return None
        # The last page's: a run that goes on must not be read again for every picture.
        kept = self._kept[number]
        return None if kept is None else kept.shots.get(name)

    def news(self) -> Page:
        """The page for who has an earlier one open."""
        return self.page()

    def step_file(self, name: str) -> Path | None:
        """A file with steps that the page loads; None for every other name, and where all steps stand in the page."""
        del name
        return None

    def may_label(self, number: int, step_id: str) -> bool:
        """Whether that is a scored step of this run."""
        with self._reading:
            page = self._run(number).page
        return any(step.id == step_id and step.outcome not in ("none", "pending") for step in page.steps)

    def keep_label(self, sent: SentLabel) -> None:
        """Add a label to its run's file.

        Raises:
            ValueError: the run or the step is none of these, or the name or the note is not allowed.
            OSError: it can't be written.
        """
        if not 0 <= sent.run < len(self.folders):
            raise ValueError(f"there is no run number {sent.run} on this page")
        if not self.may_label(sent.run, sent.step):
            raise ValueError("that is no scored step of this run")
        label = Label(
            step=sent.step, label=sent.label, labeller=sent.labeller, note=sent.note, plan=sent.plan, at=utc_now()
        )
        append_label(self.folders[sent.run], label)


def application(live: LivePage, port: int) -> web.Application:
    """The server's paths. Every request must name this machine, and a label must come from the page itself."""
    from aiohttp import web

    routes = web.RouteTableDef()

    @routes.get("/")
    async def whole(_: web.Request) -> web.Response:
        text = await asyncio.to_thread(lambda: render(live.page()))
        return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-store"})

    @routes.get("/page.json")
    async def news(request: web.Request) -> web.Response:
        if request.query.get("have") == live.versions:
            return web.Response(status=204)
        body = await asyncio.to_thread(lambda: msgspec.json.encode(live.news()))
        return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-store"})

    def asked_shot(request: web.Request) -> Screenshot:
        number = request.match_info["number"]
        shot = live.shot(int(number), request.match_info["name"]) if number.isascii() and number.isdigit() else None
        if shot is None:
            raise web.HTTPNotFound(text="no such screenshot\n")
        return shot

    @routes.get("/thumb/{number}/{name}")
    async def small(request: web.Request) -> web.Response:
        shot = asked_shot(request)
        try:
            body = await asyncio.to_thread(_small, shot)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise web.HTTPNotFound(text="there is no picture of it\n") from error
        return web.Response(body=body, content_type="image/webp", headers={"Cache-Control": "max-age=86400"})

    @routes.get("/shot/{number}/{name}")
    async def full(request: web.Request) -> web.StreamResponse:
        path = Path(asked_shot(request).path)
        kind = _KINDS.get(path.suffix.lower())
        if kind is None or not path.is_file():
            raise web.HTTPNotFound(text="the screenshot is gone\n")
        return web.FileResponse(path, headers={"Content-Type": kind, "Cache-Control": "max-age=86400"})

    @routes.get("/report_files/{folder}/{name}")
    async def steps(request: web.Request) -> web.StreamResponse:
        path = live.step_file(f"{request.match_info['folder']}/{request.match_info['name']}")
        if path is None:
            raise web.HTTPNotFound(text="no such steps\n")
        return web.FileResponse(path, headers={"Content-Type": "text/javascript", "Cache-Control": "max-age=86400"})

    @routes.post("/label")
    async def label(request: web.Request) -> web.Response:
        origin = request.headers.get("Origin", "")
        if origin not in {f"http://{host}" for host in own_hosts(port)}:
            raise web.HTTPForbidden(text="labels are taken from this page only\n")
        if not hmac.compare_digest(request.headers.get("X-Grounding-Token", "").encode(), live.token.encode()):
            raise web.HTTPForbidden(text="this page was served by an earlier command: load it again\n")
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="a label is sent as JSON\n")
        try:
            sent = msgspec.json.decode(await request.read(), type=SentLabel)
            await asyncio.to_thread(live.keep_label, sent)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from error
        except OSError as error:
            raise web.HTTPInsufficientStorage(text=f"labels.jsonl can't be written: {error.strerror}\n") from error
        return web.Response(status=204)

    app = web.Application(middlewares=[only_this_machine(port)], client_max_size=_MOST_LABEL_BYTES)
    app.add_routes(routes)
    return app


def _small(shot: Screenshot) -> bytes:
    """A small picture, from the cache where it is there."""
    cache = cache_dir()
    kept = None if cache is None else cache / "thumbnails" / thumbnail_name(shot.sha256)
    if kept is not None and kept.exists():
        return kept.read_bytes()
    return thumbnail(shot)


def bound_socket(port: int) -> socket.socket:
    """A socket on the loopback interface; port 0 takes one that is free.

    Raises:
        UserError: the port is taken or not allowed.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
        # From here on whoever asks is kept waiting, not refused.
        found.listen(128)
    except (OSError, OverflowError) as error:
        found.close()
        raise UserError(f"--port {port}: can't be used ({error}); leave it out to have a free one chosen") from error
    return found


async def serve(live: LivePage, listening: socket.socket) -> None:
    """Serve the page until cancelled."""
    from aiohttp import web

    runner = web.AppRunner(application(live, listening.getsockname()[1]), access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
