"""The folder of a run that curates products: what was asked, each stage's answers, the evidence, and what follows.

``run.json`` says what was asked, ``steps.jsonl`` holds the tasks with their checklists; ``curations.jsonl``,
``extractions.jsonl`` and ``judgements.jsonl`` hold what each stage gave, ``evidence/`` the pages that they rest on.
``verdicts.jsonl`` and ``summary.json`` are derived from those and can be deleted.

Judges take no part in the run's id: another judge over the same products is another look at the same run, and the
judgements of all stay side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from grounding.benchmarks.agenticshop.records import Curation, CurationTask, Extraction, Judgement
from grounding.options import ScoringName
from grounding.records import Record
from grounding.run.journal import Journal
from grounding.run.lock import AboutRun, DescribedFolder, benchmark_of

BENCHMARK: Literal["agenticshop"] = "agenticshop"
EVIDENCE = "evidence"


class CurationAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change a curation or an extraction; its hash is the run's id.

    Identities are canonical texts of model, prompts, rules and parameters. ``web`` is "own" where a data set's own
    shops were visited, else "open".
    """

    dataset: str
    fingerprint: str
    select: str
    agent: str
    agent_identity: str
    model: str
    base_url: str
    extractor: str
    extractor_identity: str
    recorded: str
    web: Literal["own", "open"]
    seed: int
    version: str


class JudgeMade(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A judge of the run and what it is."""

    name: str
    identity: str


class CurationRunInfo(AboutRun, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``. ``judges`` are those of the last command; figures are theirs.

    ``preset`` is the reading that the table shows.
    """

    benchmark: Literal["agenticshop"] = BENCHMARK
    asked: CurationAsked
    judges: tuple[JudgeMade, ...]
    preset: ScoringName


class CurationTaskLine(Record, frozen=True, kw_only=True):
    """A line of ``steps.jsonl``."""

    task: CurationTask


class CurationFolder(DescribedFolder[CurationRunInfo]):
    """The folder of one run that curates products."""

    info_type = CurationRunInfo
    kind = "a run that curates products"

    @property
    def evidence(self) -> Path:
        """Where pages and pictures are kept."""
        return self.path / EVIDENCE

    def write_tasks(self, tasks: Iterable[CurationTask]) -> None:
        """Write the tasks of the run."""
        self.replace_lines("steps.jsonl", (CurationTaskLine(task=task) for task in tasks))

    def read_tasks(self) -> tuple[CurationTask, ...]:
        """The tasks of the run; raises a UserError where the file is missing or damaged."""
        lines = self.read_lines("steps.jsonl", CurationTaskLine, what="a task of a run that curates products")
        return tuple(line.task for line in lines)

    def curations(self, *, read_only: bool = False) -> Journal[Curation]:
        """Open ``curations.jsonl``."""
        return Journal(self.path / "curations.jsonl", Curation, read_only=read_only)

    def extractions(self, *, read_only: bool = False) -> Journal[Extraction]:
        """Open ``extractions.jsonl``."""
        return Journal(self.path / "extractions.jsonl", Extraction, read_only=read_only)

    def judgements(self, *, read_only: bool = False) -> Journal[Judgement]:
        """Open ``judgements.jsonl``."""
        return Journal(self.path / "judgements.jsonl", Judgement, read_only=read_only)


def is_curation_run(path: Path) -> bool:
    """Whether a folder is that of a run that curates products; False also where it is no run folder at all."""
    return benchmark_of(path) == BENCHMARK
