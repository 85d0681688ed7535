"""Grounders: an explicit instruction over a screenshot in, a place on it (a Prediction) out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from grounding.cards import ChatCard, GrounderCard
from grounding.cards.functions import FunctionGrounder, is_function
from grounding.cards.schema import Context
from grounding.errors import UserError
from grounding.grounders.base import Center, Grounder, Oracle, Random
from grounding.grounders.som.card import find_som_card, is_som
from grounding.llm.anymodel import find_grounder
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.records import Record, Session

if TYPE_CHECKING:
    from grounding.grounders.hf.loading import HfOptions

__all__ = ["BUILTIN", "BuiltGrounder", "Grounder", "asks_a_server", "build_grounder", "card_behind"]

BUILTIN = {
    "ocr": "reads the screen and matches the words: the offline baseline",
    "som": "regions numbered on the screenshot, a chat model names one (alias set-of-mark)",
    "replay": "answers recorded elsewhere: --predictions FILE",
    "center": "always the middle of the screen: a floor",
    "random": "anywhere, seeded: a floor",
    "oracle": "inside the gold region: the ceiling",
}
ENTRY_POINTS = "grounding.grounders"


class BuiltGrounder(Record, frozen=True, kw_only=True):
    """A grounder ready to be asked; ``card`` and ``base_url`` are there when a chat model stands behind it."""

    grounder: Grounder
    card: ChatCard | None = None
    base_url: str = ""

    @property
    def reads(self) -> frozenset[Context]:
        """What the prompt has a place for, of all that the model may be told besides instruction and screenshot."""
        return self.card.reads if self.card is not None else getattr(self.grounder, "reads", frozenset())


def card_behind(name: str, cards: Path, base_url: str | None = None) -> GrounderCard | None:
    """The card that a grounder's name stands for; None for one that is built in, a function or from another package.
    Raises UserError: nothing is called so, and there is no address where any model could be asked.
    """
    if is_som(name) or not asks_a_server(name):
        return None
    return find_grounder(name, base_url, builtin=tuple(BUILTIN), cards=cards)


def asks_a_server(name: str) -> bool:
    here = name in BUILTIN or is_function(name) or entry_points(group=ENTRY_POINTS, name=name)
    return is_som(name) or not here


def build_grounder(
    name: str,
    *,
    predictions: Path | None,
    sessions: Sequence[Session],
    seed: int,
    cards: Path,
    options: ChatOptions,
    budget: Budget,
    on_retry: Callable[[], None],
    card: GrounderCard | None = None,
    local: HfOptions | None = None,
) -> BuiltGrounder:
    """Make the grounder that a user named: built in, a function, another package's, a card's, any at an address.

    ``card`` is taken instead of the one that goes by the name. ``local`` runs its weights in this process, with no
    server. Raises UserError: nothing is called so, or something it needs is missing; says what.
    """
    if predictions is not None and name != "replay":
        raise UserError(
            f"--predictions replays recorded answers and --grounder {name} makes new ones: give one of them"
        )
    match name:
        case "replay":
            if predictions is None:
                raise UserError("--grounder replay needs the file of recorded answers: --predictions FILE")
            from grounding.grounders.base import SavedPredictions

            known = {step.id for session in sessions for step in session.steps}
            return BuiltGrounder(grounder=SavedPredictions(predictions, known))
        case "ocr":
            from grounding.grounders.ocr import OcrGrounder

            return BuiltGrounder(grounder=OcrGrounder())
        case "center":
            return BuiltGrounder(grounder=Center())
        case "random":
            return BuiltGrounder(grounder=Random(seed))
        case "oracle":
            return BuiltGrounder(grounder=Oracle(sessions))
    if is_function(name):
        return BuiltGrounder(grounder=FunctionGrounder(name))
    som_card = find_som_card(name, cards.parent / "pipelines")
    if som_card is not None:
        from grounding.grounders.som.grounder import SomGrounder

        opened = open_chat(som_card, options, flag="--base-url", budget=budget, on_retry=on_retry)
        return BuiltGrounder(grounder=SomGrounder(som_card, opened.model), card=som_card, base_url=opened.base_url)
    for found in entry_points(group=ENTRY_POINTS, name=name):
        return BuiltGrounder(grounder=found.load()())
    card = card or find_grounder(name, options.base_url, builtin=tuple(BUILTIN), cards=cards)
    if local is not None:
        from grounding.grounders.hf import open_hf

        return BuiltGrounder(grounder=open_hf(card, local, options), card=card)
    opened = open_chat(card, options, flag="--base-url", budget=budget, on_retry=on_retry)
    from grounding.grounders.chat import ChatGrounder

    return BuiltGrounder(grounder=ChatGrounder(card, opened.model), card=card, base_url=opened.base_url)
