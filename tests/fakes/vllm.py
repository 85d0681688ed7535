"""A stand-in for the program ``vllm``: takes its command line, serves /health and /v1, or misbehaves on request.

    python tests/fakes/vllm.py serve MODEL --port P --served-model-name N [flags that start with --fake-]

Answers every question with a point. Writes ``{"arguments": […], "pid": …, "child": …, "devices": …}`` as a line to
the file of ``--fake-record`` when it starts, and the body of every request to that file's name with ``.asked`` added.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

STUBBORN = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]; time.sleep(600)"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = ""
    healthy_at = 0.0
    record: Path | None = None
    takes_s = 0.02
    die_at: tuple[int, ...] = ()
    says = "(10, 20)"

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(200 if time.monotonic() >= self.healthy_at else 503, {})
        else:
            self._send(200, {"data": [{"id": self.model}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.record is not None:
            with Path(f"{self.record}.asked").open("ab") as file:
                file.write(json.dumps({"port": self.server.server_port, "body": json.loads(body)}).encode() + b"\n")
            if self.die_at and len(Path(f"{self.record}.asked").read_bytes().splitlines()) in self.die_at:
                print("out of memory", flush=True)
                os._exit(4)
        time.sleep(self.takes_s)
        message = {"role": "assistant", "content": self.says}
        self._send(200, {"model": self.model, "choices": [{"message": message, "finish_reason": "stop"}]})

    def log_message(self, format: str, *args: Any) -> None:
        print(format % args, flush=True)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left before its answer is no error of the server; others are told as always."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--served-model-name", default="")
    parser.add_argument("--fake-record", type=Path)
    parser.add_argument("--fake-delay", type=float, default=0.0)
    parser.add_argument("--fake-die", help="say this and exit with 3")
    parser.add_argument("--fake-die-after", type=float, help="exit with 4 so many seconds after the start")
    parser.add_argument("--fake-die-on-port", type=int, help="--fake-die-after is for this port only")
    parser.add_argument("--fake-die-at", type=int, nargs="*", default=[], help="exit with 4 at these requests")
    parser.add_argument("--fake-takes", type=float, default=0.02, help="so many seconds for an answer")
    parser.add_argument("--fake-odd", type=Path, help="the first that makes this file answers otherwise")
    parser.add_argument("--fake-stubborn", action="store_true", help="neither SIGINT nor SIGTERM ends it")
    given, _ = parser.parse_known_args()
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], start_new_session=True)
    if given.fake_record:
        line = {"arguments": sys.argv[1:], "pid": os.getpid(), "child": child.pid}
        with given.fake_record.open("a") as file:
            file.write(json.dumps({**line, "devices": os.environ.get("CUDA_VISIBLE_DEVICES")}) + "\n")
    print("loading \x1b[31mweights\x1b[0m\r50 %\rweights are loaded", flush=True)
    if given.fake_die:
        sys.exit(print(f"a line before\n{given.fake_die}", flush=True) or 3)
    if given.fake_stubborn:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    if given.fake_die_after is not None and given.fake_die_on_port in (None, given.port):
        threading.Timer(given.fake_die_after, lambda: (print("out of memory", flush=True), os._exit(4))).start()
    Handler.model, Handler.record = given.served_model_name, given.fake_record
    Handler.takes_s = given.fake_takes
    Handler.die_at = tuple(given.fake_die_at)
    if given.fake_odd is not None:
        with contextlib.suppress(FileExistsError):
            given.fake_odd.touch(exist_ok=False)
            Handler.says = "(200, 150)"
    Handler.healthy_at = time.monotonic() + given.fake_delay
    _Server((given.host, given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
