"""The arguments of ``grounding eval`` as runs over a shop, and what of them makes no sense there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from grounding.errors import UserError
from grounding.webagents.personalwab.command import shop_command
from grounding.webagents.personalwab.memory import MEMORIES
from grounding.webagents.personalwab.options import OWN_MEMORY, ShopOptions
from grounding.webagents.personalwab.records import TaskType

DESKTOP_DEFAULT = ("thought",)
"""The memory of the desktop's agents where nobody chose one."""

_ALSO_HERE = frozenset({"dataset", "data_dir", "json", "scoring", "published", "memory", "no_report"})
_NOTHING_TO_DO = frozenset({"no_probe", "no_plan_store"})
"""Switched off where it never is: often set in the environment, for all runs."""


def shop_from_eval(given: Mapping[str, Any], usual: Mapping[str, Any], *, command: str) -> int:
    """Run what the arguments of ``grounding eval`` ask for over a shop.

    Args:
        given: The arguments by name.
        usual: What each of them is where nobody gives it.
        command: What the user typed, for ``run.json``.

    Raises:
        UserError: an argument is for other data sets, or something is missing or wrong.
    """
    ours = set(ShopOptions.__struct_fields__) | _ALSO_HERE | _NOTHING_TO_DO
    for name, value in given.items():
        if name not in ours and value != usual[name]:
            raise UserError(
                f"--{name.replace('_', '-')} has no meaning for {given['dataset']}, whose tasks are calls of web "
                "functions: leave it out"
            )
    if given["scoring"] == "strict":
        raise UserError("--scoring strict: is for desktop tasks; choose paper or official")
    runs = shop_runs(given, command=command)
    rule = None if given["scoring"] == usual["scoring"] else given["scoring"]
    return shop_command(runs, rule=rule, as_json=given["json"], published=given["published"])


def shop_runs(given: Mapping[str, Any], *, command: str) -> tuple[ShopOptions, ...]:
    """One run for every agent and every memory that it can have.

    Raises:
        UserError: a memory is none of a shop's, or a type of task none of its.
    """
    memories = tuple(given["memory"])
    chosen = (None,) if memories == DESKTOP_DEFAULT else memories
    for memory in chosen:
        if memory is not None and memory not in MEMORIES:
            raise UserError(f"--memory {memory}: expected one of {', '.join(MEMORIES)} for {given['dataset']}")
    if given["kind"] is not None and given["kind"] not in get_args(TaskType):
        raise UserError(f"--kind {given['kind']}: expected search, recommend or review for {given['dataset']}")
    agents = tuple(given["agent"]) or ("rules",)
    named = {name: value for name, value in given.items() if name in ShopOptions.__struct_fields__}
    # For grounders it may be an id on the hub, which is text; here it is a folder.
    named["model_path"] = None if given["model_path"] is None else Path(given["model_path"])
    runs = []
    for agent, memory in itertools.product(agents, chosen):
        # Beside agents that take one, an agent with a memory of its own is run once.
        own = len(agents) > 1 and agent in OWN_MEMORY
        runs.append(ShopOptions(**{**named, "agent": agent, "memory": None if own else memory, "command": command}))
    return tuple(dict.fromkeys(runs))
