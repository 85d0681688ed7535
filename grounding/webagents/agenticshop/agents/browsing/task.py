"""One task of the browsing agent, from the first page to the products: look, ask, do, until something ends it.

Whatever goes wrong is a step of the trace. What a task remembers is in here and nowhere else, so a task that was broken
off begins anew.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from grounding.chat import Asked
from grounding.pictures import picture_sizes, prepare_picture
from grounding.planners.outcomes import plan_outcome
from grounding.records import Call, Failure, FailureKind
from grounding.webagents.agenticshop.agents.base import MAX_RAW_CHARS, made
from grounding.webagents.agenticshop.agents.browsing.acting import Aim, Outcome, act, aim, open_address
from grounding.webagents.agenticshop.agents.browsing.grammar import (
    Action,
    Finish,
    Goto,
    Mistake,
    Note,
    Reply,
    action_text,
    read_reply,
)
from grounding.webagents.agenticshop.agents.browsing.limits import BrowsingLimits, Ending, Repeats, dollars_left
from grounding.webagents.agenticshop.agents.browsing.observation import Look, PageLost, look
from grounding.webagents.agenticshop.agents.browsing.pointing import PointFinder
from grounding.webagents.agenticshop.agents.browsing.prompts import (
    BrowsingPrompts,
    Told,
    history_line,
    mistake_text,
    opened_lines,
    page_text,
    system_text,
)
from grounding.webagents.agenticshop.records import (
    COUNTED_PRODUCTS,
    Curated,
    Curation,
    ShopperView,
    TraceStep,
)
from grounding.webagents.agenticshop.web.browser import WebBrowser
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
from grounding.webagents.agenticshop.web.session import BrowsingSession
from grounding.webagents.asking import Opened
from grounding.webagents.calls import together
from grounding.wire import ImagePart, Message, TextPart

MAX_NOTES = 20
_OURS: tuple[Ending, ...] = ("model-failed", "browser-lost")


class Means(NamedTuple):
    """What every task of an agent works with. ``finder`` is None where elements are named by number."""

    opened: Opened
    prompts: BrowsingPrompts
    limits: BrowsingLimits
    finder: PointFinder | None
    evidence: EvidenceFolder
    start_url: str


class _Answer(NamedTuple):
    reply: Reply
    aimed: Aim


class BrowsingTask:
    """A task on its way."""

    def __init__(self, means: Means, view: ShopperView, key: str) -> None:
        self._means = means
        self._view = view
        self._key = key
        self._began = time.monotonic()
        self._system = system_text(means.prompts, view, numbered=means.finder is None, max_steps=means.limits.max_steps)
        self._repeats = Repeats(means.limits.max_repeats)
        self._trace: list[TraceStep] = []
        self._history: list[str] = []
        self._notes: list[str] = []
        self._pages: dict[str, str] = {}
        self._asked_for: set[str] = set()
        self._calls: list[Call] = []
        self._requests = 0
        self._steps = 0
        self._losses = 0
        self._warned = False
        self._raw = ""
        self._ended: Ending | None = None
        self._failure: Failure | None = None
        self._products: tuple[Curated, ...] = ()

    @property
    def has_cost(self) -> bool:
        """Whether any request was made."""
        return bool(self._calls)

    def curation(self, failure: Failure | None = None) -> Curation:
        """What has become of the task so far."""
        return made(
            self._view,
            self._key,
            products=self._products,
            trace=tuple(self._trace),
            raw=self._raw,
            ended=self._ended or "",
            requests=self._requests,
            seconds=time.monotonic() - self._began,
            call=together(self._calls),
            failure=failure or self._failure,
        )

    async def run(self, web: WebBrowser) -> Curation:
        """Work on the task until something ends it. A browser that is lost is started anew, a few times.

        Raises:
            BudgetReached: the run's cost limit leaves no room.
            OSError: a picture can't be kept.
        """
        from playwright.async_api import Error

        while self._ended is None:
            try:
                async with web.session() as session:
                    await self._begin(session)
                    while self._ended is None:
                        await self._step(session)
            except (PageLost, Error) as lost:
                self._lose(str(lost).strip().split("\n")[0][:200])
        return self.curation()

    async def _begin(self, session: BrowsingSession) -> None:
        """The first page: the only shop, the last page that was fine, or a search engine; several shops are named."""
        sites = self._view.sites
        url = next(reversed(self._pages), "") or (sites[0].home_url if len(sites) == 1 else "")
        url = url or ("" if sites else self._means.start_url)
        if not url:
            return
        began = time.monotonic()
        text = await open_address(session, url)
        self._note_step("start", url=url, observation=text, began=began)

    async def _step(self, session: BrowsingSession) -> None:
        self._check_limits()
        if self._ended is not None:
            return
        began = time.monotonic()
        self._steps += 1
        limits = self._means.limits
        seen = await look(
            session.page,
            self._means.evidence,
            numbered=self._means.finder is None,
            within_s=limits.max_page_seconds,
        )
        observation = seen.observation
        if observation.url.startswith(("http://", "https://")):
            self._pages.pop(observation.url, None)
            self._pages[observation.url] = observation.title
        answer = await self._answer(seen)
        if answer is None:
            return
        action = answer.reply.action
        self._take_in(action)
        repeated = self._repeats.note(observation.state, action_text(action))
        try:
            outcome = await act(action, session, seen, answer.aimed, within_s=limits.max_page_seconds)
        except PageLost as lost:
            self._told(answer, seen, Outcome(text=f"the page is lost: {lost}"), began)
            # It is not gone back to: what it did once it would do again.
            self._pages.pop(session.page.url, None)
            raise
        if repeated == "repeated":
            outcome = Outcome(
                text=f"{outcome.text} You have done this on the same page before: do something else.".strip(),
                described=outcome.described,
            )
        self._told(answer, seen, outcome, began)
        if repeated == "loop":
            self._end("loop", f"the same action on the same page {2 * limits.max_repeats} times")

    def _take_in(self, action: Action) -> None:
        match action:
            case Note():
                self._notes = [*self._notes, action.text][-MAX_NOTES:]
            case Goto():
                self._asked_for.add(action.url)
            case Finish():
                self._products = action.products
                self._ended = "finished"

    def _told(self, answer: _Answer, seen: Look, outcome: Outcome, began: float) -> None:
        action = answer.reply.action
        done = action_text(action, outcome.described)
        self._history.append(history_line(self._steps, done, outcome.text))
        never = ""
        if isinstance(action, Finish):
            never = ", ".join(one.url for one in action.products if not self._was_opened(one.url))
        self._trace.append(
            TraceStep(
                action=done,
                url=seen.observation.url,
                thought=answer.reply.thought,
                screenshot=seen.observation.evidence,
                observation=f"never opened: {never}" if never else outcome.text,
                kind=answer.reply.kind,
                seconds=time.monotonic() - began,
            )
        )

    # --- asking ---------------------------------------------------------------------------------------------------

    async def _answer(self, seen: Look) -> _Answer | None:
        """Ask until an answer can be used; None where the task ends over it."""
        limits = self._means.limits
        said: list[Message] = []
        for _ in range(limits.max_invalid):
            began = time.monotonic()
            asked = await self._ask(seen, said)
            if asked.completion is None:
                failure = asked.failure or Failure(kind="error", message="no reply")
                self._end("model-failed", failure.message, kind=failure.kind)
                return None
            self._raw = asked.completion.text[:MAX_RAW_CHARS]
            try:
                outcome = plan_outcome(self._means.opened.card, asked.completion)
                if outcome.text is None:
                    raise Mistake(outcome.failure.message if outcome.failure else "the answer is empty")
                reply = read_reply(outcome.text)
                self._object(reply.action)
                aimed = await aim(reply.action, seen, self._means.finder, f"{self._view.task_id}/{self._steps}")
            except Mistake as mistake:
                self._note_step(
                    "answer that can't be used",
                    url=seen.observation.url,
                    thought=self._raw,
                    observation=str(mistake),
                    began=began,
                )
                said += [_text("assistant", self._raw or "(empty)"), _text("user", self._mistake(mistake))]
                self._check_limits(steps=False)
                if self._ended is not None:
                    return None
                continue
            if aimed.call is not None:
                self._calls.append(aimed.call)
            return _Answer(reply, aimed)
        self._end("invalid-answers", f"{limits.max_invalid} answers in a row could not be used")
        return None

    async def _ask(self, seen: Look, said: list[Message]) -> Asked:
        model, picture = self._means.opened.model, seen.observation.screenshot
        try:
            sizes = picture_sizes(picture.size, model.card.image)
        except ValueError as error:
            return Asked(failure=Failure(kind="error", message=str(error)))
        told = Told(
            steps=tuple(self._history),
            notes=tuple(self._notes),
            opened=opened_lines(tuple(self._pages.items())),
            step=self._steps,
            last=self._steps >= self._means.limits.max_steps,
        )
        text = page_text(self._means.prompts, seen.observation, told, numbered=self._means.finder is None)

        def render() -> list[Message]:
            shown = prepare_picture(picture, model.card.image)
            parts = (TextPart(text=text), ImagePart(url_json=shown.url_json))
            return [_text("system", self._system), Message(role="user", parts=parts), *said]

        asked = await model.send(render, sizes)
        self._requests += 1
        if asked.call is not None:
            self._calls.append(asked.call)
        return asked

    def _mistake(self, mistake: Mistake) -> str:
        return mistake_text(self._means.prompts, str(mistake))

    def _object(self, action: Action) -> None:
        """Say once what is wrong with an end: addresses that were never opened, or too few of them.

        Raises:
            Mistake: something is, there is time to put it right, and it was not said before.
        """
        if not isinstance(action, Finish) or self._warned or self._steps >= self._means.limits.max_steps:
            return
        unknown = [one.url for one in action.products if not self._was_opened(one.url)]
        missing = COUNTED_PRODUCTS - len({one.url for one in action.products})
        wrong = [f"you have not opened {url[:200]}" for url in unknown]
        wrong += [f"{missing} of {COUNTED_PRODUCTS} products are missing"] if missing > 0 else []
        if wrong:
            self._warned = True
            raise Mistake("; ".join(wrong) + ". Open each product's page first, or finish again if you are sure")

    def _was_opened(self, url: str) -> bool:
        return _bare(url) in {_bare(one) for one in (*self._pages, *self._asked_for)}

    # --- ending ---------------------------------------------------------------------------------------------------

    def _check_limits(self, *, steps: bool = True) -> None:
        limits = self._means.limits
        if time.monotonic() - self._began >= limits.max_seconds:
            self._end("time-limit", f"no products within {limits.max_seconds:g} s")
        elif not dollars_left(self._calls, limits.max_usd):
            self._end("dollar-limit", f"no products for ${limits.max_usd:g}")
        elif steps and self._steps >= limits.max_steps:
            self._end("step-limit", f"no products in {limits.max_steps} steps")

    def _lose(self, why: str) -> None:
        """Note that the browser is gone; too often ends the task, which another start of the run may do better."""
        if self._ended is not None:  # It went while it was being closed.
            return
        self._losses += 1
        self._note_step("browser started anew", observation=why, began=time.monotonic())
        self._history.append(history_line(self._steps, "the page crashed or hung", "a new browser was started"))
        if self._losses > self._means.limits.max_losses:
            self._end("browser-lost", f"the browser was lost {self._losses} times: {why}")
        else:
            self._check_limits()

    def _end(self, ending: Ending, why: str, kind: FailureKind | None = None) -> None:
        self._ended = ending
        usual: FailureKind = "error" if ending in _OURS else "unparsed"
        self._failure = Failure(kind=kind or usual, message=why)

    def _note_step(self, action: str, *, began: float, url: str = "", thought: str = "", observation: str = "") -> None:
        seconds = time.monotonic() - began
        self._trace.append(
            TraceStep(action=action, url=url, thought=thought, observation=observation, kind="other", seconds=seconds)
        )


def _text(role: str, text: str) -> Message:
    return Message(
        role="assistant" if role == "assistant" else "system" if role == "system" else "user",
        parts=(TextPart(text=text),),
    )


def _bare(url: str) -> str:
    """An address without what makes no other page of it: the part after #, a slash at its end."""
    return url.partition("#")[0].rstrip("/")
