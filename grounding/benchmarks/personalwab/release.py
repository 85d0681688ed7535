"""The release's own result files: written from a run's folder for its leaderboard, and read back into figures.

Such a file is a list (``run.py``): first ``{"run_args", "total cost", "results"}``, then one entry a task with what
every call that could end it was worth (``action_acc``, ``res_acc``), the calls (``info``) and the conversation
(``traj``). The figures are those of its ``calculate_statistics``: the best of the calls with the right function.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from grounding.atomic import atomic_write
from grounding.benchmarks.personalwab.agents.chat import plain, react_rules, system_text, with_calls, with_text
from grounding.benchmarks.personalwab.episode import view_of
from grounding.benchmarks.personalwab.records import TYPES, Episode
from grounding.benchmarks.personalwab.scoring import ShopAsked, ShopVerdict, TaskLine, read_shop_run
from grounding.benchmarks.personalwab.web import read_arguments
from grounding.console import wide_console
from grounding.errors import UserError
from grounding.records import Usage

STRATEGIES = {"react": "react", "reflexion": "react_reflect", "recmind": "recmind", "puma-local": "puma"}
Statistics = dict[str, dict[str, float]]  # By type of task and over all, by the release's own names.


def statistics(entries: Sequence[Mapping[str, Any]]) -> Statistics:
    found = {}
    for kind in (*TYPES, "overall"):
        of_kind = [one for one in entries if _type_of(one) in TYPES and kind in (_type_of(one), "overall")]
        steps = sum(len(one["info"].get("usage", {}).get("completion_tokens", ())) for one in of_kind)
        both = [zip(one["action_acc"], one["res_acc"], strict=False) for one in of_kind]
        right = [[res for act, res in calls if act == 1] for calls in both]
        sums: dict[str, float] = {"avg_interaction_times": steps, "avg_action_acc": sum(map(bool, right))}
        sums["avg_res_acc"] = sum(max(one, default=0.0) for one in right)
        count = len(of_kind) if steps else 0
        means = {name: one / count if count else 0.0 for name, one in sums.items()}
        found[kind] = {"total_count": len(of_kind), **means}
    return found


def _type_of(entry: Mapping[str, Any]) -> str:
    return entry["info"]["task"]["type"] if "info" in entry else ""


def read_results(path: Path) -> Statistics:
    try:
        found = statistics(msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]]))
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no result file of PersonalWAB's run.py, a list of tasks: {error!r}") from None
    if not found["overall"]["total_count"]:
        raise UserError(f"{path}: holds no task; expected entries with action_acc, res_acc and info")
    return found


def write_results(run: Path, out: Path) -> Statistics:
    """Write a scored run as the release's result file; its figures. An episode's tokens are known as one sum, which
    stands at its first reply. Raises UserError: no scored run.
    """
    scored = read_shop_run(run)
    asked, official = scored.info.asked, {one.task_id: one for one in scored.verdicts["official"]}
    episodes = scored.episodes()
    entries = [
        _entry(number, line, official[line.task.id], episodes[line.task.id], asked)
        for number, line in enumerate(scored.tasks)
        if line.task.id in episodes and line.task.id in official
    ]
    found = statistics(entries)
    arguments = {
        "env": "pwab",
        "model": asked.model,
        "user_mode": {"": "no", "human": "human"}.get(asked.user, "naive"),
        "user_model": asked.user,
        "agent_strategy": STRATEGIES.get(asked.agent, "function_calling"),
        "temperature": 0.0,
        "task_split": asked.split,
        "agent_memory": "taskspe" if asked.memory == "task-specific" else asked.memory,
        "memory_length": asked.memory_length,
        "max_steps": -1 if asked.track == "single" else asked.max_steps,
        "seed": asked.seed,
        "grounding": asked.version,
        "signature": scored.info.signature,
    }
    cost = sum(entry["info"]["usage"]["total_price"] for entry in entries)
    head = {"run_args": arguments, "total cost": cost, "results": found}
    atomic_write(out, msgspec.json.format(msgspec.json.encode([head, *entries]), indent=2) + b"\n")
    return found


def _entry(number: int, line: TaskLine, verdict: ShopVerdict, episode: Episode, asked: ShopAsked) -> dict[str, Any]:
    # Talking where nobody listens is an attempt without worth in the release's lists.
    talked = [0] if episode.end == "responded" else []
    task, call = line.task, episode.call
    usage = call.usage if call is not None and call.usage is not None else Usage(input_tokens=0, output_tokens=0)
    counts = {"completion_tokens": usage.output_tokens, "prompt_tokens": usage.input_tokens, "total_tokens": 0}
    said = {"user_id": task.user_id, "task": task.instruction, "type": task.type}
    actions = [turn.call for turn in episode.turns if turn.call.name != "respond"]
    return {
        "task_id": number,
        "action_acc": [int(one.function) for one in verdict.attempts] + talked,
        "res_acc": [one.outcome for one in verdict.attempts] + talked,
        "info": {
            "task": {**said, "timestamp": task.timestamp_ms, "target": task.target_asin},
            "actions": [{"name": one.name, "arguments": read_arguments(one.arguments) or {}} for one in actions],
            "user_cost": 0 if episode.user_call is None else episode.user_call.cost_usd or 0,
            "usage": {name: [count, *[0] * (verdict.steps - 1)][: verdict.steps] for name, count in counts.items()}
            | {"total_price": 0 if call is None else call.cost_usd or 0},
        },
        "traj": _conversation(line, episode, asked),
        "trial": 0,
    }


def _conversation(line: TaskLine, episode: Episode, asked: ShopAsked) -> list[dict[str, Any]]:
    view = msgspec.structs.replace(view_of(line.task, line.product), opening=episode.opening)
    rules = system_text(asked.memory, asked.track, asked.max_steps, paper=asked.preset == "paper")
    as_text = asked.agent in ("react", "reflexion")
    rules += (react_rules() if as_text else "") + episode.memory
    return [
        {
            "role": message.role,
            **({"tool_call_id": message.answers, "name": message.name} if message.role == "tool" else {}),
            "function_call" if message.tool_calls else "content": plain(message),
        }
        for message in (with_text if as_text else with_calls)(rules, view, episode.turns)
    ]


def print_results(title: str, found: Mapping[str, Mapping[str, float]]) -> None:
    table = Table("type", "tasks", "F", "R", "steps", title=title, title_justify="left", box=SIMPLE_HEAD)
    for kind, one in found.items():
        cells = (one["avg_action_acc"], one["avg_res_acc"], one["avg_interaction_times"])
        table.add_row(kind, str(one["total_count"]), *(f"{value:.3f}" for value in cells))
    wide_console(100).print(table)
