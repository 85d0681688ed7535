"""``grounding view``: runs as pages served to this machine alone, which follow them and where people can label steps.

``/`` is the page of the runs that were named, or that of a folder of many runs, where each run has its own below
``/run/KEY/``. A page asks for ``live.json`` beside it again and again.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from grounding.analysis.labels import Label
from grounding.atomic import atomic_write
from grounding.errors import UserError
from grounding.records import Record, Screenshot
from grounding.report.compare import compare_runs
from grounding.report.html.comparison import paired_tables, render_comparison
from grounding.report.html.content import PageContent, RunPage, SummaryTable, embedded_json, page_html, static_text
from grounding.report.html.gather import DATA_FILES, ClicksSource, version_of
from grounding.report.html.page import page_over, render
from grounding.report.html.pictures import UNREADABLE, PackedSteps, thumbnail, thumbnail_name
from grounding.report.html.triage import MOST_NOTE, append_label
from grounding.report.html.watch import Overview, Watch
from grounding.run.folder import RunFolder, utc_now
from grounding.run.lock import benchmark_of
from grounding.run.scorebook import weigh

if TYPE_CHECKING:
    from aiohttp import web

LOOPBACK = "127.0.0.1"
_RUN = r"/{run:(?:run/[0-9]{1,9}/)?}"  # Before each path: of the page itself, or of a run's own page below it.
_MOST_LABEL_BYTES = 4 * MOST_NOTE + 8_192
# Pictures that are shown; nothing else of the disk is.
_KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif"}
_OLD = "more was answered since this page was made: load it again to see it, which takes a while"


class SentLabel(Label, frozen=True, kw_only=True, forbid_unknown_fields=True):
    run: int


class News(Record, frozen=True, kw_only=True):
    """What a page is told that is open: how far its runs are, and its steps where they have changed."""

    live: Overview | None = None
    page: PageContent | None = None


class _Kept(Record, frozen=True, kw_only=True):
    """A run as it was read last. ``data`` is the version of its answers, ``fields`` are those of its steps."""

    data: str
    source: ClicksSource
    notes: tuple[str, ...]
    fields: dict[str, Any]
    shots: dict[str, Screenshot]


class LivePage:
    """Runs of clicks on disk as one page. Each is read again when its files have changed. The steps of large runs are
    read anew when the page is loaded, and not for who has it open: who does is told so.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self.token = secrets.token_urlsafe(24)
        self._kept: list[_Kept | None] = [None] * len(self.folders)
        self._watch = Watch(self.folders[0]) if len(self.folders) == 1 else None
        self._paired: tuple[list[str], tuple[SummaryTable, ...]] = ([], ())
        self._reading = threading.Lock()

    def page(self, *, for_news: bool = False) -> PageContent:
        """The page as things stand; for news large runs stay as they were read. Raises UserError: a run's file is
        damaged.
        """
        with self._reading:
            data = [version_of(folder, DATA_FILES) for folder in self.folders]
            if self._paired[0] != data:
                self._paired = data, paired_tables(self.folders)
            pages = [self._run(number, now, for_news=for_news) for number, now in enumerate(data)]
            return page_over(pages, self.token, self._paired[1])

    def news(self, have: str) -> News:
        """What has changed for who has the page open; ``have`` are the versions of its runs."""
        live = None if self._watch is None else self._watch.page(link=lambda *_: "", is_live=True)
        is_old = have != ".".join(map(version_of, self.folders))
        return News(live=live, page=self.page(for_news=True) if is_old else None)

    def html(self) -> str:
        return render(self.page())

    def shot(self, number: int, name: str) -> Screenshot | None:
        """A screenshot of one of the runs' steps, as the page was read last; None for every other name."""
        kept = self._kept[number] if 0 <= number < len(self.folders) else None
        found = None if kept is None else kept.shots.get(name)
        return found or (None if self._watch is None else self._watch.shot(number, name))

    def keep_label(self, sent: SentLabel) -> None:
        """Add a label to its run's file. Raises ValueError: the run or the step is none of these, or the name or the
        note is not allowed. Raises OSError: it can't be written.
        """
        if not 0 <= sent.run < len(self.folders):
            raise ValueError(f"there is no run number {sent.run} on this page")
        folder = self.folders[sent.run]
        with self._reading:
            source = self._current(sent.run, version_of(folder, DATA_FILES), for_news=True).source
        if not any(each.step_id == sent.step and each.was_asked for each in source.scored.verdicts):
            raise ValueError("that is no scored step of this run")
        said = {name: getattr(sent, name) for name in Label.__struct_fields__}
        append_label(folder, Label(**said | {"at": utc_now()}))

    def _run(self, number: int, data: str, *, for_news: bool) -> RunPage:
        kept = self._current(number, data, for_news=for_news)
        notes = kept.notes if kept.data == data else (_OLD, *kept.notes)
        frame = kept.source.frame(version=version_of(self.folders[number]), warnings=notes)
        return frame if for_news and "packed" in kept.fields else msgspec.structs.replace(frame, **kept.fields)

    def _current(self, number: int, data: str, *, for_news: bool) -> _Kept:
        kept = self._kept[number]
        if kept is not None and (kept.data == data or (for_news and "packed" in kept.fields)):
            return kept
        shots = dict[str, Screenshot]()

        def addresses(shot: Screenshot) -> tuple[str, str]:
            name = thumbnail_name(shot.sha256)
            shots.setdefault(name, shot)
            return f"thumb/{number}/{name}", f"shot/{number}/{name}"

        source, steps = ClicksSource(weigh(RunFolder(self.folders[number])), recordings=False), PackedSteps(addresses)
        draw = source.fill(steps)
        diagrams = () if source.scored.info.status == "started" else draw()
        fields = {"diagrams": diagrams, **steps.fields()}
        kept = _Kept(data=data, source=source, notes=steps.notes, fields=fields, shots=shots)
        self._kept[number] = kept
        return kept


class LiveFolder:
    """The runs of a folder as a page that follows them; each run's own page is made when somebody opens it. A run that
    is not of clicks has a page once it is through; until then its own page has only its figures so far.
    """

    def __init__(self, folder: Path) -> None:
        self._watch = Watch(folder)
        self._runs: dict[int, LivePage | LiveFolder] = {}

    def html(self) -> str:
        return render_overview(self._page())

    def news(self, _have: str) -> News:
        return News(live=self._page())

    def shot(self, number: int, name: str) -> Screenshot | None:
        """The screenshot of one of the latest steps; None for every other name."""
        return self._watch.shot(number, name)

    def run(self, key: int) -> LivePage | LiveFolder | None:
        """A run's own page; None where there is no such run."""
        folder = self._watch.folder_by_key(key)
        if folder is not None and key not in self._runs:
            if benchmark_of(folder):
                self._runs[key] = LiveFolder(folder)
            else:
                RunFolder(folder).read_info()
                self._runs[key] = LivePage([folder])
        return self._runs.get(key)

    def compared(self, keys: Sequence[int]) -> str | None:
        """The page of a comparison, the first run as the baseline; None where there is no such run. Raises UserError:
        the runs can't be compared.
        """
        folders = [self._watch.folder_by_key(key) for key in keys]
        there = {folder.resolve(): key for folder, key in zip(folders, keys, strict=True) if folder is not None}
        if len(there) < len(keys):
            return None
        return render_comparison(compare_runs(list(there)), lambda run: f"../../run/{there[run.resolve()]}/")

    def page_file(self, key: int) -> Path | None:
        """The page of a run that is not of clicks, which is a file; None where there is none."""
        folder = self._watch.folder_by_key(key)
        page = None if folder is None or not benchmark_of(folder) else folder / "report.html"
        return page if page is not None and page.is_file() else None

    def _page(self) -> Overview:
        def link(key: int, folder: Path) -> str:
            is_here = folder == self._watch.folder and self.page_file(key) is None
            return "" if is_here else f"run/{key}/"

        return self._watch.page(link=link, is_live=True)


def render_overview(page: Overview) -> str:
    """The page over many runs as HTML. Everything that is not of this package stands in it as JSON, never as markup."""
    return page_html(
        static_text("overview.html"),
        title=page.title,
        style=static_text("overview.css"),
        script="\n".join(static_text(name) for name in ("dom.js", "live.js", "overview.js")),
        data=embedded_json(page),
        sources="img-src 'self' data:; connect-src " + ("'self'" if page.is_live else "'none'"),
    )


def write_overview(folder: Path, path: Path, comparison: Path | None = None) -> Path:
    """Write a page over all runs of a folder as they stand; it links to the pages that lie in the runs' folders.

    ``comparison`` is the page with their differences, if there is one. Raises UserError: there are no runs, or the
    queue is damaged. Raises OSError: the page can't be written.
    """

    def address(file: Path) -> str:
        return quote(os.path.relpath(file, path.parent).replace(os.sep, "/"))

    def link(_: int, run: Path) -> str:
        return address(run / "report.html") if (run / "report.html").exists() else ""

    page = Watch(folder).page(link=link, is_live=False)
    runs = tuple(msgspec.structs.replace(run, latest=()) for run in page.runs)
    page = msgspec.structs.replace(page, runs=runs, comparison="" if comparison is None else address(comparison))
    atomic_write(path, render_overview(page).encode(), shared=True)
    return path


# --- the server ---------------------------------------------------------------------------------------------------


def application(live: LivePage | LiveFolder, port: int) -> web.Application:
    """The server's paths. Every request must name this machine, and a label must come from the page itself."""
    from aiohttp import web

    hosts = frozenset((f"{LOOPBACK}:{port}", f"localhost:{port}"))
    routes = web.RouteTableDef()

    @web.middleware
    async def only_here(request: web.Request, handler: Any) -> web.StreamResponse:
        # Another site's name that points here (DNS rebinding) is refused.
        if request.host not in hosts:
            raise web.HTTPForbidden(text="this page is served to its own machine only\n")
        try:
            response: web.StreamResponse = await handler(request)
        except UserError as error:
            raise web.HTTPConflict(text=f"{error}\n") from error
        headers = {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}
        headers |= {"Cross-Origin-Resource-Policy": "same-origin"}
        is_picture = "name" in request.match_info
        response.headers.update({**headers, "Cache-Control": "max-age=86400" if is_picture else "no-store"})
        return response

    def asked(request: web.Request) -> LivePage | LiveFolder:
        run = request.match_info["run"]
        found = live
        if run:
            own = live.run(int(run.split("/")[1])) if isinstance(live, LiveFolder) else None
            if own is None:
                raise web.HTTPNotFound(text="no such run\n")
            found = own
        return found

    def shot_asked(request: web.Request) -> Screenshot:
        shot = asked(request).shot(int(request.match_info["number"]), request.match_info["name"])
        if shot is None:
            raise web.HTTPNotFound(text="no such screenshot\n")
        return shot

    @routes.get(_RUN)
    async def whole(request: web.Request) -> web.StreamResponse:
        run = request.match_info["run"]
        if run and isinstance(live, LiveFolder) and (page := live.page_file(int(run.split("/")[1]))) is not None:
            return web.FileResponse(page, headers={"Content-Type": "text/html"})
        return web.Response(text=await asyncio.to_thread(asked(request).html), content_type="text/html")

    @routes.get(r"/compare/{keys:[0-9]{1,9}(?:\+[0-9]{1,9}){1,9}}/")
    async def comparison(request: web.Request) -> web.Response:
        keys = list(dict.fromkeys(int(key) for key in request.match_info["keys"].split("+")))
        text = await asyncio.to_thread(live.compared, keys) if isinstance(live, LiveFolder) else None
        if text is None:
            raise web.HTTPNotFound(text="no such runs\n")
        return web.Response(text=text, content_type="text/html")

    @routes.get(_RUN + "live.json")
    async def news(request: web.Request) -> web.Response:
        body = await asyncio.to_thread(lambda: msgspec.json.encode(asked(request).news(request.query.get("have", ""))))
        return web.Response(body=body, content_type="application/json")

    @routes.get(_RUN + r"thumb/{number:[0-9]{1,9}}/{name}")
    async def small(request: web.Request) -> web.Response:
        try:
            body = await asyncio.to_thread(thumbnail, shot_asked(request))
        except UNREADABLE as error:
            raise web.HTTPNotFound(text="there is no picture of it\n") from error
        return web.Response(body=body, content_type="image/webp")

    @routes.get(_RUN + r"shot/{number:[0-9]{1,9}}/{name}")
    async def full(request: web.Request) -> web.StreamResponse:
        path = Path(shot_asked(request).path)
        kind = _KINDS.get(path.suffix.lower())
        if kind is None or not path.is_file():
            raise web.HTTPNotFound(text="the screenshot is gone\n")
        return web.FileResponse(path, headers={"Content-Type": kind})

    @routes.post(_RUN + "label")
    async def label(request: web.Request) -> web.Response:
        page = asked(request)
        if isinstance(page, LiveFolder):
            raise web.HTTPNotFound(text="no such page\n")
        if request.headers.get("Origin", "") not in {f"http://{host}" for host in hosts}:
            raise web.HTTPForbidden(text="labels are taken from this page only\n")
        if not hmac.compare_digest(request.headers.get("X-Grounding-Token", "").encode(), page.token.encode()):
            raise web.HTTPForbidden(text="this page was served by an earlier command: load it again\n")
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="a label is sent as JSON\n")
        try:
            sent = msgspec.json.decode(await request.read(), type=SentLabel)
            await asyncio.to_thread(page.keep_label, sent)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from error
        except OSError as error:
            raise web.HTTPInsufficientStorage(text=f"labels.jsonl can't be written: {error.strerror}\n") from error
        return web.Response(status=204)

    app = web.Application(middlewares=[only_here], client_max_size=_MOST_LABEL_BYTES)
    app.add_routes(routes)
    return app


def bound_socket(port: int) -> socket.socket:
    """A socket on the loopback interface; port 0 takes one that is free. Raises UserError: the port is taken or not
    allowed.
    """
    try:
        # From here on whoever asks is kept waiting, not refused.
        return socket.create_server((LOOPBACK, port), backlog=128)
    except (OSError, OverflowError) as error:
        raise UserError(f"--port {port}: can't be used ({error}); leave it out to have a free one chosen") from error


async def serve(live: LivePage | LiveFolder, listening: socket.socket) -> None:
    """Serve the page until cancelled."""
    from aiohttp import web

    runner = web.AppRunner(application(live, listening.getsockname()[1]), access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
