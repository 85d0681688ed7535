"""What a user asks of a run: one typed record, whatever the command line looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from grounding.records import Record

Display = Literal["rich", "plain", "none"]
ScoringName = Literal["paper", "official"]


class EvalOptions(Record, frozen=True, kw_only=True):
    """The options of ``grounding eval``; see its ``--help``."""

    dataset: str = "sample-web"
    data_dir: Path | None = None
    questions: str | None = None
    history_file: str | None = None
    planner: str = "none"
    grounder: str = "ocr"
    plans: Path | None = None
    predictions: Path | None = None
    history: int | None = None
    limit: int | None = None
    sample_id: tuple[str, ...] = ()
    participant: tuple[str, ...] = ()
    max_connections: int | None = None
    base_url: str | None = None
    planner_base_url: str | None = None
    temperature: float | None = None
    seed: int | None = None
    timeout: float | None = None
    max_retries: int = 5
    cost_limit: float | None = None
    log_dir: Path = Path("results")
    fresh: bool = False
    display: Display | None = None
    command: str = ""
