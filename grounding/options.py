"""What a user asks of a run: one typed record, whatever the command line looks like."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from grounding.data.history import HistoryScope
from grounding.records import Record

Display = Literal["rich", "plain", "none"]
ImageSend = Literal["base64", "file"]
Backend = Literal["server", "hf"]
Dtype = Literal["bfloat16", "float16", "float32"]
ScoringName = Literal["paper", "official"]
ClusterChoice = Literal["task", "participant"]
DesktopScoringName = str  # what each benchmark knows says its `takes.choices`
MemoryKind = Literal["thought", "none", "other-step", "shuffled"]
ShopMemory = Literal["none", "random", "last", "relevant", "task-specific"]
ShopTrack = Literal["single", "multi"]
ShopSearch = Literal["bm25", "dense"]
ShopKind = Literal["search", "recommend", "review"]
PromptStyle = Literal["percu", "native"]
TaskKind = Literal["preference", "routine"]
ExecutorName = Literal["local", "ray"]


class RunOptions(Record, frozen=True, kw_only=True):
    """What every run is asked for, whatever its benchmark; see ``grounding eval --help``."""

    data_dir: Path | None = None
    limit: int | None = None
    sample_id: tuple[str, ...] = ()
    participant: tuple[str, ...] = ()
    base_url: tuple[str, ...] = ()
    max_connections: int | None = None
    temperature: float | None = None
    seed: int | None = None
    timeout: float | None = None
    max_retries: int = 5
    server_wait: float = 600.0
    cost_limit: float | None = None
    executor: ExecutorName = "local"
    workers: int | None = None
    ray_address: str | None = None
    log_dir: Path = Path("results")
    fresh: bool = False
    no_report: bool = False
    dry_run: bool = False
    display: Display | None = None
    command: str = ""


class EvalOptions(RunOptions, frozen=True, kw_only=True):
    """The options of ``grounding eval``; see its ``--help``."""

    dataset: str = "sample-web"
    questions: str | None = None
    transcript: str | None = None
    noise_dir: Path | None = None
    asr_base_url: str | None = None
    history_file: str | None = None
    planner: str = "none"
    planner_prompt: str | None = None
    planner_model: str | None = None
    plan_ahead: bool = False
    plan_store: Path | None = None
    no_plan_store: bool = False
    grounder: str = "ocr"
    zoom: str = "none"
    plans: Path | None = None
    predictions: Path | None = None
    history: int | None = None
    history_scope: HistoryScope = "session"
    replicas: int = 1
    server_command: str | None = None
    send: ImageSend | None = None
    backend: Backend | None = None
    model_path: str | None = None
    dtype: Dtype | None = None
    device: str | None = None
    batch_size: int | None = None
    planner_base_url: str | None = None
    no_probe: bool = False
    memory: MemoryKind = "thought"
    style: PromptStyle = "percu"
    attempts: int | None = None
    kind: TaskKind | None = None
    tolerance: float | None = None
    clusters: ClusterChoice = "task"
    epoch: int = 1


def options_from(given: Mapping[str, Any], *, command: str) -> EvalOptions:
    """The options of one run, from arguments of ``grounding eval`` by their names; what is no option is left alone."""
    named = {name: value for name, value in given.items() if name in EvalOptions.__struct_fields__}
    if named.get("grounder") is None:
        named["grounder"] = "ocr" if named.get("predictions") is None else "replay"
    if "/" in named.get("dataset", ""):
        from grounding.data.registry import on_the_hub

        named["dataset"], named["data_dir"] = on_the_hub(named["dataset"], named.get("data_dir"))
    return EvalOptions(**{**named, "command": command})
