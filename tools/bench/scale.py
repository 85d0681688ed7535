"""How `grounding eval` behaves from ten thousand steps to a million, against a server that answers at once.

    python tools/bench/scale.py --steps 10000 30000 100000           # one row for each size
    python tools/bench/scale.py --steps 1000000 --pictures 2000      # all steps share so many pictures
    python tools/bench/scale.py --steps 3000 --latency 0.2 --clients bare local ray
    python tools/bench/scale.py --steps 2000 --latency 0.4 --connections 8 --clients local ray --servers 1 2 4

Every run is killed with SIGKILL at half of its steps and started again. CPU seconds are those of the writing process:
on a machine that does other work too they mean more than the clock. With --clients the same steps are asked about by
the bare client and by `grounding eval` with each executor, by turns; with --servers by as many addresses, each with
the connections of --connections. The server is raw asyncio and costs next to
nothing; the number in each instruction tells it which steps it was asked about.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

HERE = Path(__file__).resolve().parent
STEPS_A_PARTICIPANT, STEPS_A_TASK = 10_000, 10
NUMBER_AFTER = b"entry number "
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


# --- a data set of any size, in the layout of RealWebAssist ---------------------------------------------------------


def picture(number: int, least_bytes: int = 0) -> bytes:
    """A PNG of 320x200 in two colours that differs from that of every other number.

    What is to be larger than its few pixels need carries a private chunk of noise, which programs pass over.
    """

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    row = b"\x00" + b"\xff" * 40
    pixels = zlib.compress(b"\x00" + struct.pack(">Q", number) + row[9:] + row * 199, 1)
    noise = chunk(b"noIs", random.Random(number).randbytes(least_bytes)) if least_bytes else b""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 320, 200, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", pixels) + noise + chunk(b"IEND", b"")


def make_data(folder: Path, steps: int, pictures: int, picture_bytes: int = 0) -> Path:
    """Write a data set of so many scored steps over so many pictures, or find the one that is there."""
    data = folder / f"data-{steps}-{pictures}-{picture_bytes}"
    if (data / "done").exists():
        return data
    participants = max(10, -(-steps // STEPS_A_PARTICIPANT))
    for participant in range(participants):
        numbers = range(participant, steps, participants)
        each = max(1, min(len(numbers), pictures // participants))
        images = data / str(participant + 1) / "images"
        images.mkdir(parents=True, exist_ok=True)
        items = []
        for position, number in enumerate(numbers):
            if position < each:
                (images / f"{position + 1}.png").write_bytes(picture(number, picture_bytes))
            items.append(
                {
                    "task": f"task {position // STEPS_A_TASK}",
                    "instruction": f"okay, now open {NUMBER_AFTER.decode()}{number} of the list",
                    "action": "click",
                    "final_image": f"images/{position % each + 1}.png",
                    "bounding_box": [{"x": 100 + number % 50, "y": 60, "width": 80, "height": 30}],
                }
            )
        (images.parent / "questions_with_task_updated.json").write_text(json.dumps(items))
    (data / "done").touch()
    return data


# --- the server -----------------------------------------------------------------------------------------------------


def response(content: Any) -> bytes:
    """A whole HTTP response with a JSON body."""
    body = json.dumps(content).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def step_number(body: bytes | bytearray) -> int:
    """The number in the last instruction of a request; -1 where there is none."""
    number = body[body.rfind(NUMBER_AFTER) + len(NUMBER_AFTER) :] if NUMBER_AFTER in body else b""
    digits = len(number) - len(number.lstrip(b"0123456789"))
    return int(number[:digits]) if digits else -1


class Server(asyncio.Protocol):
    """One kept connection; requests come one after the other. All connections share ``asked``: requests by step."""

    asked: ClassVar[Counter[int]] = Counter()
    moments: ClassVar[dict[str, float]] = {"first_s": 0.0, "last_s": 0.0}
    answer = response(
        {
            **{"id": "fake", "object": "chat.completion", "created": 0, "model": "fake"},
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "(150,70)"}}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 8, "total_tokens": 1008},
        }
    )

    def __init__(self, latency_s: float) -> None:
        self._latency_s, self._buffer = latency_s, bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._buffer += data
        while (head := self._buffer.find(b"\r\n\r\n")) >= 0:
            lengths = [
                line[15:] for line in bytes(self._buffer[:head]).lower().split(b"\r\n") if b"ontent-length:" in line
            ]
            whole = head + 4 + int(lengths[0] if lengths else 0)
            if len(self._buffer) < whole:
                return
            if not self._buffer.startswith(b"POST"):
                found = {**self.moments, "distinct": len(self.asked), "requests": self.asked.total()}
                self._send(response(found if b"/stats" in self._buffer[:40] else {"object": "list", "data": []}))
            else:
                now = time.monotonic()
                self.moments.update(first_s=self.moments["first_s"] or now, last_s=now)
                self.asked[step_number(self._buffer[head + 4 : whole])] += 1
                if self._latency_s:
                    asyncio.get_running_loop().call_later(self._latency_s, self._send, self.answer)
                else:
                    self._send(self.answer)
            del self._buffer[:whole]

    def _send(self, content: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(content)


async def serve(latency_s: float) -> None:
    """Serve on loopback until the process is ended; prints the port once it listens."""
    server = await asyncio.get_running_loop().create_server(lambda: Server(latency_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(latency_s: float) -> Iterator[int]:
    """A server in a process of its own; gives its port."""
    process = subprocess.Popen([sys.executable, __file__, "--serve", str(latency_s)], stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline()) if process.stdout else 0
    finally:
        process.terminate()
        process.wait()


def stats(ports: Sequence[int]) -> dict[str, float]:
    """What the servers were asked so far, all together."""
    told = []
    for port in ports:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as reply:
            told.append(json.load(reply))
    found: dict[str, float] = {name: sum(one[name] for one in told) for name in ("distinct", "requests")}
    found["first_s"] = min((one["first_s"] for one in told if one["first_s"]), default=0.0)
    found["last_s"] = max((one["last_s"] for one in told), default=0.0)
    return found


# --- measuring ------------------------------------------------------------------------------------------------------


@dataclass
class Watched:
    """A process from start to exit: looks at it (steps asked about, CPU seconds, MB), and its end."""

    looks: list[tuple[float, float, float]] = field(default_factory=list)
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    asking_s: float = 0.0

    def cpu_at(self, steps: float) -> float:
        """CPU seconds when so many steps had been asked about."""
        return float(np.interp(steps, [look[0] for look in self.looks], [look[1] for look in self.looks]))

    def mb_at(self, steps: float) -> float:
        """Its memory at that moment."""
        return float(np.interp(steps, [look[0] for look in self.looks], [look[2] for look in self.looks]))


def watch(command: Sequence[str], ports: Sequence[int] = (), kill_at: float = float("inf")) -> Watched:
    """Run a command to its end, or until the servers were asked about so many steps.

    Raises:
        SystemExit: it failed.
    """
    found = Watched()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(0.1)
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            told = stats(ports)
            look = ((int(fields[11]) + int(fields[12])) / _TICKS, int(fields[21]) * _PAGE / 1e6)
            if not found.looks or told["distinct"] != found.looks[-1][0]:
                found.looks.append((told["distinct"], *look))
            elif len(found.looks) == 1:  # Of the looks before its first request the last one counts.
                found.looks[0] = (told["distinct"], *look)
            if told["distinct"] >= kill_at:
                process.send_signal(signal.SIGKILL)
                break
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, -signal.SIGKILL):
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output.read().decode()[-4000:]}")
    told = stats(ports)
    found.cpu_s, found.peak_mb = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    found.asking_s = told["last_s"] - told["first_s"]
    return found


def eval_command(given: argparse.Namespace, data: Path, ports: Sequence[int], logs: Path, *more: str) -> list[str]:
    """`grounding eval` over the data set, against the servers."""
    words = [sys.executable, "-m", "grounding.eval", "--dataset", "realwebassist", "--data-dir", str(data)]
    words += ["--grounder", str(HERE / "fake-grounder.yaml"), "--base-url"]
    words += [f"http://127.0.0.1:{port}/v1" for port in ports]
    words += ["--log-dir", str(logs), "--max-connections", str(given.connections), "--no-probe", "--display", "none"]
    return [*words, "--no-report", *more]


def measure_size(given: argparse.Namespace, steps: int) -> dict[str, float]:
    """One run, killed half-way and gone on with, and what is done with it afterwards."""
    data = make_data(given.folder, steps, given.pictures or steps, given.picture_bytes)
    logs = given.folder / "results"
    shutil.rmtree(logs, ignore_errors=True)
    with serving(given.latency) as port:
        command = eval_command(given, data, [port], logs)
        before = watch(command, [port], kill_at=steps / 2)
        killed_at = before.looks[-1][0]
        after = watch(command, [port])
        told = stats([port])
    if told["distinct"] != steps:
        raise SystemExit(f"the server was asked about {told['distinct']:.0f} steps of {steps}")
    (run,) = logs.glob("*/predictions.jsonl")
    again = watch([sys.executable, "-m", "grounding", "score", str(run.parent)])
    code = f"import grounding; grounding.load_run({str(run.parent)!r}).frame()"
    loaded = watch([sys.executable, "-c", code])
    asking = before.cpu_at(killed_at) - before.cpu_at(1) + after.cpu_at(steps) - after.cpu_at(killed_at + 1)
    tenth = steps / 10
    return {
        "steps": steps,
        "loading_s": before.cpu_at(0),
        "asking_ms": 1000 * asking / steps,
        "first_ms": 1000 * (before.cpu_at(tenth) - before.cpu_at(1)) / tenth,
        "last_ms": 1000 * (after.cpu_at(steps) - after.cpu_at(steps - tenth)) / tenth,
        "start_mb": before.mb_at(1),
        "end_mb": after.mb_at(steps),
        "resume_s": after.cpu_at(killed_at),
        "twice": told["requests"] - steps,
        "rescore_s": again.cpu_s,
        "load_run_s": loaded.cpu_s,
        "bytes": sum(path.stat().st_size for path in run.parent.iterdir() if path.is_file()) / steps,
    }


COLUMNS = {
    "steps": ("steps", ",.0f"),
    "loading_s": ("load s", ".1f"),
    "asking_ms": ("ask ms/step", ".2f"),
    "first_ms": ("first tenth", ".2f"),
    "last_ms": ("last tenth", ".2f"),
    "start_mb": ("MB at start", ".0f"),
    "end_mb": ("at end", ".0f"),
    "resume_s": ("resume s", ".1f"),
    "twice": ("asked twice", ".0f"),
    "rescore_s": ("re-score s", ".1f"),
    "load_run_s": ("load_run s", ".1f"),
    "bytes": ("bytes/step", ",.0f"),
}
GROW = ("loading_s", "resume_s", "rescore_s", "load_run_s")


def print_sizes(rows: Sequence[dict[str, float]]) -> None:
    """The table in Markdown, and how CPU seconds grow with the size where there are several."""
    print(f"| {' | '.join(title for title, _ in COLUMNS.values())} |\n|{'---:|' * len(COLUMNS)}")
    for row in rows:
        print(f"| {' | '.join(format(row[name], form) for name, (_, form) in COLUMNS.items())} |")
    if len(rows) > 1:
        sizes = np.log([row["steps"] for row in rows])
        asked = [row["asking_ms"] * row["steps"] for row in rows]
        found = {"asking": asked} | {COLUMNS[name][0]: [row[name] for row in rows] for name in GROW}
        grown = (
            f"{name} {np.polyfit(sizes, np.log(np.maximum(each, 1e-3)), 1)[0]:.2f}" for name, each in found.items()
        )
        print(f"\nCPU grows as steps to the power of: {', '.join(grown)}")


def print_clients(given: argparse.Namespace, steps: int, servers: int) -> None:
    """The bare client and `grounding eval` with each executor, by turns; the best of each counts."""
    data = make_data(given.folder, steps, given.pictures or steps, given.picture_bytes)
    best: dict[str, tuple[float, float]] = {}
    for _ in range(given.repeats):
        for client in given.clients:
            logs = given.folder / "results"
            shutil.rmtree(logs, ignore_errors=True)
            with ExitStack() as stack:
                ports = [stack.enter_context(serving(given.latency)) for _ in range(servers)]
                command = eval_command(given, data, ports, logs, "--executor", client)
                if client == "bare":
                    command = [sys.executable, str(HERE / "bare_client.py"), str(data)]
                    command += [f"http://127.0.0.1:{ports[0]}/v1", "--connections", str(given.connections)]
                found = watch(command, ports)
            rate = (steps / found.asking_s, 1000 * (found.cpu_at(steps) - found.cpu_at(1)) / steps)
            best[client] = max(rate, best.get(client, rate))
    many = f"{servers} servers" if servers > 1 else "1 server"
    print(f"{steps:,} steps, {many}, latency {given.latency:g} s, pictures of {given.picture_bytes or 100:,} bytes")
    for client, (pace, cpu_ms) in best.items():
        ratio = "" if "bare" not in best else f"{pace / best['bare'][0]:6.2f} of bare"
        print(f"{client:8}{pace:9,.0f} steps/s{ratio}  {cpu_ms:.2f} ms CPU a step", flush=True)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[10_000])
    parser.add_argument("--pictures", type=int, help="that all steps share [default: one for each step]")
    parser.add_argument("--picture-bytes", type=int, default=0, help="the least size of a picture")
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--clients", nargs="+", default=[], choices=["bare", "local", "ray"])
    parser.add_argument("--servers", type=int, nargs="+", default=[1], help="that share the steps [default: 1]")
    parser.add_argument("--repeats", type=int, default=2, help="turns of the clients")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "grounding-scale")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve))
    elif given.clients:
        if "bare" in given.clients and given.servers != [1]:
            parser.error("the bare client asks one server only")
        for steps, servers in itertools.product(given.steps, given.servers):
            print_clients(given, steps, servers)
    else:
        print_sizes([measure_size(given, steps) for steps in sorted(given.steps)])


if __name__ == "__main__":
    main()
