"""What a browsing agent is not let do, whatever a model or a page says: buy, sign in, hand out personal data. Pure.

Such elements get no number, and a click or text that is meant for one all the same is refused.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from grounding.webagents.agenticshop.agents.browsing.elements import Element, FormField

VERSION = 1

MAX_COMMAND_CHARS = 40
"""A longer label is a sentence or a card, not a command."""

_PERSONAL_TYPES = frozenset({"password", "email", "tel", "file", "date", "month"})
_PERSONAL_AUTOCOMPLETE = re.compile(
    r"\b(cc-[a-z-]+|(given-|family-|additional-|nick)?name|username|email|tel[a-z-]*|street-address|address-[a-z0-9-]+"
    r"|postal-code|(current|new)-password|one-time-code|bday[a-z-]*|organization)\b"
)
_PERSONAL_NAMES = re.compile(
    r"(pass(word|wd|phrase)?\b|card[ _-]?(no|num)|\bcvv|\bcvc|\biban|\bssn\b|e-?mail|telephone|\bphone|street"
    r"|\baddress|post[ _-]?code|\bzip\b|birth|first[ _-]?name|last[ _-]?name|surname|full[ _-]?name|user[ _-]?name)",
    re.IGNORECASE,
)
_COMMANDS = re.compile(
    r"\b(add(ed)? to (my |your |the )?(cart|bag|basket|trolley)|buy( it)?( now| this)?$|buy with|check ?out"
    r"|proceed to|place (my |your |the )?order|order (it )?now|pre-?order|pay( now| with|$)|purchase"
    r"|subscribe|sign (up|in)|log ?in|register|create (an |your )?account|join (now|us)|donate"
    r"|in den (warenkorb|einkaufswagen)|jetzt kaufen|zur kasse|bestellen|anmelden|registrieren"
    r"|ajouter au panier|acheter|commander|se connecter|s'inscrire"
    r"|(a[ñn]adir|agregar) al carrito|comprar|iniciar sesi[óo]n|reg[íi]str)",
    re.IGNORECASE,
)
_OTHER_LINKS = ("mailto", "tel", "sms", "data", "blob", "file", "ftp")


def why_not_click(element: Element) -> str:
    """Why an element must not be clicked, for the model; "" where it may."""
    if element.disabled:
        return "it can't be used now"
    if element.type == "file":
        return "no files are handed out"
    if _scheme(element.href) in _OTHER_LINKS:
        return "it leads out of the browser"
    if element.takes_text or element.kind == "choice":
        return ""
    if len(element.name) <= MAX_COMMAND_CHARS and _COMMANDS.search(element.name):
        return "buying, ordering, subscribing and signing in are not offered: only look for products"
    if element.kind == "button" and element.type != "button" and _asks_for_person(element):
        return "it would send off a form with personal data"
    return ""


def why_not_type(element: Element) -> str:
    """Why nothing must be typed into an element; "" where it may be, or where it takes no text at all."""
    if element.disabled:
        return "it can't be used now"
    field = FormField(type=element.type, name=f"{element.field} {element.name}", autocomplete=element.autocomplete)
    if is_personal(field):
        return "it asks for personal data or a password, and none is given"
    return ""


def why_not_send(element: Element) -> str:
    """Why the form around a field must not be sent off; "" where it may."""
    return "its form asks for personal data" if _asks_for_person(element) else ""


def is_personal(field: FormField) -> bool:
    """Whether a field is for a password, a means of payment, or something about a person."""
    return (
        field.type.lower() in _PERSONAL_TYPES
        or _PERSONAL_AUTOCOMPLETE.search(field.autocomplete.lower()) is not None
        or _PERSONAL_NAMES.search(field.name.replace("_", " ")) is not None
    )


def _asks_for_person(element: Element) -> bool:
    return element.form is not None and any(is_personal(field) for field in element.form.fields)


def _scheme(href: str) -> str:
    try:
        return urlsplit(href).scheme.lower()
    except ValueError:
        return "file"
