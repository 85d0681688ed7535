"""Grounders whose weights run in this process with transformers: any Qwen-VL card, and GUI-Actor (extra ``hf``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.grounders.hf.loading import HfOptions, require_packages
from grounding.llm.chat import ChatOptions, request_parameters

if TYPE_CHECKING:
    from grounding.grounders.base import Grounder

__all__ = ["HfOptions", "open_hf"]


def open_hf(card: GrounderCard, options: HfOptions, chat: ChatOptions) -> Grounder:
    """The grounder of a card, run here; the weights are loaded when it is first checked or asked.

    A dry run loads none, and so needs no packages either. Raises UserError: packages or files are missing, or the card
    asks for what can't be done here.
    """
    if card.serving.how == "recorded":
        raise UserError(f"{card.name} ({card.title}) can't be run here: {card.serving.reason}")
    if not chat.dry:
        require_packages()
    if card.serving.how == "in-process":
        from grounding.grounders.hf.actor import GuiActor

        return GuiActor(card, options)
    from grounding.grounders.chat import ChatGrounder
    from grounding.grounders.hf.local import HfChat

    return ChatGrounder(card, HfChat(card, options, request_parameters(card, chat)))
