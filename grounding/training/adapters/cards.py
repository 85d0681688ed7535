"""The card of a tuned model: the card that was trained, with other weights and another name. Pure."""

from __future__ import annotations

import re

import msgspec

from grounding.cards import AdapterRule, EndpointCard, GrounderCard, WeightsRule
from grounding.records import Record

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_CHARS = 80
_HASH_CHARS = 8


class TunedFrom(Record, frozen=True, kw_only=True):
    """Where a tuned model comes from.

    ``card`` is the card as it was trained, with a place for the history where it told one. ``checkpoint`` is where the
    weights were that were tuned, a folder or an id on the hub, ``revision`` that of the hub and ``base_sha256`` the
    hash of their files. ``dataset`` and ``held_out`` say on what it was tuned and what it never saw, ``run_id`` in
    which run. ``history`` is how many earlier steps it was told.
    """

    card: GrounderCard
    checkpoint: str
    revision: str
    base_sha256: str
    dataset: str
    held_out: str
    run_id: str
    recipe: str
    history: int


def tuned_card(tuned: TunedFrom, *, sha256: str, rank: int | None) -> GrounderCard:
    """The card that goes beside the tuned weights; its ``path`` is its own folder.

    What others state of the base model, its aliases, its price and its own endpoint are not the tuned model's. The
    name holds a part of the weights' hash, so that a server that has others under the same folder is found out.

    Args:
        tuned: Where it comes from.
        sha256: The hash of the adapter, or of the weights where all are tuned.
        rank: The adapter's; None where all weights are tuned.
    """
    card = tuned.card
    words = "-".join(part for part in (card.name, tuned.dataset, f"without-{tuned.held_out}") if part)
    name = f"{slug(words)}-{sha256[:_HASH_CHARS]}"
    told = f"{tuned.history} earlier steps" if tuned.history and card.uses_history else "no earlier steps"
    changed: dict[str, object] = {
        "name": name,
        "title": f"{card.title}, tuned on {tuned.dataset} without {tuned.held_out.replace('=', ' ')}",
        "model": name,
        "revision": "main",
        "aliases": (),
        "published": (),
        "disagreements": (),
        "price": None,
        "retires": None,
        "successor": None,
        "endpoint": EndpointCard(how_to_serve="grounding serve FOLDER --port 8000, with this card's folder"),
        "source": f"grounding train grounder, run {tuned.run_id}; prompt and image rule: {card.source or card.name}",
        "notes": f"Recipe {tuned.recipe}; told {told} of the session in training.",
    }
    if rank is None:
        changed["weights"] = WeightsRule(sha256=sha256)
    else:
        base = card.adapter.base if card.adapter is not None else card.model
        changed["adapter"] = AdapterRule(
            base=base,
            checkpoint="" if tuned.checkpoint == base else tuned.checkpoint,
            revision=tuned.revision,
            rank=rank,
            sha256=sha256,
            base_sha256=tuned.base_sha256,
        )
    return msgspec.structs.replace(card, **{"adapter": None, "weights": None, **changed})


def slug(text: str) -> str:
    """A text as part of a name that may stand in an address, a file's name and a command line."""
    return _NOT_IN_NAMES.sub("-", text).strip("-.")[:_MOST_CHARS] or "tuned"
