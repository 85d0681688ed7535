"""What a run of training keeps: the folder of the run, its stages, and what each of them recorded."""

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import msgspec

from grounding import __version__
from grounding.atomic import atomic_write
from grounding.cards import GrounderCard
from grounding.errors import UserError, install
from grounding.records import Record
from grounding.run.folder import library_versions, run_id, utc_now
from grounding.run.lock import AboutRun, DescribedFolder, benchmark_of
from grounding.training.options import TrainingOptions
from grounding.training.recipes import GrounderRecipe, GrpoRule, Method, Optimisation, PumaRecipe, Settings
from grounding.training.trl_private import TRL

CHECKPOINTS, OUTPUT, TENSORBOARD = "checkpoints", "output", "tensorboard"
STAGE, EXAMPLES, HELD_OUT, RESULT, LOG = "stage.json", "examples.jsonl", "held_out.jsonl", "result.json", "log.txt"
METRICS = "metrics.jsonl"  # The folders and files of a stage.
Metrics = dict[str, Any]
"""A line of ``metrics.jsonl``: ``step`` of ``steps``, ``kind`` (``train``, or ``held_out`` for examples that are never
trained on), ``seconds`` of training so far, and every figure of the trainer by the trainer's name for it."""

T = TypeVar("T")


class TrainStage(Settings, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``stage.json``: all that decides how a stage trains, beside its examples.

    ``model`` is the folder of the checkpoint that is tuned, ``adapter`` that of an adapter to go on from ("" for a
    fresh one). With a ``card`` a grounder is trained on ``GrounderExample``, by ``grpo`` where that is there; without
    one a language model on ``TextExample``, prompt and text cut after ``max_tokens`` (``beta`` is DPO's). ``vision``
    frees the vision tower where weights are tuned whole. ``device``: None takes an accelerator where there is one.
    Where it says ``processes`` or names an ``accelerate_config`` (absolute), ``accelerate launch`` starts it.
    """

    name: str
    method: Method
    model: str
    optimisation: Optimisation
    adapter: str = ""
    vision: bool = False
    seed: int = 0
    card: GrounderCard | None = None
    grpo: GrpoRule | None = None
    max_tokens: int | None = None
    beta: float | None = None
    device: Literal["cpu"] | None = None
    processes: int | None = None
    accelerate_config: str | None = None


def common(recipe: Settings, options: TrainingOptions) -> dict[str, Any]:
    config = options.accelerate_config
    return {
        **{name: getattr(recipe, name) for name in Settings.__struct_fields__},
        "seed": options.seed,
        "device": options.device,
        "processes": options.processes,
        "accelerate_config": None if config is None else str(config.resolve()),
    }


class TextExample(Record, frozen=True, kw_only=True):
    """One line of a language model's ``examples.jsonl``: what it is to write (of DPO: rather than ``rejected``).
    ``task`` is the id of the task that it is made of.
    """

    prompt: str
    chosen: str
    rejected: str = ""
    task: str = ""


class StageResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What came of a stage. ``partial``: broken off by the user; the same call goes on with it.

    ``step`` of ``steps`` optimiser steps are done, in ``wall_s`` seconds over all attempts (those that were lost with
    a kill are not counted). ``peak_memory_bytes``: the most that was allocated on one accelerator, or on the CPU the
    peak size of the process; of this attempt.
    """

    status: Literal["partial", "complete"]
    step: int
    steps: int
    wall_s: float
    stopped: str = ""
    processes: int = 1
    device: str = "cpu"
    peak_memory_bytes: int = 0


class TrainingAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change what is trained; its hash is the run's id.

    ``card`` is the grounder's card or the base model's name; ``identity`` the canonical text of card, prompts and
    base weights, ``recipe`` that of the whole recipe with its overrides. ``split`` says in words what is held out,
    ``select`` which part of the data is used at all. ``devices`` are here since their number changes the sums.
    """

    kind: Literal["grounder", "puma"]
    card: str
    identity: str
    model: str
    dataset: str
    fingerprint: str
    select: str
    split: str
    recipe_name: str
    recipe: str
    seed: int
    devices: str
    version: str = __version__


def devices_of(options: TrainingOptions) -> str:
    """How many devices ``--processes`` asks for, and the hash of ``--accelerate-config``. Raises UserError: the file
    can't be read.
    """
    config = options.accelerate_config
    if config is None:
        return f"{options.processes or 1}"
    try:
        return f"{options.processes or 'config'}@{hashlib.sha256(config.read_bytes()).hexdigest()[:16]}"
    except OSError as error:
        raise UserError(f"--accelerate-config {config}: can't be read: {error.strerror}") from error


class TrainingInfo(AboutRun, frozen=True, kw_only=True, omit_defaults=False):
    benchmark: Literal["training"] = "training"
    asked: TrainingAsked


class TrainingFolder(DescribedFolder[TrainingInfo]):
    """The folder of one training run.

    ``run.json`` says what was asked, ``recipe.yaml`` how it trained, ``split.json`` on what; ``stages/<name>/`` is all
    of a stage, ``adapter/`` (of PUMA ``model/``) what the evaluation takes. A run that leaves one out has all but the
    first two in ``folds/<name>/``.
    """

    info_type = TrainingInfo
    kind = "a training run"

    def change(self, **fields: Any) -> None:
        self.write_info(msgspec.structs.replace(self.read_info(), **fields))


@dataclass(frozen=True, kw_only=True)
class AskedRun:
    """A run as it was asked for: its folder, what ``run.json`` and ``recipe.yaml`` get, and whether to start anew."""

    path: Path
    info: TrainingInfo
    recipe_text: str
    fresh: bool

    @contextmanager
    def begun(self, splits: Mapping[str, Record]) -> Iterator[TrainingFolder]:
        """The folder, locked and described; the block's time counts into it.

        ``splits`` are written as ``split.json`` below these folders. Says where an earlier run was moved.

        Raises UserError: another process is at work there, or it can't be written.
        """
        folder = TrainingFolder(self.path)
        if self.fresh and (set_aside := folder.set_aside()) is not None:
            print(f"the earlier run was set aside as {set_aside}", file=sys.stderr)
        with folder.held():
            before, info = folder.earlier_info(), self.info
            if before is not None:
                info = msgspec.structs.replace(info, started_at=before.started_at, wall_s=before.wall_s)
            folder.write_info(info)
            folder.replace("recipe.yaml", self.recipe_text.encode())
            for below, split in splits.items():
                (self.path / below).mkdir(parents=True, exist_ok=True)
                folder.replace(f"{below}/split.json", msgspec.json.format(msgspec.json.encode(split), indent=1))
            started = time.monotonic()
            try:
                yield folder
            finally:
                folder.change(wall_s=info.wall_s + time.monotonic() - started)


def asked_run(
    words: tuple[str, str, str],
    recipe: GrounderRecipe | PumaRecipe,
    recipe_text: str,
    options: TrainingOptions,
    command: str,
    **said: Any,
) -> AskedRun:
    """A run that begins now; ``words`` are the parts of its name, ``said`` the other fields of ``TrainingAsked``."""
    content = msgspec.json.encode(recipe, order="sorted").decode()
    asked = TrainingAsked(recipe_name=recipe.name, recipe=content, seed=options.seed, **said)
    parts = {
        # The number goes up when the loop, the rewards or the examples change what comes out of the same recipe.
        "training": f"training.1/{asked.kind}",
        "dataset": f"{asked.dataset}@{asked.fingerprint[:12]}",
        "base": f"{asked.card}@{hashlib.sha256(asked.identity.encode()).hexdigest()[:8]}",
        "recipe": f"{recipe.name}@{hashlib.sha256(content.encode()).hexdigest()[:8]}",
        **{name: f"{getattr(asked, name)}" for name in ("split", "select", "devices", "seed", "version")},
    }
    more = ("sentence-transformers",) if asked.kind == "puma" else ()
    info = TrainingInfo(
        run_id=run_id(asked, words),
        status="started",
        # Runs with the same one are comparable.
        signature="|".join(f"{name}:{value.replace('|', '/')}" for name, value in parts.items()),
        asked=asked,
        data_dir=str(options.data_dir or ""),
        command=command,
        versions=library_versions((*PACKAGES, *more)),
        started_at=utc_now(),
    )
    return AskedRun(path=options.log_dir / info.run_id, info=info, recipe_text=recipe_text, fresh=options.fresh)


@dataclass(frozen=True, kw_only=True)
class Trained(Generic[T]):
    """A training as it stands: its folder and figures, and the runs that evaluated."""

    folder: Path
    info: TrainingInfo
    summary: T
    evaluated: tuple[Any, ...] = ()


def is_training_run(path: Path) -> bool:
    return benchmark_of(path) == "training"


def write_record(path: Path, record: object) -> None:
    atomic_write(path, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def read_record(path: Path, record_type: type[T]) -> T:
    """Read a file of one record. Raises UserError: it is missing or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=record_type)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read: {error}; train anew with --fresh") from error


def read_lines(path: Path, record_type: type[T]) -> tuple[T, ...]:
    """The records of a file of lines; none where it is not there. A last line that was cut off is passed over. Raises
    UserError: the file is damaged.
    """
    if not path.exists():
        return ()
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    try:
        return tuple(msgspec.json.decode(line, type=record_type) for line in whole.splitlines())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: damaged: {error}; train anew with --fresh") from error


PACKAGES = (
    *("torch", "torchvision", "transformers", "trl", "peft", "datasets", "accelerate", "qwen-vl-utils", "tensorboard"),
    "scipy",
)  # Every package of the extra.


def needs_training() -> None:
    """Make sure that everything training imports is there, without importing it. Raises UserError: packages are
    missing, or TRL is another one; says which and what to install.
    """
    versions = library_versions(PACKAGES)
    problems = [f"{name} is not installed" for name in PACKAGES if versions[name] == "not installed"]
    if not problems and not versions["trl"].startswith(f"{TRL}."):
        problems.append(f"trl is {versions['trl']}, {TRL}.x is needed")
    if problems:
        raise UserError(f"training needs more packages ({'; '.join(problems)}): {install('train')}")
