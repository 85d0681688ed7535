"""Models that their vendor no longer serves, or will soon stop serving: said before a request is paid for."""

from __future__ import annotations

import datetime

from grounding.cards import ChatCard, PlannerCard

SOON_DAYS = 60
"""How long before its last day a model's end is told: vendors give at least this much notice."""


def today_utc() -> datetime.date:
    """The day by the clock."""
    return datetime.datetime.now(datetime.UTC).date()


def has_retired(card: ChatCard, today: datetime.date) -> bool:
    """Whether the vendor's own endpoint no longer has the model."""
    return card.retires is not None and card.retires <= today


def refusal(card: PlannerCard) -> str:
    """Why a retired model is not asked at its vendor's endpoint, and the ways out."""
    instead = f"use --planner {card.successor}, " if card.successor else ""
    return (
        f"{card.name} ({card.title}) retired on {card.retires}: {card.endpoint.base_url} no longer has {card.model}; "
        f"{instead}or another endpoint that has it with --planner-base-url URL, or plans made earlier with --plans FILE"
    )


def warning(card: ChatCard, today: datetime.date, *, own_address: bool) -> str:
    """What to tell about a model that has retired elsewhere or retires soon; empty where there is nothing to tell.

    Args:
        card: The model's card.
        today: The day by the clock.
        own_address: Whether the user named an address, so that the vendor's date need not apply.
    """
    if card.retires is None:
        return ""
    instead = f"; its successor here is {card.successor}" if card.successor else ""
    if card.retires <= today:
        return f"{card.name} retired on {card.retires} at its vendor{instead}" if own_address else ""
    days = (card.retires - today).days
    if own_address or days > SOON_DAYS:
        return ""
    return f"{card.name} retires on {card.retires}, in {days} day{'' if days == 1 else 's'}{instead}"
