"""What a worker opens: everything it needs to become the writer's planner or grounder on another machine."""

from __future__ import annotations

import io
import pickle
from typing import Any, Literal

import msgspec

from grounding.card_schema import ChatCard, GrounderCard
from grounding.options import EvalOptions
from grounding.planner_card import PlannerCard
from grounding.records import Record
from grounding.serving.command import ServerOptions

Room = Literal["planner", "grounder", "stage"]

ANYWHERE = "http://127.0.0.1:0/v1"
"""Stands for the address of a server that a worker will start beside itself: no answer hangs on it."""


class DataPlace(Record, frozen=True, kw_only=True):
    """Where a data set's files are: the folder that screenshots' paths begin with, and the URL it was read from.

    ``url`` is "" for a folder that was never anywhere else.
    """

    root: str
    url: str = ""


class Beside(Record, frozen=True, kw_only=True):
    """A model server that a worker starts on its own machine, for itself alone; the port is the worker's choice."""

    card: GrounderCard
    options: ServerOptions


class StageWork(Record, frozen=True, kw_only=True):
    """A stage of a benchmark's run, as a worker opens it.

    ``opener`` is a function of this package as ``module:function``, which is given this and a
    :class:`grounding.executors.stageopening.Surroundings`; ``part`` says which of a benchmark's stages is meant.
    ``options`` are the run's, in the benchmark's own record. ``data_url`` is where its data were read from, "" for a
    folder that was never anywhere else. ``key_variables`` are the environment variables with the keys that its models
    need. ``folder`` is the run's, for stages that keep files there, and ``mark`` the hash of its ``run.json``, by which
    a worker knows that it sees that very folder; "" where nothing is kept. ``given`` is what else the opener needs.
    """

    opener: str
    options: Any
    part: str = ""
    data_url: str = ""
    key_variables: tuple[str, ...] = ()
    folder: str = ""
    mark: str = ""
    given: Any = None


class Recipe(Record, frozen=True, kw_only=True):
    """One worker's work.

    ``options`` are those of the run. ``base_url`` is where its requests go ("" with a server beside it, or none at
    all), ``max_connections`` how many it may have open, None for the card's. ``identity`` is what the writer's own
    planner or grounder says it is: a worker that says otherwise has another version or another card. ``keep_in`` is
    the run folder, for grounders that leave something to look at there. ``stage`` is what the room ``stage`` opens; of
    ``options`` only the cost limit counts there.
    """

    room: Room
    options: EvalOptions
    identity: str
    base_url: str = ""
    max_connections: int | None = None
    card: GrounderCard | PlannerCard | None = None
    beside: Beside | None = None
    data: DataPlace | None = None
    keep_in: str = ""
    stage: StageWork | None = None


def pack(recipe: Recipe) -> bytes:
    """A recipe as bytes, for a process of the same version: paths and options are in it, so pickle."""
    content = io.BytesIO()
    _Pickler(content).dump(recipe)
    return content.getvalue()


class _Pickler(pickle.Pickler):
    """Takes cards as JSON: what a card leaves at its default is then left so, as a card's identity wants it.

    msgspec leaves out a field whose value is the very object of the default, and pickle makes every object anew.
    """

    def reducer_override(self, taken: object) -> Any:
        if isinstance(taken, ChatCard):
            return _card, (type(taken), msgspec.json.encode(taken))
        return NotImplemented


def _card(kind: type[ChatCard], content: bytes) -> ChatCard:
    return msgspec.json.decode(content, type=kind)


def unpack(content: bytes) -> Recipe:
    """The recipe again; only ever called with what :func:`pack` of the same run gave."""
    found = pickle.loads(content)  # noqa: S301 - our own words, from the process that hired this one
    if not isinstance(found, Recipe):
        raise TypeError(f"expected a recipe, got {type(found).__name__}")
    return found
