"""What a user asks of the training of a grounder: one typed record, whatever the command line looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from grounding.options import Backend, Display
from grounding.records import Record
from grounding.training.grounder.split import HeldOut, SharedRule
from grounding.training.loop.records import Launch


class GrounderTraining(Record, frozen=True, kw_only=True):
    """The options of ``grounding train grounder``; see its ``--help``.

    ``held_out`` is one split; with ``leave_one_out`` there is one for every participant. ``model`` is a checkpoint to
    tune in place of the card's, a folder or an id on the hub. ``limit`` and ``test_limit`` take the first so many
    scored steps of each side. ``history_file`` is as in the evaluation.
    """

    card: str
    dataset: str = "sample-web"
    data_dir: Path | None = None
    questions: str | None = None
    history_file: str | None = None
    held_out: tuple[HeldOut, ...] = ()
    leave_one_out: Literal["participant"] | None = None
    shared_screenshots: SharedRule = "refuse"
    shared_tasks: SharedRule = "refuse"
    recipe: str
    overrides: tuple[str, ...] = ()
    model: str | None = None
    limit: int | None = None
    test_limit: int | None = None
    seed: int = 0
    device: Literal["cpu"] | None = None
    launch: Launch = Launch()
    evaluates: bool = True
    backend: Backend = "hf"
    server_command: str | None = None
    batch_size: int | None = None
    log_dir: Path = Path("results")
    fresh: bool = False
    force: bool = False
    display: Display | None = None
    command: str = ""
