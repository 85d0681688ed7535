"""Agents of others, read from the logs that they leave: Agent-E, SeeAct, WebVoyager and Browser Use.

Each is a row of ``PROGRAMS``: which files a task has, and where in them its answer and its steps stand. What an
agent's last words name is what it chose. Whose a log is, says its place: the user's id where the row has ``TASK``, or
``SCENARIO__USER`` there, or the id below a folder that is named after the scenario. JSON that was cut off says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grounding.benchmarks.agenticshop.agents.base import CurationServices, agent
from grounding.benchmarks.agenticshop.agents.products import at, decoded, each, named_products, text
from grounding.benchmarks.agenticshop.agents.recorded import Answer, Owner, RecordedAgent, read_bytes, recordings
from grounding.benchmarks.agenticshop.records import Scenario, TraceStep
from grounding.benchmarks.agenticshop.scenarios import scenario_named
from grounding.errors import UserError
from grounding.records import Failure


class LoggedAnswer(NamedTuple):
    """What a task's files say: the last words, the steps before them, and an error where they name one."""

    answer: str
    steps: list[TraceStep]
    error: str = ""


class Program(NamedTuple):
    """A program's logs. ``files`` are the paths of a task's files, with the user's id for ``TASK``."""

    title: str
    files: tuple[str, ...]
    read: Callable[[dict[str, Any]], LoggedAnswer]


def open_logs(name: str, path: Path) -> RecordedAgent:
    """The agent whose logs lie in a folder; for Browser Use also a single history, named after its task.

    A UserError says that there are no such logs, or that two are of one task.
    """
    program, answers, contents = PROGRAMS[name], dict[Owner, Answer](), dict[str, bytes]()
    for owner, files in find_tasks(path, program).items():
        whole: dict[str, Any] = {}
        for file in files:
            content, contents[f"{owner}/{file.name}"] = read_bytes(file)
            if value := decoded(content.removeprefix(b"\xef\xbb\xbf")):
                whole[file.name] = value
        answers[owner] = _answer(program.read(whole), found=bool(whole))
    return RecordedAgent(name, answers, contents)


def _answer(said: LoggedAnswer, *, found: bool) -> Answer:
    products = named_products(said.answer)
    failure = None if found else Failure(kind="error", message="the log holds nothing that is whole")
    if said.error and not products:
        failure = Failure(kind="error", message=said.error[:500])
    ended = "answered" if products else "no address in the answer" if said.answer else "no answer"
    return {"products": products, "ended": ended, "failure": failure, "trace": tuple(said.steps), "raw": said.answer}


def find_tasks(root: Path, program: Program) -> dict[Owner, list[Path]]:
    """The files of each task, in order of their names. Links are not followed."""
    pattern = re.compile("|".join(f"(?:.*/)?{one.replace('TASK', '([^/]+)')}" for one in program.files))
    found: dict[Owner, list[Path]] = {}
    for file in [root] if root.is_file() else sorted(root.rglob("*")):
        match = pattern.fullmatch(file.relative_to(root.parent).as_posix())
        if match is None or file.is_symlink() or not file.is_file():
            continue
        task = next(group for group in match.groups() if group)
        left, _, right = task.partition("__")
        folders = [part.name for part in file.parents if part == root or root in part.parents]
        scenario = next(filter(None, map(_scenario, [left] if right else folders)), None)
        owner: Owner = (scenario, right if right and scenario else task)
        files = found.setdefault(owner, [])
        if other := next((one for one in files if one.name == file.name), None):
            raise UserError(f"--curations {root}: two logs of {owner[1]!r}: {other} and {file}; take one out")
        files.append(file)
    if not found:
        raise UserError(f"--curations {root}: none of the files that {program.title} writes is in it")
    return found


def _scenario(name: str) -> Scenario | None:
    with suppress(UserError):
        return scenario_named(name)
    return None


def _step(action: str, url: str = "", thought: str = "") -> TraceStep:
    return TraceStep(action=" ".join(action.split()), url=url if url.startswith("http") else "", thought=thought)


# --- the programs -----------------------------------------------------------------------------------------------------

_START = re.compile(r"Please interact with (https?://\S+)")
_REPLY = re.compile(r"(?:Thought:\s*(?P<thought>.*?)\s*)?Action:\s*(?P<action>.*)", re.DOTALL)
_ANSWER = re.compile(r"ANSWER\s*;?\s*(.*)", re.DOTALL | re.IGNORECASE)


def read_webvoyager(files: dict[str, Any]) -> LoggedAnswer:
    """From ``run.py`` and ``results/examples`` of https://github.com/MinorJerry/WebVoyager at 0915445.

    ``interact_messages.json`` is a list of ``{"role", "content"}``, whose content is text or parts with text and
    pictures. A reply reads ``Thought: …`` and ``Action: …``; the last action of a task that was done is ``ANSWER; …``.
    The first page's address is in the task, no other is told.
    """
    steps, url, answer = list[TraceStep](), "", ""
    for message in each(files.get("interact_messages.json")):
        said = text(message, "content") or "\n".join(text(part, "text") for part in each(message, "content"))
        if message.get("role") == "user":
            url = match[1] if (match := _START.search(said)) else url
        elif message.get("role") == "assistant":
            reply = _REPLY.search(said)
            action = reply["action"] if reply else said
            answer = match[1].strip() if (match := _ANSWER.match(action)) else ""
            steps.append(_step(action, url, (reply["thought"] if reply else "") or ""))
            url = ""
    return LoggedAnswer(answer, steps)


_TOLD = (
    re.compile(r"SAY: (.*)|Say (.*) to the user", re.DOTALL),
    re.compile(r"MEMORIZE: (.*)|Keep (.*) to the action.*", re.DOTALL),
)
_GOTO = re.compile(r"GOTO:? (https?://\S+)")


def read_seeact(files: dict[str, Any]) -> LoggedAnswer:
    """From https://github.com/OSU-NLP-Group/SeeAct: ``src/seeact.py`` (0effe3c), ``seeact_package`` (0701b4f).

    ``result.json`` has ``action_history`` with ``[button] Add to cart -> CLICK``, ``GOTO: https://…``, ``SAY: …``; the
    package's ``all_predictions.json`` has ``action_generation`` (thoughts), ``element``, ``action`` and ``value``.
    SeeAct has no final answer of its own: what it told the user with ``SAY`` last is taken, else what it kept with
    ``MEMORIZE``, else the words with which it terminated.
    """
    predictions = each(files.get("all_predictions.json"))
    history = at(files.get("result.json"), "action_history")
    actions = [one for one in history if isinstance(one, str)] if isinstance(history, list) else []
    thoughts = [""] * len(actions)
    if predictions:
        actions = [f"{text(one, 'action')}: {text(one, 'value')}".removesuffix(": None") for one in predictions]
        thoughts = [text(one, "action_generation") for one in predictions]
    told = [[match[1] or match[2] for one in actions if (match := kind.fullmatch(one))] for kind in _TOLD]
    last = thoughts[-1] if actions and actions[-1].startswith("TERMINATE") else ""
    steps = [
        _step(one, match[1] if (match := _GOTO.search(one)) else "", thought)
        for one, thought in zip(actions, thoughts, strict=True)
    ]
    return LoggedAnswer(next((said[-1].strip() for said in told if said), last), steps)


_FENCE = re.compile(r"^\s*```(?:json)?\s*|\s*```\s*$")
_PAGE = re.compile(r"Current (?:Page|URL): (https?://\S+?)(?:,? Title:|,?\s|$)")


def read_agent_e(files: dict[str, Any]) -> LoggedAnswer:
    """From https://github.com/EmergenceAI/Agent-E: ``test/tests_processor.py`` at 06719a4 and the core it calls.

    ``execution_logs_ID.json`` is the planner's conversation, ``{"an agent": [{"content", "role"}, ...]}``, whose
    replies hold JSON with ``final_response`` at the end; ``test_result_ID.json`` has ``last_statement`` and ``error``;
    ``nested_chat_log_….json``, one for every step of the plan, messages with ``content`` and ``tool_calls``. Pages are
    named in words, ``Current Page: URL, Title: …``.
    """
    result = next((value for name, value in files.items() if name.startswith("test_result")), None)
    told = [value for name, value in files.items() if name.startswith("execution") and isinstance(value, dict)]
    plans = [one for value in told for agent in value for one in each(value, agent)]
    replies = [decoded(_FENCE.sub("", text(one, "content"))) for one in plans]
    answer = next((said for one in reversed(replies) if (said := text(one, "final_response").strip())), "")
    steps, url = list[TraceStep](), ""
    for messages in (each(value) for name, value in files.items() if name.startswith("nested")):
        thought = text(messages[0], "content") if messages else ""
        for message in messages:
            url = match[1] if (match := _PAGE.search(text(message, "content"))) else url
            for call in each(message, "tool_calls"):
                arguments = text(call, "function", "arguments")
                url = text(decoded(arguments), "url") or url
                steps.append(_step(f"{text(call, 'function', 'name')} {arguments}", url, thought))
    return LoggedAnswer(answer or text(result, "last_statement"), steps, text(result, "error"))


_THOUGHTS = ("thinking", "thought", "evaluation_previous_goal", "memory", "next_goal")


def read_browser_use(files: dict[str, Any]) -> LoggedAnswer:
    """From ``browser_use/agent/views.py`` (``AgentHistoryList.save_to_file``) and ``browser_use/browser/views.py``.

    https://github.com/browser-use/browser-use at 019af07, a178036 and 1549e71:
    ``{"history": [{"model_output", "result", "state"}, ...]}``. ``model_output`` has ``action``, a list of
    ``{"NAME": {parameters}}``, and what the model thinks, in older versions below ``current_state``; it is null where a
    request failed. ``result`` is a list of ``{"is_done", "extracted_content", "error"}``, ``state`` has ``url``. The
    answer is what the last ``done`` says. Held against a file that version 0.13.14 wrote.
    """
    steps, answer, error = list[TraceStep](), "", ""
    for one in (one for value in files.values() for one in each(value, "history")):
        output, url = at(one, "model_output"), text(one, "state", "url")
        thought = "\n".join(
            said for name in _THOUGHTS if (said := text(output, name) or text(output, "current_state", name))
        )
        for action in each(output, "action"):
            name, parameters = next(iter(action.items()), ("", None))
            words = msgspec.json.encode(parameters).decode() if parameters else ""
            steps.append(_step(f"{name} {words}", url, thought))
            if name == "done":  # Its text, or the fields of a schema that the user gave.
                answer = text(parameters, "text") or words
        for result in each(one, "result"):
            error = text(result, "error") or error
            if result.get("is_done") is True:
                answer = text(result, "extracted_content") or answer
    return LoggedAnswer(answer, steps, "" if answer else error)


PROGRAMS: dict[str, Program] = {
    "agent-e": Program(
        "Agent-E",
        (r"execution_logs_TASK\.json", r"test_result_TASK\.json", r"logs_for_task_TASK/nested_chat_log_\d+\.json"),
        read_agent_e,
    ),
    "seeact": Program("SeeAct", (r"TASK/(?:result|all_predictions)\.json",), read_seeact),
    "webvoyager": Program("WebVoyager", (r"taskTASK/interact_messages\.json",), read_webvoyager),
    "browser-use": Program("Browser Use", (r"TASK/(?:agent_?)?history\.json", r"TASK\.json"), read_browser_use),
}


def _logged(name: str, given: CurationServices) -> RecordedAgent:
    return open_logs(name, recordings(given))


for _name, _program in PROGRAMS.items():
    agent(_name, f"what {_program.title} wrote into its logs: --curations", needs="curations")(partial(_logged, _name))
