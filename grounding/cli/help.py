"""What ``grounding eval --help`` shows: the options that the named data set takes, by what they are about."""

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_type_hints

GROUPS: dict[str, tuple[str, ...]] = {
    "Data": (
        *("dataset", "data_dir", "participant", "scenario", "user", "kind", "split", "sample_id", "limit"),
        *("questions", "transcript", "asr_base_url", "noise_dir"),
    ),
    "Who answers": (
        *("planner", "planner_prompt", "planner_model", "plan_ahead", "plans", "plan_store", "no_plan_store"),
        *("grounder", "zoom", "agent", "model", "predictions", "curations", "history", "history_scope", "history_file"),
        *("memory", "memory_length", "memory_tokens", "style", "attempts", "track", "max_steps", "max_seconds"),
        *("functions", "search", "pages", "extractor", "extractions"),
        *("blocked_retries", "browser_profile"),
    ),
    "Models and servers": (
        *("base_url", "planner_base_url", "user_base_url", "extractor_base_url", "replicas", "server_command"),
        *("send", "backend", "model_path", "dtype", "device", "batch_size", "temperature", "seed"),
        *("max_connections", "timeout", "max_retries", "server_wait", "no_probe"),
        *("executor", "workers", "ray_address"),
    ),
    "Scores": (
        *("scoring", "preset", "tolerance", "judge", "judge_base_url", "judge_prompt"),
        *("judgements", "published", "clusters", "epochs", "baseline"),
    ),
    "The run": ("dry_run", "cost_limit", "fresh", "log_dir", "no_report", "display", "json"),
}  # Every option of `grounding eval`, in the order in which help shows them.
_SPEECH = ("transcript", "asr_base_url", "noise_dir")
_SAID_ELSEWHERE = ("planner_model", "no_plan_store", "asr_base_url", "noise_dir")
"""Said by ``--planner NAME``, ``--plan-store none`` and ``--transcript``; ``grounding.asr --help`` has the others."""


def shown_options(dataset: str, every: Sequence[str]) -> frozenset[str]:
    """The options that a data set takes, without those that say in other words what another one says.

    Raises:
        UserError: the data set's card is wrong.
    """
    from grounding.benchmarks.clicks import CLICKS
    from grounding.data.registry import layout_of
    from grounding.run.benchmark import benchmark_called, name_for

    name = name_for(dataset)
    if name:
        return benchmark_called(name).takes.names & frozenset(every)
    found = (CLICKS.names & frozenset(every)) - frozenset(_SAID_ELSEWHERE)
    return found if layout_of(dataset) == "realwebassist" else found - frozenset(_SPEECH)


def show_help_for(arguments: Sequence[str], command: Callable[..., Any]) -> None:
    """Have the command's help show what the data set in its arguments takes; without one, the default data set.

    Raises:
        UserError: the data set's card is wrong.
    """
    from cyclopts import Group, Parameter

    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    shown = shown_options(_dataset(arguments), tuple(signature.parameters))
    ordered = []
    for number, (title, names) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=number)
        for name in names:
            if name in shown:
                command.__annotations__[name] = Annotated[hints[name], Parameter(group=group)]
                ordered.append(signature.parameters[name])
    command.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]


def _dataset(arguments: Sequence[str]) -> str:
    for at, word in enumerate(arguments):
        if word.startswith("--dataset="):
            return word.partition("=")[2]
        if word == "--dataset" and at + 1 < len(arguments):
            return arguments[at + 1]
    return os.environ.get("GROUNDING_EVAL_DATASET", "sample-web")
