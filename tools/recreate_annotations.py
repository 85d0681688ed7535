"""A scripted annotator draws a participant's boxes again, with mouse and keyboard alone, and they are compared.

    python tools/recreate_annotations.py datasets/sample-web/1 --out OUT

copies the folder to OUT/<participant> with every step still to do, opens the real program on a virtual screen
(Xvfb), draws every box and marks every step without a click (xdotool), scores the result with the oracle and compares
it with the original (``annotate agree``). Needs Xvfb, xdotool and python-xlib.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from annotating.recreate import copy_without_boxes, recreate
from annotating.stage import Stage, missing


def main() -> int:
    """Do it; exit code 1 where the oracle or the comparison finds a fault."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("participant", type=Path, help="a participant's folder in the release layout")
    parser.add_argument("--out", type=Path, required=True, help="a new folder for the copy and the run")
    given = parser.parse_args()
    if lack := missing():
        print(lack, file=sys.stderr)
        return 2
    copy = given.out / "data" / given.participant.resolve().name
    items = copy_without_boxes(given.participant, copy)
    with Stage() as stage:
        done = recreate(stage, copy, items)
    print(
        f"{done.steps} steps: {done.boxes} boxes drawn, {done.no_clicks} steps marked as no click, in "
        f"{done.seconds:.1f} s ({done.seconds / done.steps:.2f} s a step)",
        flush=True,
    )
    oracle = [
        *("-m", "grounding.eval", "--dataset", "realwebassist", "--data-dir", str(given.out / "data")),
        *("--grounder", "oracle", "--log-dir", str(given.out / "results"), "--display", "none"),
    ]
    scored = subprocess.run([sys.executable, *oracle], check=False)
    agreed = subprocess.run([sys.executable, "-m", "annotate", "agree", str(given.participant), str(copy)], check=False)
    return 1 if scored.returncode or agreed.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
