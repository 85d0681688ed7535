"""The arguments of ``grounding eval`` as runs that curate products, and what of them makes no sense there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from grounding.errors import UserError
from grounding.options import CurationAgentName
from grounding.webagents.agenticshop.command import curation_command
from grounding.webagents.agenticshop.options import CurationOptions
from grounding.webagents.agenticshop.preparation import FinderOpener
from grounding.webagents.agenticshop.scenarios import scenario_named

_ALSO_HERE = frozenset({"dataset", "data_dir", "json", "scoring", "published", "no_report"})
_NOTHING_TO_DO = frozenset({"no_probe", "no_plan_store"})
"""Switched off where it never is: often set in the environment, for all runs."""


def curation_from_eval(
    given: Mapping[str, Any], usual: Mapping[str, Any], *, command: str, open_finder: FinderOpener
) -> int:
    """Run what the arguments of ``grounding eval`` ask for over users who want products.

    Args:
        given: The arguments by name.
        usual: What each of them is where nobody gives it.
        command: What the user typed, for ``run.json``.
        open_finder: Opens a grounder that finds elements for the agent browsing.

    Raises:
        UserError: an argument is for other data sets, or something is missing or wrong.
    """
    ours = set(CurationOptions.__struct_fields__) | _ALSO_HERE | _NOTHING_TO_DO
    for name, value in given.items():
        if name not in ours and value != usual[name]:
            raise UserError(
                f"--{name.replace('_', '-')} has no meaning for {given['dataset']}, whose tasks are products to be "
                "found on the web: leave it out"
            )
    if given["scoring"] == "strict":
        raise UserError("--scoring strict: is for desktop tasks; choose paper or official")
    if given["preset"] != usual["preset"]:
        raise UserError(f"--preset is for web functions; for {given['dataset']} say --scoring {given['preset']}")
    runs = curation_runs(given, command=command)
    return curation_command(runs, as_json=given["json"], published=given["published"], open_finder=open_finder)


def curation_runs(given: Mapping[str, Any], *, command: str) -> tuple[CurationOptions, ...]:
    """One run for every agent.

    Raises:
        UserError: an agent is none of these, or there is no such scenario.
    """
    agents = tuple(given["agent"]) or ("site-search",)
    for agent in agents:
        if agent not in get_args(CurationAgentName):
            expected = ", ".join(get_args(CurationAgentName))
            raise UserError(f"--agent {agent}: calls web functions; expected one of {expected} for {given['dataset']}")
    grounders = tuple(given["grounder"])
    if len(grounders) > 1:
        raise UserError(f"--grounder {' '.join(grounders)}: one at a time for {given['dataset']}")
    named = {name: value for name, value in given.items() if name in CurationOptions.__struct_fields__}
    named |= {
        "scenario": tuple(scenario_named(name) for name in given["scenario"]),
        "grounder": grounders[0] if grounders else None,
        "preset": given["scoring"],
    }
    runs = (CurationOptions(**{**named, "agent": agent, "command": command}) for agent in agents)
    return tuple(dict.fromkeys(runs))
