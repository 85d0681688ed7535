"""The files of reasoning that the authors of RealWebAssist released: what is said where one of them has gaps."""

from __future__ import annotations

from pathlib import Path

import pytest
import shell
from conftest import TinyDataset
from fakes.make import REPOSITORY, screenshot

from grounding.planners.base import SavedPlans, read_plans
from grounding.records import Box, Region, Session, Step

RELEASED = REPOSITORY.parent / "shared" / "data" / "realwebassist"
GPT, O1, CLAUDE = (RELEASED / f"{name}_10.json" for name in ("gpt_reasoning", "gpt_reasoning_o1", "claude_reasoning"))

pytestmark = pytest.mark.skipif(not RELEASED.is_dir(), reason="the released files are not beside this checkout")

MISSING = 152  # Steps of participant 7 that the released file of Claude's plans lacks.


def sessions() -> tuple[Session, ...]:
    """The evaluated steps of the benchmark: its paper counts 1,714, and so many entries has the file of gpt-4o."""
    gold = Region(boxes=(Box(left_px=1, top_px=1, right_px=2, bottom_px=2),))
    of: dict[str, list[str]] = {}
    for step_id in read_plans(GPT):
        of.setdefault(step_id.partition("/")[0], []).append(step_id)

    def step(step_id: str, participant: str) -> Step:
        return Step(
            id=step_id,
            participant=participant,
            task="t",
            instruction_index=0,
            instruction="",
            screenshot=screenshot(),
            region=gold,
        )

    return tuple(
        Session(participant=name, steps=tuple(step(one, name) for one in ids)) for name, ids in sorted(of.items())
    )


def test_what_claudes_file_lacks_is_said_by_name() -> None:
    said = SavedPlans(CLAUDE).gaps(sessions())
    assert said.startswith(f"{CLAUDE.name} has no plan for {MISSING} of the 1,714 steps")
    assert said.endswith("participant 7: 66-299")
    assert SavedPlans(GPT).gaps(sessions()) == SavedPlans(O1).gaps(sessions()) == ""


def test_a_run_with_claudes_file_counts_them_and_says_so(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    planned = {int(one.partition("/")[2]) - 1 for one in read_plans(GPT) if one.startswith("7/")}
    steps = max(planned) + 1
    data_dir = tiny_dataset(participants=["7"], steps=steps, unscored=set(range(steps)) - planned)
    args = ["--dataset", "realwebassist", "--data-dir", data_dir, "--log-dir", tmp_path / "r", "--grounder", "center"]
    done = shell.call(*args, "--plans", CLAUDE)
    assert done.returncode == 0
    assert f"{MISSING} of the 194 steps" in done.stderr
    assert "participant 7: 66-299" in done.stderr
    assert f"missing {MISSING}" in done.stdout
    assert f"participant 7: {MISSING}" in done.stdout.replace("\n", " ")
    counts = shell.summary(shell.run_folder(tmp_path / "r"))["counts"]
    assert (counts["steps"], counts["missing"], counts["hit"] + counts["miss"]) == (194, MISSING, 42)
