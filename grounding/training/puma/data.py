"""What PUMA learns from: a shop divided, what the model is told of a task, and the parameters that its SFT learns.

PersonalWAB cuts each user's purchases by time, so most users have instructions to train on and, later, instructions to
be tested on. What is tested is never trained on, nor anything made after it; whole users can be kept for the test too
(``--hold-out user=…``). Of the users that train, some are held out: their pairs measure the preference accuracy.

Parameters (paper, section 5.2). Search: a chat model writes the query, or it is made of the instruction's and the
memory's own words. Recommendation: the most recent products of the target's category, in the memory (paper) or in the
whole history (release, PUMA/prepare_param_data.py), the latest last, as the web function asks for. Review: the user's.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grounding.benchmarks.asking import AnswerStage, StoredAnswer, ask_all, last_answer, new_progress, open_model, paid
from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab.agents.offline import meant_category
from grounding.benchmarks.personalwab.agents.puma import Tokens, parameter_prompt
from grounding.benchmarks.personalwab.episode import view_of
from grounding.benchmarks.personalwab.prompts import (
    FUNCTION_OF,
    Embed,
    Memory,
    Recalled,
    function_prompt,
    puma_prompts,
    shop_prompts,
)
from grounding.benchmarks.personalwab.records import Product, ShopDataset, ShopTask, ShopUser
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import NO_PICTURES, ChatOptions
from grounding.llm.wire import Message, TextPart
from grounding.options import Display
from grounding.planners.prompts import plan_outcome
from grounding.records import Failure, Record
from grounding.run.journal import Journal
from grounding.training.recipes import LabelRule
from grounding.training.records import TextExample


class PumaSplit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``split.json``: ids of tasks and users.

    ``train`` and ``held_out`` are tasks of the list ``train``; their users have nothing in common. ``test_users`` are
    kept for the test whole (empty: every user of the list ``test`` is tested, on later instructions). ``left_out`` are
    tasks of the list ``train`` that are used for nothing: of test users, in words of the same user that are tested too,
    or from a time when a purchase that is tested had been made.
    """

    train: tuple[str, ...]
    held_out: tuple[str, ...]
    train_users: tuple[str, ...]
    held_out_users: tuple[str, ...]
    test_users: tuple[str, ...]
    left_out: dict[str, tuple[str, ...]]
    tested: int


def split_tasks(
    train: Sequence[ShopTask],
    test: Sequence[ShopTask],
    users: dict[str, ShopUser],
    *,
    share: float,
    seed: int,
    test_users: Collection[str] = (),
) -> PumaSplit:
    """Divide the list ``train``: ``share`` of its users, chosen by ``seed``, are held out.

    ``test_users`` are kept for the test whole. A task that gives something of the test away is left out.

    Raises UserError: a test user is unknown, or nothing is left.
    """
    known = {task.user_id for task in (*train, *test)}
    strangers = sorted(set(test_users) - known)
    if strangers:
        raise UserError(f"--hold-out user={strangers[0]}: no task is of this user; users look like {min(known)}")
    rest = [task for task in train if task.user_id not in test_users]
    words = {(task.user_id, task.instruction) for task in test}
    bought = {(task.user_id, task.target_asin, task.timestamp_ms) for task in test}

    def knows(task: ShopTask) -> bool:
        """Whether it was made after a purchase of the test."""
        return any(
            one.review.timestamp_ms < task.timestamp_ms
            and (one.split == "test" or (task.user_id, one.asin, one.review.timestamp_ms) in bought)
            for one in users[task.user_id].behaviours
        )

    reasons = {
        "have the words of a task of the same user in the test": tuple(
            task.id for task in rest if (task.user_id, task.instruction) in words
        ),
        "come after a purchase of the test": tuple(task.id for task in rest if knows(task)),
    }
    left = {id_ for ids in reasons.values() for id_ in ids}
    usable = [task for task in rest if task.id not in left]
    everyone = {task.user_id for task in usable}
    ranked = sorted(everyone, key=lambda user: hashlib.sha256(f"{seed}:{user}".encode()).digest())
    held = set(ranked[: max(1, round(share * len(ranked))) if share else 0])
    kept = tuple(task.id for task in train if task.user_id in test_users)
    split = PumaSplit(
        train=tuple(task.id for task in usable if task.user_id not in held),
        held_out=tuple(task.id for task in usable if task.user_id in held),
        train_users=tuple(sorted(everyone - held)),
        held_out_users=tuple(sorted(held)),
        test_users=tuple(sorted(test_users)),
        left_out={"are of users that are kept for the test": kept, **reasons},
        tested=sum(not test_users or task.user_id in test_users for task in test),
    )
    if not split.train:
        raise UserError("no task is left to train on; hold fewer users out")
    return split


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What the model is told of tasks of one shop: prompts, with a memory of ``tokens`` where it is ``told`` one.
    ``length`` is the memory's, in behaviours.
    """

    dataset: ShopDataset
    tokenizer: Tokens
    embed: Embed
    length: int
    tokens: int
    told: bool = True

    def parameter(self, task: ShopTask, *, most_tokens: int | None = None) -> str | None:
        """The prompt for the parameter of a task's own function; None where it doesn't fit even without a memory."""
        limit, view = self.tokens if self.told else 0, view_of(task, self.dataset.products.get(task.target_asin))
        while True:
            text = self.remembered(task, limit).text if limit > 0 else ""
            prompt = parameter_prompt(shop_prompts(), view, task.type, text, learned=puma_prompts())
            over = 0 if most_tokens is None else self.tokenizer.count(prompt) - most_tokens
            if over <= 0 or limit == 0:
                return prompt if over <= 0 else None
            limit = max(0, limit - over)

    def remembered(self, task: ShopTask, tokens: int | None) -> Recalled:
        """The memory of a task, cut at so many tokens (None: whole), whether the model is told it or not."""
        how: dict[str, Any] = {"length": self.length, "cut": self.tokenizer.cut, "embed": self.embed}
        memory = Memory("task-specific", self.dataset, shop_prompts(), max_tokens=tokens, **how)
        return memory.recall(view_of(task, self.dataset.products.get(task.target_asin)), predicted=task.type)


_WORD = re.compile(r"[^\W_]+(?:['\-.][^\W_]+)*")
_ASKED_BY = (
    "a am an and any anything are at be but can cheers could could've do don't find for from get give good have "
    "hello help here hey hi i i'd i'll i'm if in is it it's just know like look looking me my need nothing of on "
    "one or please really search should show some someone something something's sort thank thanks that the there "
    "thing think this to want was what where will with would you your"
)  # Words of asking, which say nothing of what is asked for.
_ASKING = frozenset(_ASKED_BY.split())


def sft_examples(
    tasks: Sequence[ShopTask], inputs: Inputs, label: Callable[[ShopTask], str], train_on: str = "function_param"
) -> list[TextExample]:
    made = []
    for task in tasks if train_on != "param" else ():
        question = function_prompt(puma_prompts(), task.instruction)
        made.append(TextExample(task=task.id, prompt=question, chosen=FUNCTION_OF[task.type]))
    for task in tasks if train_on != "function" else ():
        text, prompt = label(task), inputs.parameter(task)
        if text and prompt is not None:
            made.append(TextExample(task=task.id, prompt=prompt, chosen=text))
    return made


def label_of(
    task: ShopTask, inputs: Inputs, products: Mapping[str, Product], rule: LabelRule, queries: Mapping[str, str] | None
) -> str:
    """The label of one task; "" where there is none. ``queries`` are those that a chat model wrote, where one did."""
    if task.type == "review":
        return "" if task.target_review is None else task.target_review.text.strip()
    if task.type == "recommend":
        user, past = inputs.dataset.users.get(task.user_id), inputs.remembered(task, inputs.tokens).chosen
        if rule.recommend == "history":
            past = () if user is None else tuple(user.before(task.timestamp_ms))
        category = products[task.target_asin].main_category
        latest_first = sorted(past, key=lambda one: one.review.timestamp_ms)[::-1]
        # Each once, at its latest place.
        fits = list(dict.fromkeys(one.asin for one in latest_first if products[one.asin].main_category == category))
        asins = fits[: rule.most][::-1]
        return ", ".join(asins or [task.target_asin])
    if queries is not None:
        return queries.get(task.id, "").strip()
    category_meant = meant_category(task.instruction, inputs.remembered(task, inputs.tokens).chosen, dict(products))
    words = [word for word in _WORD.findall(task.instruction) if word.lower() not in _ASKING]
    return " ".join([*words, category_meant]).strip()


class WrittenQuery(StoredAnswer, frozen=True, kw_only=True):
    """A line of ``labels.jsonl``: the query for a task or why there is none, and what it took."""

    text: str = ""


class Labelled(Record, frozen=True, kw_only=True):
    """The queries by task id, how many tasks have none, what all cost, and why asking stopped early."""

    queries: dict[str, str] | None
    without: int = 0
    cost_usd: float | None = None
    stopped: str = ""


def write_queries(
    folder: Path,
    model: str,
    tasks: Sequence[ShopTask],
    inputs: Inputs,
    *,
    chat: ChatOptions,
    cost_limit: float | None,
    display: Display | None,
) -> Labelled:
    """Have the chat model write what isn't written yet; ``labels.jsonl`` in the folder keeps every reply.

    The release's prompt stands in the system message, with the whole memory, and no other is sent.

    Raises UserError: the model can't be asked, or the disk failed.
    """
    budget, progress = Budget(cost_limit), new_progress(display, "queries")
    named: dict[str, Any] = {"option": "--labels-model", "flag": "--labels-base-url"}
    opened = open_model(model, chat, model=None, cost_limit=cost_limit, budget=budget, progress=progress, **named)
    searches = [task for task in tasks if task.type == "search"]

    def prompt(task: ShopTask) -> str:
        memory = inputs.remembered(task, None).text
        return fill(puma_prompts().search_label, instruction=task.instruction, memory=memory)

    async def answer(task: ShopTask) -> WrittenQuery:
        message = Message(role="system", parts=(TextPart(text=prompt(task)),))
        asked = await opened.model.send(lambda: (message,), NO_PICTURES)
        if asked.completion is None:
            failure = asked.failure or Failure(kind="error", message="no reply")
            return WrittenQuery(failure=failure, call=asked.call)
        found, raw = plan_outcome(opened.card, asked.completion), asked.completion.text
        return WrittenQuery(text=(found.text or "").strip(), raw=raw, failure=found.failure, call=asked.call)

    with closing(Journal(folder / "labels.jsonl", WrittenQuery)) as journal:
        stage: AnswerStage[ShopTask, WrittenQuery] = AnswerStage(
            "labels",
            journal,
            opened.model.max_concurrency,
            told=lambda task: (opened.model.identity, prompt(task)),
            answer=answer,
        )
        done = ask_all(stage, [(progress, searches)], budget, opened.model)
        answers = {task.id: last_answer(stage, task) for task in searches}
        cost_usd = paid(journal)
    queries = {id_: one.text for id_, one in answers.items() if one is not None and one.failure is None}
    return Labelled(queries=queries, without=len(searches) - len(queries), cost_usd=cost_usd, stopped=done.stopped)
