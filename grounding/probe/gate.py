"""The probe at the start of a run: once, kept beside the answers, a warning where the card doesn't fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from grounding.budget import Budget
from grounding.cards import GrounderCard
from grounding.chat import ChatOptions, open_chat
from grounding.display import Progress
from grounding.errors import UserError
from grounding.grounders import BuiltGrounder
from grounding.grounders.base import Grounder
from grounding.grounders.chat import ChatGrounder
from grounding.probe.asking import ask_all
from grounding.probe.kept import read_probe, write_probe


def open_for_probe(
    card: GrounderCard, options: ChatOptions, *, budget: Budget, on_retry: Callable[[], None]
) -> ChatGrounder:
    """The grounder of a card for the probe's own pictures, which no server finds on its disk: they go out as base64."""
    card = msgspec.structs.replace(card, image=msgspec.structs.replace(card.image, send="base64"))
    return ChatGrounder(card, open_chat(card, options, flag="--base-url", budget=budget, on_retry=on_retry).model)


class EvalProbe:
    """What a run does before its first question.

    ``lent`` says that the grounder is the run's own, which goes on with it.
    """

    def __init__(self, card: GrounderCard, grounder: Grounder, *, lent: bool = False) -> None:
        self._card = card
        self._grounder = grounder
        self._lent = lent

    @property
    def card(self) -> GrounderCard:
        """The card that is probed."""
        return self._card

    def on_workers(self, grounder: Grounder) -> EvalProbe | None:
        """The same, asked of workers elsewhere; None where their servers see no pictures but those of the data set."""
        return None if self._card.image.send == "file" else EvalProbe(self._card, grounder, lent=True)

    def leave_out(self, base_url: str) -> None:
        """Ask nothing more of one of several servers."""
        if isinstance(self._grounder, ChatGrounder):
            self._grounder.leave_out(base_url)

    async def run(self, folder: Path, progress: Progress) -> None:
        """Ask about the pictures, unless that was done; say what doesn't fit.

        Raises:
            UserError: not one reply could be read, so that the run would be paid for in vain.
        """
        before = read_probe(folder)
        if before is not None and before.complete and before.level != "broken":
            return
        try:
            with progress.phase("probing the grounder"):
                earlier = () if before is None else before.all_replies
                report = await ask_all(self._grounder, self._card, earlier=earlier)
        finally:
            if not self._lent:
                await self._grounder.aclose()
        write_probe(folder, report)
        if report.level == "broken":
            said = next((reply.raw for reply in report.replies if reply.raw is not None), "")
            raise UserError(
                f"{self._card.name}: none of the {report.replied} replies to the probe holds an answer in the form "
                f"that the card reads; the first is {said[:200]!r}. Nothing of the data set was asked yet. Put the "
                "card or the server right, or go on with --no-probe."
            )
        for text in report.warnings:
            print(f"grounding: probe: {text}", file=sys.stderr, flush=True)


def eval_probe(
    built: BuiltGrounder, options: ChatOptions, *, wanted: bool, budget: Budget, on_retry: Callable[[], None]
) -> EvalProbe | None:
    """The probe of a run; None where it is not wanted or no chat model stands behind the grounder."""
    if not wanted or not isinstance(built.card, GrounderCard) or not isinstance(built.grounder, ChatGrounder):
        return None
    if not built.base_url:  # The weights are in this process: loaded once, and any picture on this disk can be shown.
        return EvalProbe(built.card, built.grounder, lent=True)
    options = msgspec.structs.replace(options, base_url=built.base_url)
    return EvalProbe(built.card, open_for_probe(built.card, options, budget=budget, on_retry=on_retry))
