"""The planner of a card: a chat model is shown the step, and the plan is taken out of its reply."""

import datetime
import re

from grounding.cards import PlannerCard
from grounding.errors import UserError
from grounding.llm.chat import ChatModel
from grounding.planners.prompts import has_retired, plan_outcome, refusal
from grounding.records import Failure, Plan, Query


class ChatPlanner:
    """Asks a chat model for the plan. ``today`` is the day by which the vendor's own endpoint may have retired the
    model; None where the address is the user's.
    """

    def __init__(self, card: PlannerCard, model: ChatModel, *, today: datetime.date | None = None) -> None:
        self._card, self._model, self._today = card, model, today
        self.name, self.identity, self.reads = card.name, model.identity, card.reads
        self.max_concurrency = model.max_concurrency
        self.request_for, self.count, self.aclose = model.request_for, model.count, model.aclose

    async def plan(self, query: Query) -> Plan:
        """Ask once; an empty reply, a refusal or one without a plan is ``unparsed``, kept in full."""
        asked = await self._model.ask(query)
        if asked.completion is None:
            return Plan(step_id=query.step_id, key=query.key, text=None, failure=asked.failure, call=asked.call)
        outcome = plan_outcome(self._card, asked.completion)
        return Plan(
            step_id=query.step_id,
            key=query.key,
            text=outcome.text,
            raw=asked.completion.text,
            failure=outcome.failure,
            call=asked.call,
        )

    async def check(self) -> None:
        """Refuse a model that its vendor has retired, then ask the endpoint whether it serves the model."""
        if self._today is not None and has_retired(self._card, self._today):
            raise UserError(refusal(self._card))
        await self._model.check()


# Marks of lists, headings and bold print may stand around the number, the word "step" before it.
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*#>+][ \t]*)*(?:step[ \t]+)?(?P<number>\d{1,3})[ \t]*[.):](?!\d)[*_]*[ \t]*(?P<text>.*)",
    re.IGNORECASE,
)


def read_actions(reply: str) -> tuple[str, ...]:
    """The items of the last numbered list in a reply, each on one line; none where there is no list. An item begins
    with the number that comes next; a number 1 begins a list anew, so that a list in the model's own deliberation is
    not taken for its answer. Lines in between, and lists that are indented deeper, belong to the item above them; text
    after an empty line that is not indented belongs to none. A reply of one line without a number is a list of one
    item. An item without words is "".
    """
    lines = [line.rstrip() for line in reply.strip().splitlines()]
    if len(lines) == 1 and not _ITEM.fullmatch(lines[0]):
        return (" ".join(lines[0].split()),) if lines[0] else ()
    items: list[list[str]] = []
    indent, ended = 0, False
    for line, before in zip(lines, ["", *lines], strict=False):
        found = _ITEM.fullmatch(line)
        if found and int(found["number"]) == 1 and (not items or ended or len(found["indent"]) <= indent):
            items, indent, ended = [[found["text"]]], len(found["indent"]), False
        elif found and items and int(found["number"]) == len(items) + 1 and len(found["indent"]) <= indent:
            items.append([found["text"]])
            ended = False
        elif items and not before and line and not line[0].isspace():
            ended = True
        elif items and not ended:
            items[-1].append(line)
    return tuple(" ".join(" ".join(item).split()) for item in items)


def nth_plan(whole: Plan, position: int, *, step_id: str, key: str, leads: bool) -> Plan:
    """The plan of one step out of the plan for its whole instruction. What the request took and the reply as it came
    stay with one step, the leading one, so that nothing is counted twice. A step for which the list has no item is
    ``unparsed``: nothing is made up for it. ``position``: so many scored steps of the instruction came before this one;
    ``leads``: it is the first of them in the run.
    """
    raw, call = (whole.raw, whole.call) if leads else (None, None)

    def plan(text: str | None, failure: Failure | None) -> Plan:
        return Plan(step_id=step_id, key=key, text=text, raw=raw, failure=failure, call=call, reused=whole.reused)

    if whole.text is None or whole.failure is not None:
        return plan(None, whole.failure or _unparsed("the plan for the whole instruction is empty"))
    actions = read_actions(whole.text)
    if position < len(actions) and not actions[position]:
        return plan(None, _unparsed(f"action {position + 1} of the plan for the whole instruction is empty"))
    if position < len(actions):
        return plan(actions[position], None)
    if not actions:
        return plan(None, _unparsed("the plan for the whole instruction has no numbered list in it"))
    count = "1 action" if len(actions) == 1 else f"{len(actions)} actions"
    return plan(None, _unparsed(f"the plan for the whole instruction has {count}; this is its step {position + 1}"))


def _unparsed(message: str) -> Failure:
    return Failure(kind="unparsed", message=message)
