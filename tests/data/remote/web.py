"""A web server over a folder, as servers are: listings, ETags, ranges or none, and faults on request."""

from __future__ import annotations

import hashlib
import html
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit


class Web:
    """Serves a folder on the loopback interface; ``with Web(folder) as web: web.url``.

    ``asked`` are the requests, as (method, path, range). ``ranges`` switches ranges off, ``broken`` maps a path to how
    many requests for it are cut off in the middle, ``slow_s`` waits before every 64 kB of a body, ``statuses`` answers
    a path with an error, ``statuses_after`` does when so many requests for it were answered.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str, str]] = []
        self.ranges = True
        self.broken: dict[str, int] = {}
        self.statuses: dict[str, int] = {}
        self.statuses_after: dict[str, tuple[int, int]] = {}
        self.redirects: dict[str, str] = {}
        self.slow_s = 0.0
        self.lock = threading.Lock()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                web.answer(self, body=False)

            def do_GET(self) -> None:
                web.answer(self, body=True)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/"

    def __enter__(self) -> Web:
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def gets(self) -> list[str]:
        """The files whose bytes were asked for."""
        return [path for method, path, _ in self.asked if method == "GET" and not path.endswith("/")]

    def answer(self, handler: BaseHTTPRequestHandler, *, body: bool) -> None:
        path = unquote(urlsplit(handler.path).path)
        target = self.folder / path.lstrip("/")
        with self.lock:
            self.asked.append((handler.command, path, handler.headers.get("Range", "")))
            cut = body and self.broken.get(path, 0) > 0
            if cut:
                self.broken[path] -= 1
            status = self.statuses.get(path, 0 if target.exists() else 404)
            if body and path in self.statuses_after:
                left, after = self.statuses_after[path]
                self.statuses_after[path] = (left - 1, after)
                status = status if left > 0 else after
        if path in self.redirects:
            handler.send_response(302)
            handler.send_header("Location", self.redirects[path])
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if status or (path.endswith("/") and target.is_file()):
            handler.send_response(status or 404)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if target.is_dir():
            names = sorted(one.name + ("/" if one.is_dir() else "") for one in target.iterdir())
            links = "".join(f'<li><a href="{html.escape(quote(name))}">{html.escape(name)}</a>' for name in names)
            page = f'<a href="?C=N;O=D">Name</a><a href="/elsewhere/">up</a><a href="../">..</a><ul>{links}</ul>'
            self.send(handler, 200, page.encode(), body=body, headers={"Content-Type": "text/html; charset=utf-8"})
            return
        content = target.read_bytes()
        headers = {"ETag": f'"{hashlib.md5(content).hexdigest()}"', "Content-Type": "image/png"}
        asked = handler.headers.get("Range", "")
        if asked and self.ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last or len(content) - 1), len(content) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            self.send(handler, 206, content[start : end + 1], body=body, headers=headers, cut=cut)
            return
        self.send(handler, 200, content, body=body, headers=headers, cut=cut)

    def send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        content: bytes,
        *,
        body: bool,
        headers: dict[str, str],
        cut: bool = False,
    ) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if not body:
            return
        try:
            for start in range(0, len(content), 1 << 16):
                if self.slow_s:
                    time.sleep(self.slow_s)
                if cut and start + (1 << 16) >= len(content) // 2:
                    handler.wfile.write(content[start : max(start + 1, len(content) // 2)])
                    handler.wfile.flush()
                    handler.close_connection = True
                    return
                handler.wfile.write(content[start : start + (1 << 16)])
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True
