"""Browser Use's histories: the file of one task in, what it answered and did out.

From ``browser_use/agent/views.py`` (``AgentHistoryList.save_to_file``) and ``browser_use/browser/views.py`` of
https://github.com/browser-use/browser-use at 019af07, a178036 and 1549e71: ``{"history": [{"model_output", "result",
"state", "metadata"}, ...]}``. ``model_output`` has ``action``, a list of ``{"NAME": {parameters}}``, and what the model
thinks, in older versions below ``current_state``, later beside the actions; it is null where a request failed.
``result`` is a list of ``{"is_done", "success", "extracted_content", "error"}``, ``state`` has ``url``, ``title`` and,
in older versions, ``screenshot`` in base64, which is passed over. ``metadata`` has ``step_start_time`` and
``step_end_time`` in seconds. The answer is what the last ``done`` says. Held against a file that version 0.13.14 wrote.
"""

from __future__ import annotations

import json
from typing import Any

from grounding.records import Failure
from grounding.webagents.agenticshop.agents.base import MAX_OBSERVATION_CHARS
from grounding.webagents.agenticshop.agents.logs.answers import chosen_products
from grounding.webagents.agenticshop.agents.logs.json_parts import read_list
from grounding.webagents.agenticshop.agents.logs.places import LogPlace
from grounding.webagents.agenticshop.agents.recorded import RecordedAnswer
from grounding.webagents.agenticshop.records import TraceStep

FILES = r".+\.json"
PREFIX = ""

_THOUGHTS = ("thinking", "thought", "evaluation_previous_goal", "memory", "next_goal")


def read_browser_use(place: LogPlace) -> RecordedAnswer:
    """What the history of one task says; of several files those that hold one, in order of their names.

    Raises:
        UserError: A file can't be read.
    """
    steps = [
        one for _, content in place.read(FILES) for one in read_list(content, under="history") if isinstance(one, dict)
    ]
    if not steps:
        nothing = Failure(kind="error", message="no whole step of a history is in the file")
        return RecordedAnswer(failure=nothing)
    trace = tuple(step for one in steps for step in _trace(one))
    answer = _answer(steps)
    products, ended = chosen_products(answer, [step.url for step in trace])
    failure = None
    if not products and not answer and (error := _last_error(steps)):
        failure = Failure(kind="unparsed", message=f"the agent ended without an answer: {error[:400]}")
    return RecordedAnswer(
        products=products,
        trace=trace,
        raw=answer,
        ended=ended,
        requests=sum(bool(one.get("model_output")) for one in steps),
        seconds=sum(map(_seconds, steps)),
        failure=failure,
    )


def _trace(step: dict[str, Any]) -> list[TraceStep]:
    """A step of ours for each action of a step; thought and time stand with the first."""
    output = _object(step.get("model_output"))
    state = _object(step.get("state"))
    results = _objects(step.get("result"))
    url = state.get("url")
    found = []
    for number, action in enumerate(_objects(output.get("action"))):
        name, parameters = next(iter(action.items()), ("", None))
        result = results[number] if number < len(results) else {}
        said = [result.get("extracted_content"), result.get("error")]
        found.append(
            TraceStep(
                action=f"{name} {json.dumps(parameters, ensure_ascii=False)}" if parameters else str(name),
                url=url if isinstance(url, str) else "",
                thought="" if number else _thought(output),
                observation="\n".join(one for one in said if isinstance(one, str))[:MAX_OBSERVATION_CHARS],
                seconds=0.0 if number else _seconds(step),
            )
        )
    return found


def _thought(output: dict[str, Any]) -> str:
    brain = {**_object(output.get("current_state")), **output}
    said = [brain.get(name) for name in _THOUGHTS]
    return "\n".join(one for one in said if isinstance(one, str) and one)


def _answer(steps: list[dict[str, Any]]) -> str:
    for step in reversed(steps):
        for result in reversed(_objects(step.get("result"))):
            said = result.get("extracted_content")
            if result.get("is_done") is True and isinstance(said, str) and said:
                return said
        for action in reversed(_objects(_object(step.get("model_output")).get("action"))):
            if "done" in action:
                return _done(action["done"])
    return ""


def _done(parameters: Any) -> str:
    """What ``done`` says: ``text``, or the fields of a schema that the user gave, as JSON."""
    fields = _object(parameters)
    if isinstance(fields.get("text"), str):
        return str(fields["text"])
    data = fields.get("data", fields)
    return json.dumps(data, ensure_ascii=False) if data else ""


def _last_error(steps: list[dict[str, Any]]) -> str:
    for step in reversed(steps):
        for result in reversed(_objects(step.get("result"))):
            if isinstance(result.get("error"), str) and result["error"]:
                return str(result["error"])
    return ""


def _seconds(step: dict[str, Any]) -> float:
    times = [_object(step.get("metadata")).get(name) for name in ("step_start_time", "step_end_time")]
    if not all(isinstance(one, int | float) for one in times):
        return 0.0
    start, end = (float(one) for one in times if isinstance(one, int | float))
    return max(0.0, end - start)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
