r"""Requests a second of `grounding eval` beside those of vLLM's own load generator, on one server in the same minutes.

    python tools/bench/vllm_compare.py DATA --base-url http://127.0.0.1:8000/v1 --bench-python DIR/bin/python \
        --tokenizer MODEL [--grounder gta1] [--limit 32] [--connections 8] [--repeats 3]

`vllm bench serve` gets the requests as a custom_image data set: the same picture bytes as data URLs, the same words,
parameters and order, as many open at once. Three things it can't do as we do: it has one message of one role, so the
system text goes first in the user's message; it always streams; it says `max_completion_tokens` for `max_tokens`.
Before each measurement the server's caches are emptied where it offers that (VLLM_SERVER_DEV_MODE=1); else one pass of
each kind goes ahead uncounted and all measure with full caches.

Compared is the time in which requests were open: run.json's wall_s here, the benchmark's duration there. The start of
either program is left out, since theirs imports torch.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

TARGET = 0.95


def requests(data: Path, grounder: str, limit: int) -> list[dict[str, Any]]:
    """The bodies that `grounding eval` sends, in its order."""
    from grounding.cards import GrounderCard, find_card
    from grounding.cards.places import models_dir
    from grounding.data import load_dataset
    from grounding.data.images import prepare_picture
    from grounding.grounders import BUILTIN
    from grounding.llm.chat import render_messages
    from grounding.llm.wire import encode_request
    from grounding.records import Query
    from grounding.run.steps import select_steps, step_items

    card = find_card(grounder, models_dir() / "grounders", GrounderCard, builtin=tuple(BUILTIN), kind="grounder")
    dataset = load_dataset("realwebassist", data)
    selected = select_steps(dataset.sessions, participants=(), sample_ids=(), limit=limit).step_ids
    bodies = []
    for item in step_items(dataset.sessions, selected, 0):
        step = item.step
        query = Query(step_id=step.id, key="", screenshot=step.screenshot, instruction=step.instruction, history=())
        messages = render_messages(card, query, prepare_picture(step.screenshot, card.image.by_the_server))
        bodies.append(json.loads(encode_request(card.model, messages, card.parameters)))
    return bodies


def as_custom_image(body: dict[str, Any]) -> dict[str, Any]:
    """A request as a line of their data set: the parts of all messages in one."""
    parts: list[dict[str, Any]] = []
    for message in body["messages"]:
        content = message["content"]
        parts += [{"type": "text", "text": content + "\n"}] if isinstance(content, str) else content
    return {"content": parts}


def empty_caches(base_url: str) -> bool:
    """Empty the server's caches; False where it doesn't offer that."""
    for name in ("reset_prefix_cache", "reset_mm_cache", "reset_encoder_cache"):
        request = urllib.request.Request(f"{base_url.removesuffix('/v1')}/{name}", method="POST")
        try:
            with urllib.request.urlopen(request):
                pass
        except urllib.error.HTTPError:
            return False
    return True


def theirs(given: argparse.Namespace, bodies: list[dict[str, Any]], folder: Path) -> float:
    """Requests a second of `vllm bench serve`."""
    data = folder / "requests.jsonl"
    data.write_text("".join(json.dumps(as_custom_image(body)) + "\n" for body in bodies))
    extra = {name: value for name, value in bodies[0].items() if name not in ("messages", "model", "max_tokens")}
    command = [given.bench_python, "-c", _THEIR_MAIN]
    command += ["--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--disable-tqdm"]
    command += ["--base-url", given.base_url.removesuffix("/v1"), "--model", bodies[0]["model"]]
    command += ["--tokenizer", given.tokenizer, "--dataset-name", "custom_image", "--dataset-path", str(data)]
    command += ["--disable-shuffle", "--no-oversample", "--num-prompts", str(len(bodies))]
    command += [
        "--custom-output-len",
        str(bodies[0].get("max_tokens", 32)),
        "--max-concurrency",
        str(given.connections),
    ]
    command += ["--extra-body", json.dumps(extra), "--save-result", "--result-filename", str(folder / "theirs.json")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(
            f"vllm bench serve ended with {ended.returncode}:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}"
        )
    result = json.loads((folder / "theirs.json").read_text())
    if result["completed"] != len(bodies):
        raise SystemExit(f"vllm bench serve completed {result['completed']} of {len(bodies)} requests")
    return len(bodies) / float(result["duration"])


# The sub-command without the command: `vllm` itself does not start from every distribution of the package.
_THEIR_MAIN = """
import asyncio
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.benchmarks.serve import add_cli_args, main_async
parser = FlexibleArgumentParser()
add_cli_args(parser)
asyncio.run(main_async(parser.parse_args()))
"""


def ours(given: argparse.Namespace, count: int, folder: Path) -> float:
    """Requests a second of `grounding eval`."""
    command = [sys.executable, "-m", "grounding.eval", "--dataset", "realwebassist", "--data-dir", str(given.data)]
    command += ["--grounder", given.grounder, "--base-url", given.base_url, "--log-dir", str(folder / "ours")]
    command += ["--limit", str(count), "--max-connections", str(given.connections), "--no-probe", "--fresh", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"grounding eval ended with {ended.returncode}:\n{ended.stderr[-3000:]}")
    (run,) = (path for path in (folder / "ours").iterdir() if not path.suffix.startswith(".old"))
    return count / float(json.loads((run / "run.json").read_text())["wall_s"])


def main() -> None:
    """Measure by turns and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--bench-python", required=True, help="the interpreter of an environment with vLLM")
    parser.add_argument("--tokenizer", required=True, help="the checkpoint that is served, for their token counts")
    parser.add_argument("--grounder", default="gta1")
    parser.add_argument("--limit", type=int, default=32)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    given.data = given.data.resolve()
    bodies = requests(given.data, given.grounder, given.limit)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cold = empty_caches(given.base_url)
        if not cold:
            theirs(given, bodies, folder)
            ours(given, len(bodies), folder)
        print(f"{len(bodies)} requests, {given.connections} open at once, caches {'empty' if cold else 'full'}")
        print(f"{'':6}{'vllm bench':>12}{'grounding':>12}{'ratio':>8}   (requests a second)")
        pairs = []
        for number in range(given.repeats):
            rates: dict[str, float] = {}
            for turn in ("theirs", "ours") if number % 2 == 0 else ("ours", "theirs"):
                empty_caches(given.base_url)
                rates[turn] = theirs(given, bodies, folder) if turn == "theirs" else ours(given, len(bodies), folder)
            their_rate, our_rate = rates["theirs"], rates["ours"]
            pairs.append((their_rate, our_rate))
            print(f"{number + 1:<6}{their_rate:12.2f}{our_rate:12.2f}{our_rate / their_rate:8.2f}", flush=True)
    their_best, our_best = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    ratio = our_best / their_best
    verdict = "reached" if ratio >= TARGET else "missed"
    print(f"{'best':6}{their_best:12.2f}{our_best:12.2f}{ratio:8.2f}   target {TARGET}: {verdict}")


if __name__ == "__main__":
    main()
