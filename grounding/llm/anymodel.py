"""Any model by its name and its address: whoever asks for a chat model finds it here, by a card or without one.

A name that no card has, at an address that the user gives, is a plain chat model: one of the cards ``any.yaml`` with
the name put in. Its key belongs to the address, not to the role: the vendor's own variable at the address in the
vendor's card, ``API_KEY_`` and the host's name at every other, so that no host is sent the key of another.
"""

import difflib
import re
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from grounding.cards import ChatCard, GrounderCard, PlannerCard, find_card, read_card, read_cards
from grounding.cards.places import models_dir
from grounding.errors import UserError
from grounding.geometry import Space

ANY = "any"  # Stands for the only model at an address.
SPACES: tuple[Space, ...] = ("original_px", "rel_1", "rel_999", "rel_1000")
"""What the numbers of a grounder without a card can mean; for the others a card says how its pictures are resized."""
UNKNOWN = "@?"  # Ends the name of a grounder whose space is still to be found out.
CardT = TypeVar("CardT", bound=ChatCard)


def find_planner(
    name: str,
    base_url: str | None,
    *,
    flag: str,
    name_flag: str = "",
    model: str | None = None,
    builtin: tuple[str, ...] = (),
    kind: str = "model",
    listed_by: str = "grounding list planners",
) -> PlannerCard:
    """The card of a chat model: a bundled one's name, a path, or any name together with an address; ``any`` is the only
    one there. ``model`` is the name at its endpoint, instead of the card's. ``base_url`` may be several addresses,
    separated by blanks. The others are for messages, and without ``name_flag`` an address is not asked for its only
    model.
    """
    plain = _at(read_card(models_dir() / "planners" / "any.yaml", PlannerCard), base_url)
    found = find_card(
        name,
        models_dir() / "planners",
        PlannerCard,
        builtin=builtin,
        kind=kind,
        listed_by=listed_by,
        otherwise=_named(plain, name, name) if base_url and _is_name(name) else None,
        more=f" Any other model is asked by its name at its address: {flag} URL.",
    )
    if found.model:
        return found if model is None else msgspec.structs.replace(found, model=model)
    found = plain if found.name == ANY else found
    if model is None and name_flag:
        model = _only_model(found, base_url, flag=flag, name_flag=name_flag)
    return found if model is None else _named(found, f"{found.name}:{model}", model)


def find_grounder(
    name: str,
    base_url: str | None,
    *,
    builtin: tuple[str, ...] = (),
    cards: Path | None = None,
    probed: bool = False,
) -> GrounderCard:
    """The card of a grounder: a bundled one's name, a path, or an address and any name with the space of its answers:
    ``NAME@SPACE``, and ``any@SPACE`` for the only one there. ``probed``: the space is still to be found out, so that it
    may be missing. ``cards`` is the folder of bundled cards, ``builtin`` other names that could have been meant.
    """
    called, _, said = name.rpartition("@")
    space = next((one for one in SPACES if one == said), None) if called else None
    called = called if space is not None else name
    plain = None
    if base_url and _is_name(called):
        plain = _at(read_card(models_dir() / "prompts" / "grounders" / "any.yaml", GrounderCard), base_url)
        is_asked = called == ANY and (space is not None or probed)
        model = _only_model(plain, base_url, flag="--base-url", name_flag="--grounder") if is_asked else called
        answer = msgspec.structs.replace(plain.answer, space=space or plain.answer.space)
        named = _named(plain, name if space is not None else f"{name}{UNKNOWN}", model)
        plain = msgspec.structs.replace(named, answer=answer)
    found = find_card(
        called,
        cards or models_dir() / "grounders",
        GrounderCard,
        builtin=builtin,
        kind="grounder",
        otherwise=plain,
        more=f" Any other model is asked by its name at its address: NAME@SPACE and --base-url URL, with one of "
        f"{', '.join(SPACES)} for what the numbers of its answers mean; `grounding probe NAME --base-url URL` tells.",
    )
    if base_url and found is plain and space is None and not probed:
        known = [*builtin, *(card.name for card in read_cards(cards or models_dir() / "grounders", GrounderCard))]
        near = difflib.get_close_matches(called, known, n=1)
        raise UserError(
            f"{called}: no card is called so, and what the numbers of its answers mean is not said. Name it with its "
            f"space, --grounder {called}@SPACE: one of {', '.join(SPACES)}. `grounding probe {called} --base-url "
            f"{base_url.split()[0]}` tells which; `grounding list grounders` shows the cards"
            + (f", such as {near[0]}." if near else ".")
        )
    if space is not None and found is not plain:
        raise UserError(f"{name}: the card {found.name} says what its numbers mean; leave @{space} out")
    return found


def _is_name(text: str) -> bool:
    return re.search(r"[\s|]", text) is None and text.isprintable() and text != ""


def _named(card: CardT, name: str, model: str) -> CardT:
    return msgspec.structs.replace(card, name=name, model=model, title=f"{card.title} ({model})")


def _only_model(card: ChatCard, base_url: str | None, *, flag: str, name_flag: str) -> str:
    from grounding.llm import only_model  # What reaches an endpoint is loaded where one is asked.

    return only_model(card, base_url, flag=flag, name_flag=name_flag)


def _at(card: CardT, base_url: str | None) -> CardT:
    """The card with the variable of the key that belongs to an address; addresses of several hosts have none."""
    if base_url is None:
        return card
    hosts = {_host(url) for url in base_url.split(" ")}
    known = (each.endpoint for each in read_cards(models_dir() / "planners", PlannerCard) if each.endpoint.base_url)
    own = next((each for each in known if hosts == {_host(each.base_url or "")}), None)
    if own is not None:
        given = {"key_variable": own.key_variable, "lists_models": own.lists_models}
    else:
        name = re.sub(r"[^A-Z0-9]", "_", hosts.pop()[1].upper()) if len(hosts) == 1 else ""
        given = {"key_variable": f"API_KEY_{name}" if name else None}
    return msgspec.structs.replace(card, endpoint=msgspec.structs.replace(card.endpoint, **given))


def _host(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or ""
    except ValueError:
        return "", ""
