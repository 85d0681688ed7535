"""What a user asks of a training of PUMA: one typed record, whatever the command line looks like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from grounding.chat import ChatOptions
from grounding.errors import UserError
from grounding.options import Display, ShopSearch
from grounding.records import Record
from grounding.training.loop.records import Launch
from grounding.training.puma.split import Shared

Evaluates = Literal["both", "after", "none"]


class PumaTraining(Record, frozen=True, kw_only=True):
    """The options of ``grounding train puma``; see its ``--help``.

    ``model`` is the base, a folder or a name on the hub. ``test_users`` are kept for the test whole. ``labels_model``
    is the card of the chat model that writes queries. ``eval_limit`` takes the first so many tasks of the test.
    """

    model: str
    dataset: str = "sample-shop"
    data_dir: Path | None = None
    search: ShopSearch = "bm25"
    search_index: Path | None = None
    test_users: tuple[str, ...] = ()
    shared: Shared = "drop"
    recipe: str = "puma-llama2-7b"
    overrides: tuple[str, ...] = ()
    labels_model: str | None = None
    chat: ChatOptions = ChatOptions()
    cost_limit: float | None = None
    seed: int = 0
    device: Literal["cpu"] | None = None
    launch: Launch = Launch()
    evaluates: Evaluates = "both"
    eval_limit: int | None = None
    log_dir: Path = Path("results")
    fresh: bool = False
    force: bool = False
    display: Display | None = None
    command: str = ""


def parse_test_users(texts: Sequence[str]) -> tuple[str, ...]:
    """Users of ``--hold-out user=ID``, each once.

    Raises:
        UserError: something else is to be held out.
    """
    users = []
    for text in texts:
        kind, equals, name = text.partition("=")
        if kind != "user" or not equals or not name:
            raise UserError(f"--hold-out {text}: expected user=ID, such as user=A7RDJ3LXNB2WZS")
        users += name.split(",")
    return tuple(dict.fromkeys(users))
