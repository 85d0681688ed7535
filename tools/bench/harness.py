"""Measures `grounding eval` against a bare client, in the same minute on the same machine, and prints ratios.

    python tools/bench/harness.py                       # 1,714 steps of 1 MB PNG, 64 connections, 0.3 s latency
    python tools/bench/harness.py --steps 17140 --latency 0   # ten times the steps: is memory the same?
    python tools/bench/harness.py --cards all --steps 300     # one line for each bundled card that vLLM serves
    python tools/bench/harness.py --cards gta1 --resized      # as at a server that doesn't make the card's sizes

Wall is start to exit of the whole process, interpreter and imports included; CPU and peak memory are the process's own
(rusage of the child). Asking is what the server saw, from the first question that is no probe's to the last reply. With
cards both clients send the same bytes, and the server counts tokens as the card's processor does. The last line
re-scores stored steps without a model.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grounding.cards import GrounderCard, find_card, read_cards
from grounding.cards.places import models_dir
from grounding.cards.schema import WRITTEN_NUMBER
from grounding.data.images import Picture, picture_sizes
from grounding.llm.chat import render_messages
from grounding.llm.wire import encode_request
from grounding.records import Query, Screenshot, Size

sys.path.insert(0, str(Path(__file__).parent))
from workload import SIZE, make_workload

HERE = Path(__file__).parent
CARDS = models_dir() / "grounders"


@dataclass(frozen=True)
class Measured:
    """One process from start to exit, and the time from its first question to the last reply."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    asking_s: float = 0.0


@dataclass(frozen=True)
class Pair:
    """The bare client and the evaluation, the best of the repeats of each."""

    name: str
    bare: Measured
    ours: Measured
    sent: str
    asked: int
    again: Measured


def measure(command: list[str], port: int = 0) -> Measured:
    """Run a command to its end and take its times; its output is shown only when it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output.decode()}")
    told = stats(port) if port else {"first_s": 0.0, "last_s": 0.0}
    return Measured(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mb=usage.ru_maxrss / 1024,
        asking_s=told["last_s"] - told["first_s"],
    )


def stats(port: int) -> dict[str, float]:
    """What the server says of the requests since it was last asked."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as reply:
        found: dict[str, float] = json.load(reply)
    return found


@contextmanager
def fake_server(given: argparse.Namespace, card: GrounderCard | None) -> Iterator[int]:
    """The server in a process of its own; counts tokens and answers as a card's model, if there is one."""
    command = [sys.executable, str(HERE / "fake_server.py"), "--latency", str(given.latency)]
    command += ["--slots", str(given.slots)]
    if card is not None:
        written = WRITTEN_NUMBER.sub(lambda match: "0.50" if match[2] else "500", card.writes or "(500,500)")
        command += ["--reply", written.removeprefix(card.prefill or "")]
        rule = card.image
        if rule.resize != "none" and not given.resized:
            command += ["--factor", str(rule.factor), "--pixels", str(rule.min_pixels), str(rule.max_pixels)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        yield json.loads(server.stdout.readline())["port"] if server.stdout else 0
    finally:
        server.terminate()
        server.wait()


def template(card: GrounderCard) -> bytes:
    """A card's request with marks in place of the picture and the instruction."""
    size = Size(width=SIZE[0], height=SIZE[1])
    shot = Screenshot(path="", size=size, sha256="")
    query = Query(step_id="", key="", screenshot=shot, instruction="@INSTRUCTION@")
    picture = Picture(url_json=msgspec.Raw(b'"@PICTURE@"'), sizes=picture_sizes(size, card.image))
    return encode_request(card.model, render_messages(card, query, picture), card.parameters)


def compare(given: argparse.Namespace, data: Path, card: GrounderCard | None) -> Pair:
    """Run both clients in turn against one server."""
    logs = given.folder / "results"
    shutil.rmtree(logs, ignore_errors=True)
    bare_command = [sys.executable, str(HERE / "bare_client.py"), str(data)]
    ours_command = [sys.executable, "-m", "grounding.eval", "--dataset", "realwebassist", "--data-dir", str(data)]
    if card is None:
        ours_command += ["--grounder", str(HERE / "fake-grounder.yaml")]
    else:
        ours_command += ["--grounder", card.name, "--no-report", "--history", "0"]
        (given.folder / "template.json").write_bytes(template(card))
        bare_command += ["--template", str(given.folder / "template.json")]
    with fake_server(given, card) as port:
        base_url = f"http://127.0.0.1:{port}/v1"
        bare_command += [base_url, "--connections", str(given.connections)]
        ours_command += ["--base-url", base_url, "--log-dir", str(logs), "--fresh", "--display", "none"]
        ours_command += ["--max-connections", str(given.connections)]
        pairs = [(measure(bare_command, port), measure(ours_command, port)) for _ in range(given.repeats)]
        asked = int(stats(port)["requests"])
    run = max(logs.iterdir(), key=lambda folder: folder.stat().st_mtime)
    with (run / "predictions.jsonl").open() as lines:
        sizes = json.loads(next(lines))["sizes"]
    bare, ours = (min((pair[index] for pair in pairs), key=lambda found: found.wall_s) for index in (0, 1))
    return Pair(
        name="grounding eval" if card is None else card.name,
        bare=bare,
        ours=ours,
        sent="as it is" if sizes["sent"] == sizes["original"] else "resized",
        asked=asked,
        again=measure([sys.executable, "-m", "grounding", "score", str(run), "--json"]),
    )


def chosen_cards(names: list[str]) -> list[GrounderCard]:
    """The bundled cards of these names; ``all`` for those that vLLM serves."""
    if names == ["all"]:
        return [card for card in read_cards(CARDS, GrounderCard) if card.serving.how in ("vllm", "vllm-flags")]
    return [find_card(name, CARDS, GrounderCard, builtin=(), kind="grounder") for name in names]


def main() -> None:
    """Run the comparison and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1714)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cards", nargs="+", default=[], help="bundled cards, or all")
    parser.add_argument("--resized", action="store_true", help="the server's counts fit no card's sizes")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "grounding-bench")
    given = parser.parse_args()

    data = make_workload(given.folder, steps=given.steps)
    for picture in (given.folder / "pictures").iterdir():
        picture.read_bytes()  # both clients find the files in the page cache
    if given.cards:
        _print_cards(given, data)
    else:
        _print(given, compare(given, data, None))
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * given.connections:
        print(f"note: this shell allows {soft} open files; many connections may need `ulimit -n`")


def _print(given: argparse.Namespace, pair: Pair) -> None:
    floor_s = given.steps * given.latency / given.slots
    print(
        f"{given.steps} steps, {given.connections} connections, latency {given.latency} s, {given.slots} slots: "
        f"the server alone needs {floor_s:.1f} s; it was asked {pair.asked} times in {given.repeats} pairs of runs"
    )
    print(f"{'':16}{'wall s':>9}{'asking s':>10}{'CPU ms/step':>13}{'peak MB':>9}")
    bare, ours = pair.bare, pair.ours
    for name, found in (("bare aiohttp", bare), (pair.name, ours)):
        each_ms = found.cpu_s / given.steps * 1000
        print(f"{name:16}{found.wall_s:9.2f}{found.asking_s:10.2f}{each_ms:13.2f}{found.peak_mb:9.0f}")
    ratios = (ours.wall_s / bare.wall_s, ours.asking_s / bare.asking_s, ours.cpu_s / bare.cpu_s)
    print(f"{'ratio':16}{ratios[0]:9.2f}{ratios[1]:10.2f}{ratios[2]:13.2f}{ours.peak_mb / bare.peak_mb:9.2f}")
    print(f"re-scoring {given.steps} stored steps: {pair.again.wall_s:.2f} s wall, {pair.again.peak_mb:.0f} MB")


def _print_cards(given: argparse.Namespace, data: Path) -> None:
    print(f"{given.steps} steps, {given.connections} connections, latency {given.latency} s; ratios to the bare client")
    print(f"{'card':20}{'picture':>10}{'bare s':>9}{'asking s':>10}{'asking':>8}{'wall':>7}{'CPU':>7}{'peak MB':>9}")
    for card in chosen_cards(given.cards):
        pair = compare(given, data, card)
        bare, ours = pair.bare, pair.ours
        ratios = (ours.asking_s / bare.asking_s, ours.wall_s / bare.wall_s, ours.cpu_s / bare.cpu_s)
        print(
            f"{card.name:20}{pair.sent:>10}{bare.asking_s:9.2f}{ours.asking_s:10.2f}"
            f"{ratios[0]:8.2f}{ratios[1]:7.2f}{ratios[2]:7.2f}{ours.peak_mb:9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
