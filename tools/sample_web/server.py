"""Serves the sample sites on loopback; the host name chooses the site."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITES = Path(__file__).parent / "sites"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}


class _Handler(BaseHTTPRequestHandler):
    """Static files, and the site's shell page for every other path (the page's script routes)."""

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").split(":")[0].split(".")[0]
        path = self.path.split("?")[0]
        if path.startswith("/common/"):
            file = SITES / path.lstrip("/")
        elif path.startswith("/static/"):
            file = SITES / host / path.removeprefix("/static/")
        else:
            file = SITES / host / "index.html"
        if not file.resolve().is_relative_to(SITES.resolve()) or not file.is_file():
            self.send_error(404)
            return
        body = file.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", _TYPES[file.suffix] + "; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the console for the build's own lines."""


class SiteServer:
    """The sites on a free loopback port, until closed."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def host_names() -> list[str]:
    """The host name of every site, for example `harborgoods.example`."""
    return sorted(f"{path.name}.example" for path in SITES.iterdir() if (path / "index.html").is_file())
