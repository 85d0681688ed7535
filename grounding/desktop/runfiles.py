"""A desktop run's folder: the same files as every run's, with steps, answers and verdicts of a desktop.

``run.json`` says what was asked, ``steps.jsonl`` holds the steps with the recorded actions and what the agent was told
that it remembers, ``predictions.jsonl`` the answers as they came; ``verdicts.jsonl``, ``summary.json`` and
``time.json`` are derived from those and can be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from grounding.card_schema import Family
from grounding.describedfolder import DescribedFolder, benchmark_of
from grounding.desktop_records import DesktopPrediction, DesktopStep, DesktopTask, DesktopTaskKind
from grounding.journal import Journal
from grounding.options import MemoryKind, PromptStyle
from grounding.records import Record
from grounding.scoring.desktop import TOLERANCE_PX, DesktopVerdict

BENCHMARK: Literal["desktop"] = "desktop"


class DesktopAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an answer; its hash is the run's id.

    ``agent_identity`` is canonical text of model, prompt, image rule, parameters and attempts. ``seed`` decides what
    is remembered (``other-step``, ``shuffled``) and the intervals.
    """

    dataset: str
    fingerprint: str
    select: str
    agent: str
    agent_identity: str
    base_url: str
    memory: MemoryKind
    style: PromptStyle | None
    attempts: int
    seed: int
    version: str


class DesktopRunInfo(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``. A run that died is the one whose status is still ``started``.

    ``tolerance_px`` is what the verdicts in the folder were made with; it changes no answer. ``prompt`` and ``image``
    are what the signature shows of them.
    """

    schema: Literal[1] = 1
    benchmark: Literal["desktop"] = BENCHMARK
    run_id: str
    status: Literal["started", "complete", "partial"]
    signature: str
    asked: DesktopAsked
    data_dir: str
    command: str
    versions: dict[str, str]
    started_at: str
    wall_s: float = 0.0
    stopped: str = ""
    family: Family | None = None
    tolerance_px: float = TOLERANCE_PX
    prompt: str = "none"
    image: str = "original"


class StepLine(Record, frozen=True, kw_only=True):
    """A line of ``steps.jsonl``: a step, what was remembered at it, and the task that it belongs to."""

    task: str
    kind: DesktopTaskKind | None = None
    category: str = ""
    description: str = ""
    memory: str = ""
    step: DesktopStep


class DesktopFolder(DescribedFolder[DesktopRunInfo]):
    """The folder of one desktop run."""

    info_type = DesktopRunInfo
    kind = "a desktop run"

    def write_steps(self, tasks: Sequence[DesktopTask], memory_of: Mapping[str, str]) -> None:
        """Write the steps of the run."""
        self.replace_lines(
            "steps.jsonl",
            (
                StepLine(
                    task=task.id,
                    kind=task.kind,
                    category=task.category,
                    description=task.description,
                    memory=memory_of[step.id],
                    step=step,
                )
                for task in tasks
                for step in task.steps
            ),
        )

    def read_tasks(self) -> tuple[DesktopTask, ...]:
        """The steps of the run, by task.

        Raises:
            UserError: the file is missing or damaged.
        """
        by_task: dict[str, list[StepLine]] = {}
        for line in self.read_lines("steps.jsonl", StepLine, what="a step of a desktop task"):
            by_task.setdefault(line.task, []).append(line)
        return tuple(
            DesktopTask(
                id=name,
                kind=found[0].kind,
                category=found[0].category,
                description=found[0].description,
                steps=tuple(line.step for line in found),
            )
            for name, found in by_task.items()
        )

    def predictions(self, *, read_only: bool = False) -> Journal[DesktopPrediction]:
        """Open ``predictions.jsonl``."""
        return Journal(self.path / "predictions.jsonl", DesktopPrediction, read_only=read_only)

    def write_verdicts(self, verdicts: Iterable[DesktopVerdict]) -> None:
        """Replace ``verdicts.jsonl``."""
        self.replace_lines("verdicts.jsonl", verdicts)


def is_desktop_run(path: Path) -> bool:
    """Whether a folder is that of a desktop run; False also where it is no run folder at all."""
    return benchmark_of(path) == BENCHMARK
