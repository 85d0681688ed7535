"""The folder of a run over a shop: the same files as every run's, with tasks, episodes and verdicts.

``run.json`` says what was asked, ``steps.jsonl`` holds the tasks, ``episodes.jsonl`` what happened, whole;
``verdicts.jsonl``, ``summary.json`` and ``likeness.jsonl`` (the cosine of each pair of reviews) are derived from those
and can be deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from grounding.describedfolder import DescribedFolder, benchmark_of
from grounding.journal import Journal
from grounding.records import Record
from grounding.webagents.personalwab.options import AgentName, Preset, SearchName
from grounding.webagents.personalwab.records import Episode, Product, Profile, ShopTask, Split, Track
from grounding.webagents.personalwab.verdicts import ShopVerdict, Which

BENCHMARK: Literal["personalwab"] = "personalwab"


class ShopAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an episode; its hash is the run's id.

    ``agent_identity`` and ``user_identity`` are canonical texts of model, prompts, memory and parameters,
    ``functions_identity`` of the web.
    """

    dataset: str
    fingerprint: str
    select: str
    split: Split
    agent: AgentName
    agent_identity: str
    model: str
    base_url: str
    memory: str
    memory_length: int
    memory_tokens: int | None
    user: str
    user_identity: str
    functions_identity: str
    search: SearchName
    track: Track
    max_steps: int
    preset: Preset
    seed: int
    version: str


class ShopRunInfo(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``. A run that died is the one whose status is still ``started``.

    ``attempt`` is which attempt counts, None for the reading's own choice; it changes no episode. ``products`` is how
    many the search and the recommender choose from.
    """

    schema: Literal[1] = 1
    benchmark: Literal["personalwab"] = BENCHMARK
    run_id: str
    status: Literal["started", "complete", "partial"]
    signature: str
    asked: ShopAsked
    data_dir: str
    command: str
    versions: dict[str, str]
    started_at: str
    wall_s: float = 0.0
    stopped: str = ""
    attempt: Which | None = None
    prompt: str = ""
    products: int = 0
    recommended: int = 0


class TaskLine(Record, frozen=True, kw_only=True):
    """A line of ``steps.jsonl``: a task, who it is of, and the product that was meant."""

    task: ShopTask
    earlier_behaviours: int
    profile: Profile | None = None
    product: Product | None = None

    @property
    def step_id(self) -> str:
        """The task's id."""
        return self.task.id


class LikenessLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A line of ``likeness.jsonl``: two reviews by the hashes of their texts, and the cosine of their meanings."""

    own: str
    written: str
    cosine: float


class ShopFolder(DescribedFolder[ShopRunInfo]):
    """The folder of one run over a shop."""

    info_type = ShopRunInfo
    kind = "a run over a shop"

    def write_tasks(self, lines: Iterable[TaskLine]) -> None:
        """Write the tasks of the run."""
        self.replace_lines("steps.jsonl", lines)

    def read_tasks(self) -> tuple[TaskLine, ...]:
        """The tasks of the run.

        Raises:
            UserError: the file is missing or damaged.
        """
        return self.read_lines("steps.jsonl", TaskLine, what="a task of a shop")

    def episodes(self, *, read_only: bool = False) -> Journal[Episode]:
        """Open ``episodes.jsonl``."""
        return Journal(self.path / "episodes.jsonl", Episode, read_only=read_only)

    def write_verdicts(self, verdicts: Iterable[ShopVerdict]) -> None:
        """Replace ``verdicts.jsonl``."""
        self.replace_lines("verdicts.jsonl", verdicts)

    def read_likeness(self) -> dict[tuple[str, str], float]:
        """The cosines that were computed before, by the hashes of the texts; none where the file is missing.

        Raises:
            UserError: the file is damaged.
        """
        if not (self.path / "likeness.jsonl").exists():
            return {}
        lines = self.read_lines("likeness.jsonl", LikenessLine, what="the likeness of two reviews")
        return {(line.own, line.written): line.cosine for line in lines}

    def write_likeness(self, known: Mapping[tuple[str, str], float]) -> None:
        """Replace ``likeness.jsonl``."""
        lines = (LikenessLine(own=own, written=written, cosine=cosine) for (own, written), cosine in known.items())
        self.replace_lines("likeness.jsonl", lines)


def text_hash(text: str) -> str:
    """What stands for a review in ``likeness.jsonl``."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_shop_run(path: Path) -> bool:
    """Whether a folder is that of a run over a shop; False also where it is no run folder at all."""
    return benchmark_of(path) == BENCHMARK
