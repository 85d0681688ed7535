"""Agent-E's logs: the files of one task in, what it answered and did out.

From https://github.com/EmergenceAI/Agent-E: ``test/tests_processor.py`` at 06719a4, ``ae/core/autogen_wrapper.py`` at
01a6ba8, ``ae/core/system_orchestrator.py`` at 029286b, and a ``nested_chat_log_…json`` at ccf003a. A test run leaves

- ``logs/test_results_for_NAME/logs_for_task_ID/execution_logs_ID.json``: the planner's conversation,
  ``{"an agent": [{"content", "role", "name"}, ...]}``, whose replies hold JSON with ``plan``, ``next_step``,
  ``terminate`` and, at the end, ``final_response``;
- ``nested_chat_log_NANOSECONDS.json`` beside it, one for every step of the plan: a list of messages with ``content``,
  ``tool_calls`` (``openurl``, ``click``, ``enter_text_and_click``, …) and ``tool_responses``;
- ``results/results_for_NAME/test_result_ID.json``: ``{"task_id", "last_url", "tct", "last_statement", …}``.

Run by hand it leaves ``chat_messages.json``, the planner's conversation again. Pages are named in words,
``Current Page: URL, Title: …`` or ``Current URL: URL``; addresses of more than 250 characters are cut there.
"""

from __future__ import annotations

import re
from typing import Any

from grounding.records import Failure
from grounding.webagents.agenticshop.agents.logs.answers import chosen_products
from grounding.webagents.agenticshop.agents.logs.json_parts import read_list, read_value
from grounding.webagents.agenticshop.agents.logs.places import LogPlace
from grounding.webagents.agenticshop.agents.recorded import RecordedAnswer
from grounding.webagents.agenticshop.records import TraceStep

FILES = r"execution_logs_.+\.json|nested_chat_log_\d+\.json|chat_messages\.json|test_result_.+\.json"
PREFIX = "logs_for_task_"
ID_IN_FILE = r"(?:execution_logs|test_result)_(.+)\.json"

_PAGE = re.compile(r"Current (?:Page|URL): (https?://\S+?)(?:,? Title:|,?\s|$)")
_FENCE = re.compile(r"^\s*```(?:json)?\s*|\s*```\s*$")
_FINAL = re.compile(r'"?final_response"?\s*:\s*"?(.*?)"?\s*}?\s*$', re.DOTALL)
_TERMINATE = "##TERMINATE TASK##"


def read_agent_e(place: LogPlace) -> RecordedAnswer:
    """What the logs of one task say.

    Raises:
        UserError: A file can't be read.
    """
    planner = [
        message
        for _, content in place.read(r"execution_logs_.+\.json|chat_messages\.json")
        for message in _conversation(content)
    ]
    nested = [read_list(content) for _, content in place.read(r"nested_chat_log_\d+\.json")]
    results = [read_value(content) for _, content in place.read(r"test_result_.+\.json")]
    result = next((one for one in results if isinstance(one, dict)), {})
    trace = tuple(step for messages in nested for step in _nested_steps(messages)) or _planner_steps(planner)
    urls = [*(step.url for step in trace), _text(result.get("last_url"))]
    statement = result.get("last_statement")
    answer = _final_response(planner) or (statement if isinstance(statement, str) else "") or _last_words(nested)
    products, ended = chosen_products(answer, urls)
    failure = None
    if not planner and not any(nested) and not result:
        failure = Failure(kind="error", message="no whole message is in the logs")
    elif isinstance(result.get("error"), str) and not products:
        failure = Failure(kind="error", message=result["error"][:500])
    asked = sum(_role(one) == "user" or bool(_fields(one)) for one in planner)
    asked += sum(bool(_calls(message)) or _is_last(message) for messages in nested for message in messages)
    return RecordedAnswer(
        products=products,
        trace=trace,
        raw=answer,
        ended=ended,
        requests=asked if nested else 0,
        seconds=_number(result.get("tct")),
        failure=failure,
    )


def _conversation(content: bytes) -> list[Any]:
    """The messages of the planner; of a file that was cut off, those that are whole."""
    decoded = read_value(content)
    if isinstance(decoded, dict):
        return [one for messages in decoded.values() if isinstance(messages, list) for one in messages]
    if isinstance(decoded, list):
        return decoded
    # A file that was cut off: its first list begins after the first colon.
    start = content.find(b"[")
    return read_list(content[start:]) if start >= 0 else []


def _final_response(planner: list[Any]) -> str:
    for message in reversed(planner):
        found = _fields(message).get("final_response")
        if isinstance(found, str) and found.strip():
            return found.strip()
        if isinstance(found, dict | list):
            return _content(message)
    return ""


def _fields(message: Any) -> dict[str, Any]:
    """The planner's JSON in a message; what can be made out of it where it is not whole."""
    text = _FENCE.sub("", _content(message))
    decoded = read_value(text.encode("utf-8", "replace"))
    if isinstance(decoded, dict):
        return decoded
    match = _FINAL.search(text) if "terminate" in text else None
    return {"final_response": match[1]} if match else {}


def _planner_steps(planner: list[Any]) -> tuple[TraceStep, ...]:
    steps = []
    url = ""
    for message in planner:
        text = _content(message)
        fields = _fields(message)
        if match := _PAGE.search(text):
            url = match[1]
        step = fields.get("next_step")
        if isinstance(step, str) and step:
            steps.append(TraceStep(action=step, url=url, thought=_text(fields.get("plan"))))
        elif not fields and text and steps:
            steps.append(TraceStep(action="report", url=url, observation=text.replace(_TERMINATE, "").strip()))
    return tuple(steps)


def _nested_steps(messages: list[Any]) -> list[TraceStep]:
    """The calls of one step of the plan; the step itself is what is thought."""
    thought = ""
    url = ""
    steps: list[TraceStep] = []
    for number, message in enumerate(messages):
        text = _content(message)
        if match := _PAGE.search(text):
            url = match[1]
        if number == 0:
            thought = text
        for name, arguments in _calls(message):
            opened = read_value(arguments.encode("utf-8", "replace"))
            target = opened.get("url") if isinstance(opened, dict) else None
            url = target if isinstance(target, str) and target.startswith("http") else url
            steps.append(TraceStep(action=f"{name} {arguments}", url=url, thought=thought))
        if _role(message) == "tool" and steps:
            last = steps[-1]
            steps[-1] = TraceStep(
                action=last.action, url=match[1] if match else last.url, thought=last.thought, observation=text
            )
        elif number and text and not _calls(message):
            steps.append(TraceStep(action="report", url=url, observation=text.replace(_TERMINATE, "").strip()))
    return steps


def _calls(message: Any) -> list[tuple[str, str]]:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    found = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            found.append((_text(function.get("name")), _text(function.get("arguments"))))
    return found


def _last_words(nested: list[list[Any]]) -> str:
    """What the browser's agent reported last; "" where its last step never came to an end."""
    last = nested[-1][-1] if nested and nested[-1] else None
    return _content(last).replace(_TERMINATE, "").strip() if _is_last(last) else ""


def _is_last(message: Any) -> bool:
    return _TERMINATE in _content(message)


def _role(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, dict) else ""


def _content(message: Any) -> str:
    return _text(message.get("content")) if isinstance(message, dict) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0.0
