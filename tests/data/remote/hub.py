"""A Hugging Face hub on the loopback interface: data sets with a commit each, gates, and what was asked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


class Hub:
    """``with Hub() as hub: hub.put("owner/name", files)``, then ``hub.url`` is what HF_ENDPOINT has to be.

    ``asked`` are the requests, as (method, path). ``gated`` are data sets that nobody may read, ``slow_s`` waits before
    every file.
    """

    def __init__(self) -> None:
        self.sets: dict[str, tuple[str, dict[str, bytes]]] = {}
        self.asked: list[tuple[str, str]] = []
        self.gated: set[str] = set()
        self.slow_s = 0.0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                hub.answer(self)

            def do_GET(self) -> None:
                hub.answer(self)

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):  # A client was killed.
                    super().handle()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def put(self, repository: str, files: dict[str, bytes]) -> None:
        self.sets[repository] = (hashlib.sha1(repr(files).encode()).hexdigest(), files)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(handler.path).path)
        self.asked.append((handler.command, path))
        found = re.fullmatch(r"/(?:api/)?datasets/([^/]+/[^/]+)/(revision|tree|resolve)/([^/]+)/?(.*)", path)
        if found is None or found[1] not in self.sets:
            return self.send(handler, 401, b"", {"X-Error-Code": "RepoNotFound"})
        repository, what, revision, inner = found.groups()
        if repository in self.gated:
            return self.send(handler, 403, b"", {"X-Error-Code": "GatedRepo"})
        commit, files = self.sets[repository]
        if revision not in ("main", commit):
            return self.send(handler, 404, b"", {"X-Error-Code": "RevisionNotFound"})
        if what == "revision":
            return self.send(handler, 200, json.dumps({"id": repository, "sha": commit, "siblings": []}).encode())
        if what == "tree":
            tree = [
                {"type": "file", "path": name, "size": len(each), "oid": hashlib.sha1(each).hexdigest()}
                for name, each in files.items()
            ]
            return self.send(handler, 200, json.dumps(tree).encode())
        if inner not in files:
            return self.send(handler, 404, b"", {"X-Error-Code": "EntryNotFound"})
        if handler.command == "GET":
            time.sleep(self.slow_s)
        headers = {"ETag": f'"{hashlib.sha1(files[inner]).hexdigest()}"', "X-Repo-Commit": commit}
        return self.send(handler, 200, files[inner], headers)

    def send(
        self, handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str] | None = None
    ) -> None:
        handler.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(content)
