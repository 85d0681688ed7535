"""Measures a shop as large as the release: reading, index, a query, the offline agent, a hosted one beside a client.

    python tools/bench/shop_speed.py                    # 35,772 products, 2,174 tasks, 64 connections, 0.3 s latency

The shop is made up in the release's layout. Both clients send the same bodies, those that `grounding eval` sent in a
first run, to the same server in the same minutes; walls are from start to exit of whole processes and, beside them, of
the requests alone: reading a shop and building its index is no matter of the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
CARD = "name: fake\ntitle: a fake\nmodel: fake\nmax_connections: {connections}\n"


def make_shop(folder: Path, products: int, tasks: int) -> None:
    """Write a shop: products of made-up words, 1,000 users with 38 purchases each."""
    chance = random.Random(0)
    words = [
        "".join(chance.choice("abcdefghijklmnoprstuvw") for _ in range(chance.randint(3, 9))) for _ in range(20_000)
    ]

    def text(count: int) -> str:
        return " ".join(words[min(int(chance.paretovariate(0.6)), 19_999)] for _ in range(count))

    shop = {}
    for number in range(products):
        asin = f"B{number:09d}"
        shop[asin] = {
            "parent_asin": asin,
            "title": text(12),
            "main_category": chance.choice(["Home", "Food", "Books", "Toys", "Sport"]),
            "features": [text(40)],
            "description": [text(120)],
            "price": 9.5,
            "store": text(1),
        }
    asins = list(shop)

    def bought(user: int, place: int) -> dict[str, object]:
        review = {"rating": 5.0, "text": text(40), "timestamp": 1000 * place + user % 7}
        return {"product_info": shop[chance.choice(asins)], "review": review, "split": "history"}

    histories = {f"U{user}": [bought(user, place) for place in range(38)] for user in range(1000)}
    instructions = []
    for number in range(tasks):
        target = shop[chance.choice(asins)]
        kind = ("search", "recommend", "review")[number % 3]
        lead = {"search": "Find me", "recommend": "Recommend me", "review": "Write a review of"}[kind]
        instructions.append(
            {
                "user_id": f"U{number % 1000}",
                "task": f"{lead} {text(20)}",
                "type": kind,
                "timestamp": 10**9,
                "target": {"product_info": target, "review": {"rating": 5.0, "text": text(40), "timestamp": 10**9}},
            }
        )
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "user_instructions.json": {"train": [], "test": instructions},
        "user_history_part_1.json": histories,
        "all_products_part_1.json": shop,
        "product_ids.json": {asin: number for number, asin in enumerate(shop, start=1)},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    import torch

    from grounding.benchmarks.personalwab.sasrec import Sasrec

    torch.save(Sasrec(len(shop)).state_dict(), folder / "sasrec.pth")


async def serve(latency_s: float, keep: Path) -> None:
    """A server that calls a search for every request, and keeps the bodies of the first run."""
    from aiohttp import web

    bodies: list[bytes] = []
    times: list[float] = []

    async def complete(request: web.Request) -> web.Response:
        times.append(time.monotonic())
        body = await request.read()
        bodies.append(body)
        await asyncio.sleep(latency_s)
        words = json.loads(body)["messages"][1]["content"].split()
        call = {"name": "search_product_by_query", "arguments": json.dumps({"query": " ".join(words[4:12])})}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": call}],
        }
        times.append(time.monotonic())
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})

    async def models(_request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "fake"}]})

    async def stats(_request: web.Request) -> web.Response:
        found = {"requests": len(bodies), "seconds": max(times) - min(times)}
        if not keep.exists():
            keep.write_bytes(b"\n".join(bodies))
        bodies.clear()
        times.clear()
        return web.json_response(found)

    app = web.Application(client_max_size=2**28)
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/stats", stats)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


async def bare(base_url: str, bodies: Path, connections: int) -> None:
    """The shortest aiohttp program that sends the bodies."""
    import aiohttp

    slots = asyncio.Semaphore(connections)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(body: bytes) -> None:
            headers = {"Content-Type": "application/json"}
            async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as response:
                await response.json()
            slots.release()

        async with asyncio.TaskGroup() as group:
            for body in bodies.read_bytes().split(b"\n"):
                await slots.acquire()
                group.create_task(post(body))


def timed(command: list[str]) -> float:
    """Seconds of a whole process."""
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started


def index(data: Path) -> None:
    """Build the index and ask it for words of products."""
    from grounding.benchmarks.personalwab.loader import read_shop
    from grounding.benchmarks.personalwab.web import open_search

    before_mb, started = _peak_mb(), time.perf_counter()
    shop = read_shop(data)
    people = f"{len(shop.users):,} users, {len(shop.products):,} products, {len(shop.tasks):,} tasks"
    read_mb, read_s = _peak_mb(), time.perf_counter() - started
    print(f"read {people}: {read_s:.1f} s, {before_mb:.0f} MB before and at most {read_mb:.0f} MB then")
    started = time.perf_counter()
    search = open_search("bm25", shop.products)
    built_s = time.perf_counter() - started
    queries = [" ".join(task.instruction.split()[2:12]) for task in shop.tasks[:500]]
    search.search(queries[0])
    taken_ms = []
    for query in queries:
        started = time.perf_counter()
        search.search(query)
        taken_ms.append(1000 * (time.perf_counter() - started))
    taken_ms.sort()
    print(
        f"index of {len(shop.products):,} products: {built_s:.1f} s; {len(queries)} queries of 10 words: median "
        f"{taken_ms[len(taken_ms) // 2]:.2f} ms, 95th percentile {taken_ms[int(0.95 * len(taken_ms))]:.2f} ms; at most "
        f"{_peak_mb():.0f} MB"
    )


def _peak_mb(who: int = resource.RUSAGE_SELF) -> float:
    return resource.getrusage(who).ru_maxrss / 1024


def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=35_772)
    parser.add_argument("--tasks", type=int, default=2_174)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "grounding-shop-bench")
    parser.add_argument("--offline", action="store_true", help="leave the hosted agent out")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--bare", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.latency, given.serve))
    if given.bare:
        asyncio.run(bare(given.bare[0], Path(given.bare[1]), given.connections))
        return
    data = given.folder / f"shop-{given.products}-{given.tasks}"
    if not (data / "user_instructions.json").exists():
        make_shop(data, given.products, given.tasks)
    index(data)
    common = [sys.executable, "-m", "grounding.eval", "--dataset", "personalwab", "--data-dir", str(data), "--fresh"]
    common += ["--log-dir", str(given.folder / "results"), "--display", "none", "--no-report"]
    offline_s = timed([*common, "--agent", "rules"])
    peak_mb = _peak_mb(resource.RUSAGE_CHILDREN)
    print(f"rules over {given.tasks:,} tasks: {offline_s:.1f} s from start to exit, at most {peak_mb:.0f} MB")
    if not given.offline:
        _hosted(given, common)


def _hosted(given: argparse.Namespace, common: list[str]) -> None:
    import urllib.request

    card = given.folder / "fake.yaml"
    card.write_text(CARD.format(connections=given.connections), encoding="utf-8")
    bodies = given.folder / "bodies.jsonl"
    bodies.unlink(missing_ok=True)
    here = str(Path(__file__))
    server = subprocess.Popen(
        [sys.executable, here, "--serve", str(bodies), "--latency", str(given.latency)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(server.stdout.readline()) if server.stdout else 0
        base_url = f"http://127.0.0.1:{port}/v1"

        def requests_s() -> float:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as stats:
                return float(json.load(stats)["seconds"])

        ours = [
            *common,
            "--agent",
            "function-calling",
            "--memory",
            "last",
            "--model",
            str(card),
            "--base-url",
            base_url,
        ]
        whole_s = timed(ours)
        ours_s = requests_s()
        timed([sys.executable, here, "--bare", base_url, str(bodies), "--connections", str(given.connections)])
        bare_s = requests_s()
        timed(ours)
        ours_s = min(ours_s, requests_s())
    finally:
        server.terminate()
        server.wait()
    size_kb = bodies.stat().st_size / given.tasks / 1000
    floor_s = given.tasks * given.latency / given.connections
    print(
        f"hosted agent, {given.connections} connections, {given.tasks:,} requests of {size_kb:.0f} kB, latency "
        f"{given.latency} s (the server alone needs {floor_s:.1f} s): bare client {bare_s:.1f} s, grounding eval "
        f"{ours_s:.1f} s from the first request to the last reply, ratio {ours_s / bare_s:.2f}; {whole_s:.1f} s from "
        "start to exit with reading, index and scores"
    )


if __name__ == "__main__":
    main()
