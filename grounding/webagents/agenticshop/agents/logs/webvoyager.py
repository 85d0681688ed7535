"""WebVoyager's logs: the folder of one task in, what it answered and did out.

From ``run.py`` and ``results/examples`` of https://github.com/MinorJerry/WebVoyager at 0915445. Each task has a folder
``taskID`` with ``agent.log`` (lines ``LEVEL - message``), ``screenshotN.png`` and, written when the task has ended,
``interact_messages.json``: a list of ``{"role", "content"}``, where ``content`` is text, or a list of parts with text
and pictures. A reply reads ``Thought: …`` and ``Action: …``; the last action of a task that was done is ``ANSWER; …``.
The log writes the answer once more, on the lines before ``finish!!``, so that a task whose messages were never written
still has one. No address of a page is in either, but the first page's in the task.
"""

from __future__ import annotations

import re
from typing import Any

from grounding.records import Failure
from grounding.webagents.agenticshop.agents.logs.answers import chosen_products
from grounding.webagents.agenticshop.agents.logs.json_parts import read_list
from grounding.webagents.agenticshop.agents.logs.places import LogPlace
from grounding.webagents.agenticshop.agents.recorded import RecordedAnswer
from grounding.webagents.agenticshop.records import TraceStep

FILES = r"interact_messages\.json|agent\.log"
PREFIX = "task"

_START = re.compile(r"Please interact with (https?://\S+)")
_THOUGHT = re.compile(r"Thought:\s*(.*?)\s*(?:\n\s*)?Action:", re.DOTALL)
_ACTION = re.compile(r"Action:\s*(.*)", re.DOTALL)
_ANSWER = re.compile(r"ANSWER\s*;?\s*(.*)", re.DOTALL | re.IGNORECASE)
_OBSERVATION = re.compile(r"Observation:\s*(.*)", re.DOTALL)
_LOG_LINE = re.compile(r"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - ", re.MULTILINE)
_FINISH = "INFO - finish!!"
_CALL = "INFO - Calling gpt4"


def read_webvoyager(place: LogPlace) -> RecordedAnswer:
    """What the log of one task says.

    Raises:
        UserError: A file can't be read.
    """
    messages = [one for _, content in place.read(r"interact_messages\.json") for one in read_list(content)]
    log = "\n".join(content.decode("utf-8", "replace") for _, content in place.read(r"agent\.log"))
    trace = _trace(messages)
    answer = _answer(messages) or _logged_answer(log)
    products, ended = chosen_products(answer, [step.url for step in trace])
    failure = None
    if not messages and not answer:
        failure = Failure(kind="error", message="the log was cut off before the messages and the answer were written")
    replies = sum(_role(one) == "assistant" for one in messages)
    return RecordedAnswer(
        products=products,
        trace=trace,
        raw=answer,
        ended=ended,
        requests=log.count(_CALL) or replies,
        failure=failure,
    )


def _trace(messages: list[Any]) -> tuple[TraceStep, ...]:
    steps = []
    url = observation = ""
    for message in messages:
        text = _text(message)
        if _role(message) == "user":
            if match := _START.search(text):
                url = match[1]
            seen = _OBSERVATION.search(text)
            observation = seen[1] if seen else text
        elif _role(message) == "assistant":
            thought, action = _THOUGHT.search(text), _ACTION.search(text)
            steps.append(
                TraceStep(
                    action=" ".join((action[1] if action else text).split()),
                    url=url,
                    thought=thought[1] if thought else "",
                    observation=observation,
                )
            )
            # Where the browser is after the first action is not in the log.
            url = ""
    return tuple(steps)


def _answer(messages: list[Any]) -> str:
    replies = [_text(one) for one in messages if _role(one) == "assistant"]
    if not replies:
        return ""
    action = _ACTION.search(replies[-1])
    answer = _ANSWER.match(action[1]) if action else None
    return answer[1].strip() if answer else ""


def _logged_answer(log: str) -> str:
    end = log.find(_FINISH)
    if end < 0:
        return ""
    begins = [match for match in _LOG_LINE.finditer(log, 0, end)]
    return log[begins[-1].end() : end].strip() if begins else ""


def _role(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, dict) else ""


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [one.get("text") for one in content if isinstance(one, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
