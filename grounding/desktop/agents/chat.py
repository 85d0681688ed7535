"""The agent of a card: a chat model is shown the step, and what it writes is read as one of the twelve actions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from grounding.actions import print_action
from grounding.budget import BudgetReached
from grounding.chat import ChatModel, render_messages, too_long
from grounding.desktop.agents.asking import Asking, task_text
from grounding.desktop.agents.base import ActQuery, failed
from grounding.desktop.agents.reading import ReadReply, read_reply
from grounding.desktop_records import DesktopPrediction
from grounding.identity import card_identity
from grounding.pictures import picture_sizes, prepare_picture
from grounding.records import Call, Failure, ImageSizes, Query, Usage
from grounding.scoring.desktop import FORMAT_FAILED, official_action
from grounding.wire import Message, TextPart

_NOTHING = ("", "None")
"""What the released agent takes for a reply without an action."""


class ChatAgent:
    """Asks a chat model what to do, again where its reply holds no action."""

    def __init__(self, asking: Asking, model: ChatModel) -> None:
        self._asking = asking
        self._model = model
        self.name = asking.card.name

    @property
    def identity(self) -> str:
        """Model, prompt, image rule, parameters as sent, space, tries and what is said between them."""
        asked = self._asking
        return card_identity(
            self._model.card,
            leave_out=("answer",),
            parameters=self._model.parameters,
            style=asked.style,
            space=asked.space,
            scroll_in_pixels=asked.scroll_in_pixels,
            attempts=asked.attempts,
            feedback=asked.feedback if asked.attempts > 1 else "",
        )

    @property
    def max_concurrency(self) -> int:
        """The model's connections, and the pictures made ready for the next requests."""
        return self._model.max_concurrency

    async def act(self, query: ActQuery) -> DesktopPrediction:
        """Ask until a reply holds an action, as often as allowed; every reply is kept, and what each took.

        In PERCU's style a reply holds one where the released agent would find one; in the model's own where it can be
        read at all.
        """
        card = self._asking.card
        long = too_long(card, task_text(query))
        if long is not None:
            return failed(query, long)
        try:
            sizes = picture_sizes(query.screenshot.size, card.image)
        except ValueError as error:
            return failed(query, Failure(kind="error", message=f"{query.screenshot.path}: {error}"))
        replies: list[str] = []
        calls: list[Call] = []
        feedback = ""
        while True:
            answer = await self._send(query, sizes, feedback, paid=bool(calls))
            calls += [answer.call] if answer.call is not None else []
            if answer.failure is not None:
                return _answer(query, sizes, replies, calls, read=ReadReply(failure=answer.failure), text="")
            replies.append(answer.text)
            whole = (card.prefill or "") + answer.text
            read = read_reply(
                whole,
                space=self._asking.space,
                sizes=sizes,
                scroll_in_pixels=self._asking.scroll_in_pixels,
            )
            text = self._action_text(whole, read, sizes)
            understood = text not in _NOTHING if self._asking.style == "percu" else read.action is not None
            if understood:
                return _answer(query, sizes, replies, calls, read=read, text=text)
            if len(replies) == self._asking.attempts:
                return _answer(query, sizes, replies, calls, read=read, text=FORMAT_FAILED)
            feedback = self._asking.feedback

    def _action_text(self, reply: str, read: ReadReply, sizes: ImageSizes) -> str:
        """What the released matcher is given: its own cut of the reply, or the action after conversion to pixels."""
        if self._asking.style == "native" and read.action is not None:
            return print_action(read.action)
        return official_action(reply, sizes.original)

    async def _send(self, query: ActQuery, sizes: ImageSizes, feedback: str, *, paid: bool) -> _Answer:
        try:
            asked = await self._model.send(lambda: self.messages(query, feedback), sizes)
        except BudgetReached as reached:
            if not paid:
                raise
            # What the replies before cost must not be forgotten: only a record keeps it.
            return _Answer(failure=Failure(kind="error", message=f"no other try: {reached}"))
        if asked.completion is None:
            failure = asked.failure or Failure(kind="error", message="no reply")
            return _Answer(failure=failure, call=asked.call)
        return _Answer(text=asked.completion.text, call=asked.call)

    def messages(self, query: ActQuery, feedback: str = "") -> tuple[Message, ...]:
        """The conversation about a step: the prompt with memory and instruction, the screenshot, a note at the end.

        Raises:
            ValueError: the picture can't be read, or the model refuses its shape.
        """
        card = self._asking.card
        try:
            picture = prepare_picture(query.screenshot, card.image)
        except (OSError, ValueError) as error:
            raise ValueError(f"{query.screenshot.path}: {error}") from error
        asked = Query(step_id=query.step_id, key=query.key, screenshot=query.screenshot, instruction=task_text(query))
        messages = render_messages(card, asked, picture)
        return _with_feedback(messages, feedback) if feedback else messages

    async def check(self) -> None:
        """Ask the endpoint whether it serves the model."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._model.aclose()


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One reply, or why there is none."""

    text: str = ""
    call: Call | None = None
    failure: Failure | None = None


def _with_feedback(messages: Sequence[Message], feedback: str) -> tuple[Message, ...]:
    """The note behind the last text of the user's message."""
    changed = []
    for message in messages:
        if message.role == "user":
            parts = list(message.parts)
            last = max(index for index, part in enumerate(parts) if isinstance(part, TextPart))
            before = parts[last]
            parts[last] = TextPart(text=(before.text if isinstance(before, TextPart) else "") + feedback)
            message = Message(role="user", parts=tuple(parts))
        changed.append(message)
    return tuple(changed)


def _answer(
    query: ActQuery, sizes: ImageSizes, replies: Sequence[str], calls: Sequence[Call], *, read: ReadReply, text: str
) -> DesktopPrediction:
    return DesktopPrediction(
        step_id=query.step_id,
        key=query.key,
        action=read.action,
        action_text=text,
        raw=replies[-1] if replies else None,
        earlier_raw=tuple(replies[:-1]),
        asked=max(1, len(replies)),
        sizes=sizes,
        failure=read.failure,
        call=merged(calls),
    )


def merged(calls: Sequence[Call]) -> Call | None:
    """Several requests about one step as one call: the last one's time and tokens, the others' beside them."""
    if not calls:
        return None
    *before, last = calls
    wasted = [usage for call in before for usage in (call.usage, call.failed_usage) if usage is not None]
    wasted += [last.failed_usage] if last.failed_usage is not None else []
    known = [call.cost_usd for call in calls if call.cost_usd is not None]
    return msgspec.structs.replace(
        last,
        seconds=sum(call.seconds for call in calls),
        attempts=sum(call.attempts for call in calls),
        failed_usage=_sum(wasted),
        cost_usd=math.fsum(known) if known else None,
        unreported_usd=math.fsum(call.unreported_usd for call in calls),
    )


def _sum(usages: Sequence[Usage]) -> Usage | None:
    if not usages:
        return None
    return Usage(
        input_tokens=sum(one.input_tokens for one in usages),
        output_tokens=sum(one.output_tokens for one in usages),
        cached_input_tokens=sum(one.cached_input_tokens for one in usages),
        reasoning_tokens=sum(one.reasoning_tokens for one in usages),
    )
