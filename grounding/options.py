"""What a user asks of a run: one typed record, whatever the command line looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from grounding.records import Record

Display = Literal["rich", "plain", "none"]
ImageSend = Literal["base64", "file"]
Backend = Literal["server", "hf"]
Dtype = Literal["bfloat16", "float16", "float32"]
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
    base_url: tuple[str, ...] = ()
    replicas: int = 1
    server_command: str | None = None
    send: ImageSend | None = None
    backend: Backend | None = None
    model_path: str | None = None
    dtype: Dtype | None = None
    device: str | None = None
    batch_size: int | None = None
    planner_base_url: str | None = None
    temperature: float | None = None
    seed: int | None = None
    timeout: float | None = None
    max_retries: int = 5
    cost_limit: float | None = None
    no_probe: bool = False
    log_dir: Path = Path("results")
    fresh: bool = False
    display: Display | None = None
    command: str = ""
