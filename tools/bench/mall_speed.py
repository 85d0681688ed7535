"""Measures a run over a data set's own shops: documents loaded, waiting, and processor time, for each task.

    python tools/bench/mall_speed.py                    # sample-mall with site-search, from an empty folder
    python tools/bench/mall_speed.py --limit 6 --pages 4

The run is a process of its own. Documents are those that the shops served; waiting is what pages were waited for, over
all tasks at once; processor time is summed over the run's whole tree of processes, by what they are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


def run_counted(arguments: list[str], told: Path) -> None:
    """Run ``grounding eval`` in this process and write down what was loaded and waited for."""
    from grounding.benchmarks.agenticshop.mall.pages import ShopPages
    from grounding.benchmarks.agenticshop.web.render import BrowserTab

    counts: Counter[str] = Counter()
    waits: list[float] = []
    reply, still = ShopPages.reply, BrowserTab.still

    def counted(self: Any, method: str, path: str, query: Any, form: Any) -> Any:
        answer = reply(self, method, path, query, form)
        counts["documents" if answer.content_type == "text/html" else "other answers"] += 1
        told.write_text(json.dumps({**counts, "waited": sum(waits), "waits": len(waits)}))
        return answer

    async def waited(self: Any, at_most_s: float) -> bool:
        began = time.monotonic()
        try:
            return await still(self, at_most_s)
        finally:
            waits.append(time.monotonic() - began)

    ShopPages.reply, BrowserTab.still = counted, waited  # type: ignore[method-assign]
    sys.argv = ["grounding", "eval", *arguments]
    from grounding.cli import main

    main()


def tree_cpu(root: int, seen: dict[int, tuple[str, float]], ours: set[int]) -> None:
    """Take up the processor seconds of a process and all below it; what has ended keeps its last figure."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                words = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ").split()
            except OSError:
                continue
            below.setdefault(int(fields[1]), []).append(int(entry.name))
            kind = next((word.removeprefix("--type=") for word in words if word.startswith("--type=")), "")
            program = Path(words[0]).name if words else ""
            name = f"chromium {kind or 'browser'}" if "chrom" in program else program
            cpu = (int(fields[11]) + int(fields[12])) / TICKS
            # One that is about to end has no name any more.
            seen[int(entry.name)] = (name or seen.get(int(entry.name), ("", 0.0))[0], cpu)
    # One whose parent has ended is below another process than it was: what was ours once stays so.
    waiting = [root, *ours]
    while waiting:
        one = waiting.pop()
        ours.add(one)
        waiting += [pid for pid in below.get(one, []) if pid not in ours]
    for pid in seen.keys() - ours:
        del seen[pid]


def main() -> None:
    """Run and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counted", type=Path, help=argparse.SUPPRESS)
    options, more = parser.parse_known_args()
    if options.counted is not None:
        run_counted(more, options.counted)
        return
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        command = [sys.executable, __file__, "--counted", str(told)]
        asked = ["--dataset", "sample-mall", "--log-dir", folder, "--display", "none", "--no-report", *more]
        began, seen, ours = time.monotonic(), dict[int, tuple[str, float]](), set[int]()
        process = subprocess.Popen([*command, *asked], stdout=subprocess.DEVNULL)
        while process.poll() is None:
            tree_cpu(process.pid, seen, ours)
            time.sleep(0.25)
        wall = time.monotonic() - began
        found = json.loads(told.read_text())
        (journal,) = Path(folder).glob("*/curations.jsonl")
        tasks = len(journal.read_text().splitlines())
        pages = len(list(journal.parent.glob("evidence/pages/*/*.json")))
    cpu: Counter[str] = Counter()
    for name, seconds in seen.values():
        cpu[name] += seconds
    print(f"tasks {tasks} · wall {wall:.1f} s · {wall / tasks:.2f} s a task")
    print(
        f"documents {found['documents']} ({found['documents'] / tasks:.1f} a task), {pages} of them rendered and kept"
    )
    print(f"waited {found['waited']:.1f} s in {found['waits']} waits ({found['waited'] / tasks:.1f} s a task)")
    print(f"processor {cpu.total():.1f} s ({cpu.total() / tasks:.2f} s a task): ", end="")
    print(", ".join(f"{name} {seconds:.1f}" for name, seconds in cpu.most_common()))


if __name__ == "__main__":
    main()
