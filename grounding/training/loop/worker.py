"""One of several processes that train a stage: ``python -m grounding.training.loop.worker STAGE_DIR``.

Started by ``accelerate launch``; see ``launching``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.training.loop.callback import parent_is_gone
from grounding.training.loop.failures import failures_of
from grounding.training.loop.here import train_here
from grounding.training.loop.launching import STOP_FILE, failure_file
from grounding.training.loop.records import Builder
from grounding.training.loop.stagefile import read_stage
from grounding.training.loop.stopping import StopSwitch


def main(arguments: list[str] | None = None) -> int:
    """Train; returns 0, or 2 where an error of the user's was written beside the stage."""
    parser = argparse.ArgumentParser(prog="grounding.training.loop.worker")
    parser.add_argument("stage", type=Path)
    parser.add_argument("--build", required=True, help="module:function that makes the trainer")
    parser.add_argument("--parent", type=int, required=True, help="process that is obeyed; without it, save and stop")
    given = parser.parse_args(arguments)
    plan = read_stage(given.stage).plan
    switch = StopSwitch()
    # Ctrl-C reaches every process of the terminal; the one that commands says what is to be done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def stop() -> bool:
        return switch.asked or (given.stage / STOP_FILE).exists() or parent_is_gone(given.parent)

    try:
        with switch.watched(), switch.deferring(), failures_of(plan.name, given.stage, doing="it was set up"):
            train_here(plan, load_builder(given.build), stop=stop, progress=None)
    except UserError as error:
        failure = failure_file(given.stage, int(os.environ.get("RANK", "0")))
        failure.write_bytes(msgspec.json.encode(str(error)))
        return 2
    return 0


def load_builder(name: str) -> Builder:
    """The function that ``launching.builder_name`` named."""
    module, _, function = name.partition(":")
    found: Builder = getattr(importlib.import_module(module), function)
    return found


if __name__ == "__main__":
    sys.exit(main())
