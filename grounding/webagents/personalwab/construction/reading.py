"""Replies of a model to profiles and instructions, or why there is none: ``unparsed``, never a guess. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from grounding.records import Failure
from grounding.webagents.personalwab.construction.wording import LEVELS, ConstructionPrompts, Level
from grounding.webagents.personalwab.layout import PROFILE_FIELDS
from grounding.webagents.personalwab.records import Profile

LONGEST_VALUE = 2_000
LONGEST_INSTRUCTION = 2_000
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_LEADS = re.compile(r"^(search|recommendation|review)( request| instruction)?\s*:\s*", re.IGNORECASE)
_QUOTES = {('"', '"'), ("'", "'"), ("“", "”")}


def read_profile_reply(prompts: ConstructionPrompts, text: str) -> Profile | Failure:
    """The profile in a reply: its JSON object, whose names may differ in case and signs and may lie in sections.

    All eleven dimensions have to be there and say something. Those that the prompt offers as High, Medium and Low have
    to be one of them, or its description.
    """
    found = _json_object(text)
    if found is None:
        return _unparsed("the reply holds no JSON object")
    said = _flat(found)
    values: dict[str, str] = {}
    for theirs, ours in PROFILE_FIELDS.items():
        value = _text(said.get(_plain(theirs)))
        if not value:
            return _unparsed(f"the profile says nothing of {theirs}")
        if len(value) > LONGEST_VALUE:
            return _unparsed(f"{theirs} has {len(value)} characters; at most {LONGEST_VALUE} are kept")
        values[ours] = value
    choices = prompts.choices
    for theirs, ours, levels in (
        ("Price Sensitivity", "price_sensitivity", choices.price_sensitivity),
        ("Diversity Preference", "diversity_preference", choices.diversity),
        ("Interaction Complexity", "interaction_complexity", choices.interaction),
    ):
        level = _level(values[ours], levels)
        if level is None:
            return _unparsed(f"{theirs} is {values[ours][:60]!r}: expected High, Medium or Low")
        values[ours] = level
    return Profile(**values)


def read_instruction_reply(text: str, *, cut_off: bool) -> str | Failure:
    """The instruction in a reply, its white space made single blanks, without quotes around it or a heading."""
    if cut_off:
        return _unparsed("the reply was cut off (finish reason: length)")
    said = _LEADS.sub("", " ".join(text.split()))
    if len(said) > 2 and (said[0], said[-1]) in _QUOTES and said[0] not in said[1:-1]:
        said = said[1:-1].strip()
    if not any(character.isalnum() for character in said):
        return _unparsed("the reply is empty")
    if len(said) > LONGEST_INSTRUCTION:
        return _unparsed(f"the reply has {len(said)} characters where a request was asked for")
    return said


def _json_object(text: str) -> dict[str, Any] | None:
    fenced = [match[1] for match in _FENCE.finditer(text)]
    first, last = text.find("{"), text.rfind("}")
    for candidate in (*fenced, text[first : last + 1] if 0 <= first < last else ""):
        try:
            found = msgspec.json.decode(candidate)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    """All names of an object and of the objects in it that are none of a profile's own."""
    names = {_plain(name) for name in PROFILE_FIELDS}
    flat: dict[str, Any] = {}
    for key, value in found.items():
        if _plain(key) in names:
            flat.setdefault(_plain(key), value)
        elif isinstance(value, dict):
            for inner, known in _flat(value).items():
                flat.setdefault(inner, known)
    return flat


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _text(value: object) -> str:
    match value:
        case str():
            return " ".join(value.split())
        case list():
            return ", ".join(_text(one) for one in value)
        case dict():
            return ", ".join(f"{name}: {_text(one)}" for name, one in value.items())
        case int() | float():
            return str(value)
    return ""


def _level(said: str, levels: dict[Level, str]) -> Level | None:
    """The level that a value begins with or describes."""
    first = _plain(said.split()[0]) if said.split() else ""
    for level in LEVELS:
        if first == level.lower() or _plain(levels[level]) == _plain(said):
            return level
    return None


def _unparsed(why: str) -> Failure:
    return Failure(kind="unparsed", message=why)
