"""Feed the action grammar mutilated replies and stop at the first one that it does not take well.

    python tools/fuzz_actions.py 1000000 --seed 1

Every text must be read without an exception, and what is read must print and read back to the same.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grounding.actions.kinds import Unparsed, print_action
from grounding.actions.parsing import parse_action, parse_reply
from tests.actions.mutate import mutated
from tests.actions.spellings import AROUND, DIALECTS, NOTHING, PERCU


def main() -> None:
    """Run, and print how many texts were read as what."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="how many texts")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    seeds = [reply for reply, _ in PERCU + AROUND + DIALECTS + NOTHING]
    kinds: Counter[str] = Counter()
    slowest, began = (0.0, ""), time.perf_counter()
    text = ""
    with contextlib.ExitStack() as stopped:
        stopped.callback(lambda: print(f"stopped at the text {text!r}", file=sys.stderr))
        for _ in range(options.count):
            text = mutated(generator, seeds)
            for parse in (parse_action, parse_reply):
                started = time.perf_counter()
                found = parse(text)
                slowest = max(slowest, (time.perf_counter() - started, text))
                if isinstance(found, Unparsed):
                    continue
                spaces = {point.space for point in found.points} or {"original_px"}
                if parse(print_action(found), space=spaces.pop()) != found:
                    sys.exit(f"not the same after printing: {found!r} -> {print_action(found)!r}")
            kinds["unparsed" if isinstance(found, Unparsed) else found.kind] += 1
        stopped.pop_all()
    print(f"{options.count:,} texts in {time.perf_counter() - began:.0f} s, read as: {dict(kinds.most_common())}")
    print(f"slowest: {1000 * slowest[0]:.1f} ms for {slowest[1]!r}")


if __name__ == "__main__":
    main()
