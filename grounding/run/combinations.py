"""Options with several values in, the options of one run for each combination out. Pure: nothing is read or asked."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from grounding.data.speech import TRUTH, parse_condition
from grounding.errors import UserError
from grounding.options import EvalOptions, options_from

_NAMED = re.compile(r"(?P<name>.+?)=(?P<url>https?://.*)")
PLANNERS, GROUNDERS = "--planner", "--grounder"


def combine(given: Mapping[str, Any], axes: Sequence[str], *, command: str) -> tuple[EvalOptions, ...]:
    """One run for every combination of the values of the ``axes``; the last axis changes fastest. Several planners
    share one ``--plans`` and several grounders one ``--predictions``: those files belong to the ``replay`` among them.
    An address ``NAME=URL`` belongs to the planner or grounder of that name. ``given`` has a sequence of values for each
    of the ``axes``; an empty one stands for the option's default.
    """
    given = {"planner": "none", "grounder": None, "zoom": ("none",), **given}
    values = {axis: tuple(dict.fromkeys(given[axis])) or (None,) for axis in axes}
    planners, grounders = values.get("planner", ()), values.get("grounder", ())
    _check_owner("--plans", _used(given.get("plans")), PLANNERS, planners)
    _check_owner("--predictions", _used(given.get("predictions")), GROUNDERS, grounders)
    _check_names("--base-url", given.get("base_url", ()), GROUNDERS, grounders)
    _check_names("--planner-base-url", given.get("planner_base_url", ()), PLANNERS, planners)
    runs = []
    for chosen in itertools.product(*values.values()):
        one = {**given, **dict(zip(values, chosen, strict=True))}
        if len(planners) > 1 and one["planner"] != "replay":
            one["plans"] = None
        if len(planners) > 1 and one["planner"] in ("none", "replay"):  # These ask no model.
            one |= {"planner_prompt": None, "planner_model": None, "plan_ahead": False}
        if len(grounders) > 1 and one["grounder"] != "replay":
            one["predictions"] = None
        # --zoom alone is the card's; where it is not given it is "none".
        one["zoom"] = "none" if "zoom" not in values else "card" if one["zoom"] in (None, True) else one["zoom"]
        if one.get("transcript") is not None:
            condition = parse_condition(one["transcript"])
            one["transcript"] = None if condition.kind == TRUTH else str(condition)
        one["base_url"] = addresses(given.get("base_url", ()), one["grounder"])
        one["planner_base_url"] = " ".join(addresses(given.get("planner_base_url", ()), one["planner"])) or None
        runs.append(options_from(one, command=command))
    return tuple(dict.fromkeys(runs))


def addresses(given: Sequence[str], name: str | None) -> tuple[str, ...]:
    """The addresses that belong to a model: those with its name before them, else those without a name."""
    named = [match["url"] for text in given if (match := _NAMED.fullmatch(text)) and match["name"] == name]
    return tuple(named) or tuple(text for text in given if _NAMED.fullmatch(text) is None)


def _used(value: Any) -> bool:
    return any(one is not None for one in value) if isinstance(value, Sequence) else value is not None


def _check_owner(flag: str, used: bool, owner: str, names: Sequence[str | None]) -> None:
    if used and len(names) > 1 and "replay" not in names:
        raise UserError(
            f"{flag}: which of the {len(names)} values of {owner} plays the file back? Name `replay` among them, as in "
            f"{owner} {names[0]} replay"
        )


def _check_names(flag: str, given: Sequence[str], owner: str, names: Sequence[str | None]) -> None:
    for text in given:
        match = _NAMED.fullmatch(text)
        if match is not None and match["name"] not in names:
            known = ", ".join(str(name) for name in names if name is not None)
            raise UserError(f"{flag} {match['name']}=…: none of {owner} is called so; given are {known or 'none'}")
