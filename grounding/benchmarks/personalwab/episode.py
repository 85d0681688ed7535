"""One episode: an agent, the web and, in the multi-turn track, a user; a task in, everything that happened out.

Single-turn (paper, section 3.3): the first call of one of the three functions that end a task ends it, also one that
was refused; so does talking, because nobody listens. Multi-turn: the agent's ``stop`` or the limit of steps ends it.
The user is a chat model, rules, or a person at the terminal, and hears what is said to it, never results.
"""

import asyncio
import hashlib
import sys
import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import msgspec

from grounding.benchmarks.personalwab import records
from grounding.benchmarks.personalwab.agents.chat import NoMove, Play, ShopAgent, completion_of, said, text_message
from grounding.benchmarks.personalwab.prompts import FUNCTION_OF, product_text, shop_prompts, user_text
from grounding.benchmarks.personalwab.records import EndReason, Episode, Profile, ShopTask
from grounding.benchmarks.personalwab.web import WebFunctions, terms
from grounding.errors import Halted
from grounding.llm.budget import together
from grounding.llm.chat import NO_PICTURES, ChatModel
from grounding.llm.wire import Message
from grounding.records import Failure
from grounding.run.journal import Journal

MAX_REPLY_CHARS = 4_000
YES, NO = "Yes, that is the one.", "No, that is not it."


def view_of(task: ShopTask, product: records.Product | None) -> records.TaskView:
    """What an agent may know of a task; the product is told for reviews alone."""
    told = {name: getattr(task, name) for name in ("user_id", "instruction", "timestamp_ms")}
    return records.TaskView(task_id=task.id, **told, review_product=product if task.type == "review" else None)


class ScriptedUser:
    """Answers by rules: yes to its product, no to others with a hint that changes with every question. A product counts
    as named when its id or all the terms of its title are said.
    """

    identity = "scripted:1"

    def __init__(self, dataset: records.ShopDataset) -> None:
        self.products, self._users = dataset.products, dataset.users

    def profile(self, task: ShopTask) -> Profile:
        user = self._users.get(task.user_id)
        return user.profile if user and user.profile else Profile()

    async def opening(self, task: ShopTask) -> str:  # noqa: ARG002
        """What the user says first; "" for the task's instruction."""
        return ""

    async def reply(self, task: ShopTask, play: Play, heard: str) -> str:
        product = self.products[task.target_asin]
        if task.type == "review":
            rating = None if task.target_review is None else task.target_review.rating
            if rating is None:
                return "Please write it the way I would."
            felt = "I was happy with it." if rating >= 4 else "I was not happy with it." if rating <= 2 else ""
            return f"Please write it the way I would. {felt or 'It was all right.'}"
        title = set(terms(product.title))
        if product.asin in heard or (title and title <= set(terms(heard))):
            return YES
        # Never its title.
        focus = self.profile(task).focus_aspect
        known = {
            f"What matters to me: {focus}.": focus,
            f"I mean something from {product.store}.": product.store,
            f"It belongs to {''.join(product.categories[-1:])}.": product.categories,
            f"It should cost about {product.price}.": product.price not in (None, "", "None"),
        }
        hints = [hint for hint, is_known in known.items() if is_known] or ["Something else, please."]
        asked = sum(turn.call.name == "respond" for turn in play.turns)
        first = int.from_bytes(hashlib.sha256(task.id.encode()).digest()[:2], "big")
        return f"{NO} {hints[(first + asked) % len(hints)]}"


class ModelUser(ScriptedUser):
    def __init__(self, dataset: records.ShopDataset, model: ChatModel) -> None:
        super().__init__(dataset)
        self._model = model
        self.identity = f"model-user:1|{model.identity}|{shop_prompts().label}"

    async def reply(self, task: ShopTask, play: Play, heard: str) -> str:
        def messages() -> list[Message]:
            told = user_text(task, self.profile(task), self.products[task.target_asin])
            spoken = [("user", shop_prompts().user_greeting), ("assistant", task.instruction)]
            for turn in play.turns:
                if turn.call.name == "respond":
                    spoken += [("user", said(turn.call)), ("assistant", turn.user_reply or "")]
            lines = [("system", told), *spoken, ("user", heard)]
            return [text_message(role, text) for role, text in lines]  # type: ignore[arg-type]

        asked = await self._model.send(messages, NO_PICTURES)
        return completion_of(asked, play.user_calls).text[:MAX_REPLY_CHARS]


class HumanUser(ScriptedUser):
    identity = "human:1"

    async def opening(self, task: ShopTask) -> str:
        own = "" if task.type != "review" or task.target_review is None else f"\nyour review: {task.target_review.text}"
        title = f"--- task {task.id} ({task.type}), user {task.user_id}"
        return await _typed(f"\n{title}\n{task.instruction}\n{product_text(self.products[task.target_asin])}{own}")

    async def reply(self, task: ShopTask, play: Play, heard: str) -> str:  # noqa: ARG002
        return await _typed(f"\nagent: {heard}")


async def _typed(shown: str) -> str:
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        print(f"{shown}\nyou: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        loop.call_soon_threadsafe(heard.set_result, line)

    threading.Thread(target=read, daemon=True).start()
    line = await heard
    if not line:
        raise NoMove("error", "the input ended where the user was to type")
    return line.rstrip("\n")[:MAX_REPLY_CHARS]


@dataclass
class EpisodeStage:
    agent: ShopAgent
    functions: WebFunctions
    user: ScriptedUser | None
    journal: Journal[Episode]
    track: records.Track
    max_steps: int
    shop: str

    def __post_init__(self) -> None:
        self.name = "act"
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # One person types one line at a time.
        self.max_concurrency = 1 if isinstance(self.user, HumanUser) else self.agent.max_concurrency
        heard = "" if self.user is None else self.user.identity
        limits = (self.track, self.max_steps, self.shop)
        self._made_by = (self.agent.identity, self.functions.identity, heard, *limits)
        self.identity = msgspec.json.encode(self._made_by).decode()

    def item_id(self, item: ShopTask) -> str:
        return item.id

    def key(self, item: ShopTask, earlier: None) -> str:  # noqa: ARG002
        return hashlib.sha256(msgspec.json.encode((*self._made_by, item))).hexdigest()[:32]

    def failed(self, item: ShopTask, key: str, failure: Failure) -> Episode:
        return Episode(task_id=item.id, key=key, failure=failure)

    def take_up(self, tasks: Sequence[ShopTask]) -> None:
        """Let an agent that carries something on know of the tasks that are done already."""
        for task in tasks if self.agent.carries_on else ():
            episode = self.journal.settled(task.id, self.key(task, None))
            if episode is not None:
                self.agent.take_up(task.user_id, episode)

    async def run(self, item: ShopTask, earlier: None, key: str) -> Episode:  # noqa: ARG002
        """Play the episode. Failures are recorded, not raised; a Halted before the first request is raised. Raises
        UserError where a model refuses every request.
        """
        view = view_of(item, self.functions.products.get(item.target_asin))
        play = Play(view=view, track=self.track, max_steps=self.max_steps)
        end: EndReason = "failed"
        failure: Failure | None = None
        async with self._locks[item.user_id] if self.agent.carries_on else nullcontext():
            try:
                end = await self._play(play, item)
                await self.agent.finish(play)
            except NoMove as reason:
                failure = reason.failure
                end = "gave-up" if failure.kind == "unparsed" else "failed"
            except Halted as reached:
                if not play.calls and not play.user_calls:
                    raise
                failure, end = Failure(kind="error", message=f"broken off: {reached}"), "failed"
        return Episode(
            task_id=item.id,
            key=key,
            turns=tuple(play.turns),
            end=end,
            memory=play.memory.text,
            memory_behaviours=len(play.memory.chosen),
            likings=play.likings,
            opening=play.view.opening,
            predicted_type=play.predicted,
            call=together(play.calls),
            user_call=together(play.user_calls),
            failure=failure,
        )

    async def _play(self, play: Play, task: ShopTask) -> EndReason:
        user = None if play.track == "single" else self.user
        if user is not None:
            play.view = msgspec.structs.replace(play.view, opening=await user.opening(task))
        await self.agent.start(play)
        for _ in range(play.max_steps):
            turn = await self.agent.move(play)
            name, told = turn.call.name, ""
            if name != "respond":
                play.turns.append(msgspec.structs.replace(turn, observation=self.functions.call(turn.call)))
            elif user is None:
                play.turns.append(turn)
                return "responded"
            else:
                try:
                    told = await user.reply(task, play, said(turn.call))
                finally:  # Where no answer comes the turn is kept without one.
                    play.turns.append(msgspec.structs.replace(turn, user_reply=told))
                await self.agent.reflect(play)
            if name == "stop":
                return "stopped"
            if play.track == "single" and name in FUNCTION_OF.values():
                return "terminal-call"
        return "step-limit"
