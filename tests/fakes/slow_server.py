"""A chat server in a thread of the test: slow, stoppable in mid-run, and with a memory for who was asked what."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[str, str], str]  # Model and text of the last part of the message in, reply out.


def any_point(model: str, question: str) -> str:
    """A reply that depends on the question alone: mostly a point, now and then no answer."""
    digest = hashlib.sha256(f"{model}/{question}".encode()).digest()
    return "I can't see it." if digest[0] < 32 else f"({digest[1] % 64},{digest[2] % 16 + 10})"


class SlowServer:
    """``asked`` counts every distinct request body by hash; ``answered`` counts the replies that went out; ``keys`` are
    the Authorization headers that came.

    ``hold_after``: from that many replies on, requests wait until it is raised or the server is stopped, so that a
    test can end a run in the middle without depending on the clock. ``status``: answer with this HTTP error instead.
    """

    def __init__(self, reply: Reply = any_point, latency_s: float = 0.0) -> None:
        self.reply = reply
        self.latency_s = latency_s
        self.asked: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()
        self.keys: set[str] = set()
        self.answered = 0
        self.most_at_once = 0
        self.hold_after: int | None = None
        self.status: int | None = None
        self.port = 0
        self._at_once = 0
        self._change = threading.Condition()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> int:
        return self.asked.total()

    def start(self) -> None:
        """Listen; after a stop, on the same port again."""
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Listener(("127.0.0.1", self.port), handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Die: nothing listens any more, and requests in work get no reply."""
        server, self._server = self._server, None
        if server is not None:
            with self._change:
                self._change.notify_all()
            server.shutdown()
            server.server_close()

    def let_go(self, hold_after: int | None) -> None:
        """Change the number of replies from which on requests wait."""
        with self._change:
            self.hold_after = hold_after
            self._change.notify_all()

    def answer(self, body: bytes, server: object) -> tuple[int, dict[str, Any]] | None:
        """What to say to a request that came in at one of our listeners; nothing where that one is stopped."""
        question = json.loads(body)
        model, text = question["model"], _text(question)
        with self._change:
            if self._server is not server:  # Sent by a process that was killed, and read too late to count.
                return None
            self.asked[hashlib.sha256(body).hexdigest()] += 1
            self.texts[f"{model}: {text}"] += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self._change.wait_for(
                lambda: self._server is not server or self.hold_after is None or self.answered < self.hold_after
            )
            self._at_once -= 1
            if self._server is not server:
                return None
            if self.status is None:
                self.answered += 1
        time.sleep(self.latency_s)
        if self.status is not None:
            return self.status, {"error": {"message": "made to fail"}}
        return 200, {
            "model": model,
            "choices": [{"message": {"content": self.reply(model, text)}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }


class _Listener(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed in mid-request is no news here."""


class _Handler(BaseHTTPRequestHandler):
    owner: SlowServer

    def do_GET(self) -> None:
        self._send(200, {"data": []})

    def do_POST(self) -> None:
        self.owner.keys.add(self.headers["Authorization"] or "")
        answer = self.owner.answer(self.rfile.read(int(self.headers["Content-Length"])), self.server)
        if answer is not None:
            self._send(*answer)

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _text(question: dict[str, Any]) -> str:
    content = question["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return next(str(part["text"]) for part in content if part["type"] == "text")


@contextmanager
def slow_server(reply: Reply = any_point, latency_s: float = 0.0) -> Iterator[SlowServer]:
    """A server that lives as long as the block."""
    server = SlowServer(reply, latency_s)
    server.start()
    try:
        yield server
    finally:
        server.stop()
