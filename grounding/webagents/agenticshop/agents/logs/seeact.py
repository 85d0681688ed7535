"""SeeAct's logs: the folder of one task in, what it answered and did out.

From https://github.com/OSU-NLP-Group/SeeAct: ``src/seeact.py`` at 0effe3c and ``seeact_package/seeact/agent.py`` at
0701b4f. Each task has a folder with

- ``result.json``: of the scripts ``{"task_id", "confirmed_task", "website", "success_or_not", "num_step",
  "action_history", "exit_by"}``, of the package ``{"task", "website", "num_step", "action_history"}``; an action reads
  ``[button] Add to cart -> CLICK``, ``GOTO: https://…`` or ``SAY: …``;
- ``all_predictions.json`` (package only): a list of ``{"action_generation", "action_grounding", "element", "action",
  "value"}``;
- ``agent.log`` (package) or ``ID.log`` (scripts), lines ``2024-03-01 10:11:12,345 - message``, among them
  ``Loaded website: …`` and ``Navigated to …``.

The two JSON files are written when the agent stops; of a run that was broken off there is the log alone. SeeAct has no
final answer of its own: what it told the user with ``SAY`` last is taken, else what it kept with ``MEMORIZE``, else the
words with which it terminated.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

from grounding.records import Failure
from grounding.webagents.agenticshop.agents.logs.answers import chosen_products
from grounding.webagents.agenticshop.agents.logs.json_parts import read_list, read_value
from grounding.webagents.agenticshop.agents.logs.places import LogPlace
from grounding.webagents.agenticshop.agents.recorded import RecordedAnswer
from grounding.webagents.agenticshop.records import TraceStep

FILES = r"result\.json|all_predictions\.json|agent\.log|[^/]+\.log"
PREFIX = ""

_STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[,.](\d{3}) - ", re.MULTILINE)
_VISIT = re.compile(r"(?:Loaded website: |Navigated to |Switched the active tab to: |website: )(https?://\S+)")
_DONE = re.compile(
    r"^(?:Clicked on element|Hovered over element|Typed |Scrolled |Pressed |Opened a new tab|Closed the current tab|"
    r"Navigated |Selected option|Say |Keep |Failed to perform|Task has been marked as complete)"
)
_SAID = re.compile(r"^SAY: (.*)$|^Say (.*) to the user$", re.DOTALL)
_KEPT = re.compile(r"^MEMORIZE: (.*)$|^Keep (.*) to the action history\.$", re.DOTALL)
_GOTO = re.compile(r"GOTO: (https?://\S+)")


def read_seeact(place: LogPlace) -> RecordedAnswer:
    """What the log of one task says.

    Raises:
        UserError: A file can't be read.
    """
    results = [read_value(content) for _, content in place.read(r"result\.json")]
    result = next((one for one in results if isinstance(one, dict)), {})
    predictions = [
        one
        for _, content in place.read(r"all_predictions\.json")
        for one in read_list(content)
        if isinstance(one, dict)
    ]
    log = "\n".join(content.decode("utf-8", "replace") for _, content in place.read(r".+\.log"))
    history = [one for one in result.get("action_history") or [] if isinstance(one, str)]
    actions = history or _logged_actions(log)
    trace = _predicted(predictions, str(result.get("website") or ""), log) or _taken(actions)
    answer = _answer(predictions, actions)
    gone_to = [match[1] for action in actions if (match := _GOTO.search(action))]
    products, ended = chosen_products(answer, [*_VISIT.findall(log), *gone_to, *(step.url for step in trace)])
    nothing = not result and not predictions and not _STAMP.search(log)
    exit_by = result.get("exit_by")
    return RecordedAnswer(
        products=products,
        trace=trace,
        raw=answer,
        ended=f"{ended}; exit by {exit_by}" if isinstance(exit_by, str) and exit_by else ended,
        requests=2 * len(predictions),
        seconds=_seconds(log),
        failure=Failure(kind="error", message="there is neither a result nor a line of a log") if nothing else None,
    )


def _predicted(predictions: list[dict[str, Any]], website: str, log: str) -> tuple[TraceStep, ...]:
    """A step for each prediction; its address is that of the last page that is known to have been opened."""
    visits = _VISIT.findall(log)
    url = website if website.startswith("http") else (visits[0] if visits else "")
    steps = []
    for one in predictions:
        element = one.get("element")
        described = element.get("description") if isinstance(element, dict) else ""
        action, value = _plain(one.get("action")), _plain(one.get("value"))
        words = [action, f"on {described}" if described else "", f": {value}" if value not in ("", "None") else ""]
        steps.append(
            TraceStep(
                action=" ".join(word for word in words if word).replace(" :", ":"),
                url=url,
                thought=_plain(one.get("action_generation")),
            )
        )
        if action == "GOTO" and value.startswith("http"):
            url = value
        elif action in ("CLICK", "PRESS ENTER", "GO BACK", "GO FORWARD", "NEW TAB", "CLOSE TAB", "SELECT"):
            # These may lead elsewhere, and the log doesn't say where.
            url = ""
    return tuple(steps)


def _taken(actions: list[str]) -> tuple[TraceStep, ...]:
    """A step for each action that is told in words; of most it is not known where they led."""
    steps = []
    for action in actions:
        match = _GOTO.search(action) or _VISIT.search(action)
        steps.append(TraceStep(action=" ".join(action.split()), url=match[1] if match else ""))
    return tuple(steps)


def _logged_actions(log: str) -> list[str]:
    return [message for message in _messages(log) if _DONE.match(message)]


def _messages(log: str) -> list[str]:
    stamps = list(_STAMP.finditer(log))
    ends = [*(match.start() for match in stamps[1:]), len(log)]
    return [log[match.end() : end].strip() for match, end in zip(stamps, ends, strict=False)]


def _answer(predictions: list[dict[str, Any]], actions: list[str]) -> str:
    for pattern, name in ((_SAID, "SAY"), (_KEPT, "MEMORIZE")):
        said = [_plain(one.get("value")) for one in predictions if one.get("action") == name]
        found = [match for action in actions if (match := pattern.match(action))]
        said += [next(group for group in match.groups() if group is not None) for match in found]
        said = [one for one in said if one and one != "None"]
        if said:
            return said[-1].strip()
    last = predictions[-1] if predictions else {}
    return _plain(last.get("action_generation")) if last.get("action") == "TERMINATE" else ""


def _seconds(log: str) -> float:
    stamps = _STAMP.findall(log)
    if len(stamps) < 2:
        return 0.0
    try:
        first, last = (
            datetime.datetime.fromisoformat(f"{day}.{thousandths}") for day, thousandths in (stamps[0], stamps[-1])
        )
    except ValueError:
        return 0.0
    return max(0.0, (last - first).total_seconds())


def _plain(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
