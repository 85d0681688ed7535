"""The browsing agent: a chat model is shown a page and says what to do on it (``acting``), one tab for each task.

Look, ask, do, until the model finishes, or steps, seconds, answers that can't be read or turning in circles end it.
Whatever goes wrong is a step of the trace. A task that was broken off begins anew.
"""

import io
import tempfile
import time
from collections import Counter
from typing import Any

from grounding.benchmarks.asking import Opened, open_model
from grounding.benchmarks.calls import Wording, fill, read_wording
from grounding.data.images import picture_sizes
from grounding.grounders.base import Grounder
from grounding.llm.budget import together
from grounding.llm.chat import Exchange
from grounding.llm.wire import Message, TextPart
from grounding.planners.prompts import plan_outcome
from grounding.records import Call, Failure, FailureKind, Query
from grounding.run.building import chat_options, open_grounder

from ..asking import LONG_REPLY_TOKENS, picture_part, screenshot_of
from ..records import Curation, Segment, ShopperView, TraceStep
from ..web.evidence import EvidenceFolder
from ..web.guard import VIEWPORT, PageLost
from ..web.render import BrowserTab
from . import acting
from .acting import BrowserAction, Mistake, PageElement, PageSeen, first_line, open_address, quoted
from .base import MAX_RAW_CHARS, MAX_URL_CHARS, AsksFirst, Browses, CurationServices, agent, made, products_of

VERSION = 6  # Goes up with every change of the loop that can change an answer.
# Where a task begins that names no shops: a search engine that needs no script and asks for no consent.
START_URL = "https://duckduckgo.com/"
MAX_CONCURRENCY, MAX_STEPS, MAX_SECONDS = 4, 30, 600.0
HISTORY_STEPS, HISTORY_LINE_CHARS, OPENED_PAGES = 30, 600, 40
MAX_INVALID, MAX_REPEATS, MAX_LOSSES = 3, 5, 3
"""What ends a task: so many unusable answers in a row, the same action on the very same page, lost browsers."""


class BrowsingPrompts(Wording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording.

    ``listed`` belongs to a picture with an outline, ``described`` to one without, where a grounder finds elements by
    their description. ``names`` are those of what is known of a need; a line is left out where nothing is.
    """

    system: str
    listed: str
    described: str
    task: str
    line: str
    names: dict[str, str]
    no_query: str
    page: str
    outline: str
    no_outline: str
    last_step: str
    nothing_yet: str

    def task_text(self, view: ShopperView) -> str:
        need = {words: getattr(view, name) or "" for name, words in self.names.items()}
        context = {name.replace("_", " "): getattr(view.context, name) for name in view.context.__struct_fields__}
        sites = {site.name: site.home_url for site in view.sites}
        said = self._lines(need) + ("" if view.query else f"\n{self.no_query}")
        return fill(self.task, need=said, context=self._lines(context), sites=self._lines(sites))

    def _lines(self, values: dict[str, str]) -> str:
        known = ((name, " ".join(value.split())) for name, value in values.items() if value)
        return "\n".join(fill(self.line, name=name, value=value) for name, value in known)


class BrowsingAgent(Browses, AsksFirst):
    """Shops in a browser by the answers of one chat model, which has to take pictures. ``grounder`` finds elements that
    the model describes in words; None where the model names references.
    """

    def __init__(
        self, opened: Opened, max_steps: int = MAX_STEPS, max_seconds: float = MAX_SECONDS, grounder: Any = None
    ) -> None:
        self.opened, self.card = opened, opened.card
        self.prompts = read_wording("agenticshop", "browsing", BrowsingPrompts)
        self.grounder: Grounder | None = grounder
        self._asked = [opened.model] if grounder is None else [opened.model, grounder]
        self.most_requests = self.max_steps = max_steps
        self.max_seconds = max_seconds
        self.name, finder = "browsing", ""
        if grounder is not None:
            self.name, finder = f"browsing+{grounder.name}", f"|{grounder.identity}"
            self.uncounted = f"its grounder {grounder.name} is asked for every click and every text: not counted"
        self.max_concurrency = max(1, min(MAX_CONCURRENCY, opened.model.max_concurrency))
        self.identity = (
            f"browsing:{VERSION}|{opened.model.identity}|{self.prompts.label}|max_steps={max_steps} "
            f"max_seconds={max_seconds}|acting:{acting.VERSION}|{START_URL}{finder}"
        )

    async def first(self, view: ShopperView) -> None:
        """Raise the first request of a task, with an empty page: no browser is started for it."""
        from PIL import Image

        with tempfile.TemporaryDirectory(prefix="grounding-dry-run-") as folder, io.BytesIO() as png:
            Image.new("RGB", (VIEWPORT.width, VIEWPORT.height), "white").save(png, "PNG")
            self.evidence = EvidenceFolder(folder)
            picture = Segment(file=self.evidence.put(png.getvalue(), ".png"), size=VIEWPORT, top_px=0)
            await BrowsingTask(self, view).ask(PageSeen(url=START_URL, picture=picture))

    async def curate(self, view: ShopperView, key: str) -> Curation:
        return await BrowsingTask(self, view).run(key)

    async def check(self) -> None:
        for one in self._asked:
            await one.check()

    async def aclose(self) -> None:
        for one in self._asked:
            await one.aclose()


class BrowsingTask:
    """A task on its way: what was done so far, and how it ended."""

    def __init__(self, agent: BrowsingAgent, view: ShopperView) -> None:
        self.calls: list[Call] = []
        self._agent, self._view, self._prompts = agent, view, agent.prompts
        self._began = time.monotonic()
        self._repeats: Counter[tuple[str, ...]] = Counter()
        self._trace: list[TraceStep] = []
        self._pages: dict[str, str] = {}
        self._requests = self._steps = self._invalid = 0
        self._found: dict[str, Any] = {"ended": ""}

    async def run(self, key: str) -> Curation:
        """Work on the task until something ends it. A browser that is lost is started anew, a few times."""
        from playwright.async_api import Error

        losses = 0
        while not self._found["ended"]:
            try:
                async with self._agent.web.session() as tab:
                    # The last page that was fine, the only shop, or a search engine; several shops are named.
                    sites = self._view.sites
                    home = START_URL if not sites else sites[0].home_url if len(sites) == 1 else ""
                    if url := next(reversed(self._pages), home):
                        self._note("start", url, await open_address(tab, url))
                    while not self._found["ended"]:
                        await self._step(tab)
            except (PageLost, Error) as lost:
                if self._found["ended"]:  # It went while it was being closed.
                    break
                why = first_line(lost)
                losses += 1
                self._note("browser started anew", observation=f"the page crashed or hung: {why}")
                if losses > MAX_LOSSES:
                    # Another start of the run may do better.
                    self.end("browser-lost", f"the browser was lost {losses} times: {why}", kind="error")
        about = {"trace": tuple(self._trace), "requests": self._requests, "call": together(self.calls)}
        return made(self._view, key, **about, **self._found, seconds=time.monotonic() - self._began)

    async def _step(self, tab: BrowserTab) -> None:
        agent = self._agent
        if time.monotonic() - self._began >= agent.max_seconds:
            return self.end("time-limit", f"no products within {agent.max_seconds:g} s")
        if self._steps >= agent.max_steps:
            return self.end("step-limit", f"no products in {agent.max_steps} steps")
        self._steps += 1
        seen = await acting.look(tab.page, agent.evidence)
        if seen.url.startswith(("http://", "https://")):
            self._pages.pop(seen.url, None)
            self._pages[seen.url] = seen.title
        asked = await self.ask(seen)
        if asked.completion is None:
            failure = asked.failure or Failure(kind="error", message="no reply")
            return self.end("model-failed", failure.message, kind=failure.kind)
        self._found["raw"] = raw = asked.completion.text[:MAX_RAW_CHARS]
        try:
            outcome = plan_outcome(agent.opened.card, asked.completion)
            if outcome.text is None:
                raise Mistake(outcome.failure.message if outcome.failure else "the answer is empty")
            action = acting.read_reply(outcome.text)
            element = await self._element(action, tab, seen)
        except Mistake as mistake:
            self._note("answer that can't be used", seen.url, str(mistake), thought=raw)
            self._invalid += 1
            if self._invalid >= MAX_INVALID:
                self.end("invalid-answers", f"{MAX_INVALID} answers in a row could not be used")
            return None
        self._invalid = 0
        if action.action == "finish":
            self._found |= {"ended": "finished", "products": products_of(list(action.products))}
        done = action.told("" if element.node is None else str(element))
        about = {"thought": " ".join(action.thought.split()), "screenshot": seen.picture.file, "kind": action.kind}
        try:
            self._note(done, seen.url, await acting.act(action, tab, element), **about)
        except PageLost as lost:
            # It is not gone back to: what it did once it would do again.
            self._pages.pop(tab.page.url[:MAX_URL_CHARS], None)
            self._note(done, seen.url, f"the page is lost: {lost}", **about)
            raise
        state = (seen.url, seen.place, seen.outline, done)
        self._repeats[state] += 1
        if self._repeats[state] >= MAX_REPEATS:
            self.end("loop", f"the same action on the same page {MAX_REPEATS} times")
        return None

    async def _element(self, action: BrowserAction, tab: BrowserTab, seen: PageSeen) -> PageElement:
        """What an action is for. Raises a Mistake where it names a reference that can't be used."""
        grounder = self._agent.grounder
        if action.action not in ("click", "type"):
            return PageElement()
        if grounder is None:
            reference = acting.reference_of(action, seen.outline)
            return await acting.find(action, tab.page, reference)
        step_id = f"{self._view.task_id}/{self._steps}"
        shot = screenshot_of(seen.picture, self._agent.evidence)
        said = await grounder.ground(Query(step_id=step_id, key="", screenshot=shot, instruction=action.element))
        self.calls += [said.call] if said.call is not None else []
        if said.point is None:
            why = said.failure.message if said.failure else "it gave no point"
            return PageElement(problem=f"{grounder.name} found nothing for these words: {why[:200]}")
        return await acting.find(action, tab.page, said.point)

    async def ask(self, seen: PageSeen) -> Exchange:
        model, rule = self._agent.opened.model, self._agent.card.image
        system, text = TextPart(text=self.system_text()), TextPart(text=self.page_text(seen))

        def render() -> list[Message]:
            shown = picture_part(seen.picture, self._agent.evidence, rule)
            return [Message(role="system", parts=(system,)), Message(role="user", parts=(text, shown))]

        asked = await model.send(render, picture_sizes(seen.picture.size, rule))
        self._requests += 1
        self.calls += [asked.call] if asked.call is not None else []
        return asked

    def system_text(self) -> str:
        prompts, steps = self._prompts, str(self._agent.max_steps)
        actions = prompts.listed if self._agent.grounder is None else prompts.described
        return fill(prompts.system, actions=actions, task=prompts.task_text(self._view), steps=steps)

    def page_text(self, seen: PageSeen) -> str:
        prompts = self._prompts
        opened = [f"- {url} {quoted(title, 80)}" for url, title in self._pages.items()]
        listed = prompts.outline if self._agent.grounder is None else prompts.no_outline
        history = []
        for number, step in enumerate(self._trace, 1):
            because = f" because {quoted(step.thought, 200)}" if step.thought else ""
            came = f" -> {step.observation}" if step.observation else ""
            history.append(" ".join(f"{number}. {step.action}{came}{because}".split())[:HISTORY_LINE_CHARS])
        return fill(
            prompts.page,
            step=str(max(1, self._steps)),
            url=seen.url,
            title=quoted(seen.title, 150),
            place=seen.place,
            list=fill(listed, outline=seen.outline or prompts.nothing_yet),
            history="\n".join(history[-HISTORY_STEPS:]) or prompts.nothing_yet,
            opened="\n".join(opened[-OPENED_PAGES:]) or prompts.nothing_yet,
            last=prompts.last_step if self._steps >= self._agent.max_steps else "",
        ).rstrip()

    def _note(self, action: str, url: str = "", observation: str = "", **more: Any) -> None:
        self._trace.append(TraceStep(action=action, url=url, observation=observation, **{"kind": "other"} | more))

    def end(self, ending: str, why: str, kind: FailureKind = "unparsed") -> None:
        self._found |= {"ended": ending, "failure": Failure(kind=kind, message=why)}


@agent(
    "browsing",
    "a chat model that sees screenshots and outlines of pages in Chromium, and clicks, types and scrolls",
    needs="model",
)
def _browsing(given: CurationServices) -> BrowsingAgent:
    options = given.options
    model_url, grounder_url = options.agent_urls
    told: dict[str, Any] = {"budget": given.budget, "progress": given.progress, "cost_limit": options.cost_limit}
    told |= {"option": "--model", "min_output_tokens": LONG_REPLY_TOKENS}
    opened, finder = open_model(str(options.model), chat_options(options, model_url), model=None, **told), None
    if options.grounder is not None:
        chat = chat_options(options, grounder_url)
        finder = open_grounder(options.grounder, chat, given.budget, given.progress.retried).grounder
    max_steps, max_seconds = options.max_steps or MAX_STEPS, options.max_seconds or MAX_SECONDS
    return BrowsingAgent(opened, max_steps=max_steps, max_seconds=max_seconds, grounder=finder)
