"""What commands share that have a chat model write or judge: opening it, asking about each item, keeping answers."""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from grounding.cards import Json, PlannerCard, PlanRule
from grounding.errors import UserError
from grounding.llm.anymodel import find_planner
from grounding.llm.budget import Budget, dollars
from grounding.llm.chat import NO_PICTURES, ChatModel, ChatOptions, open_chat
from grounding.llm.wire import Message, TextPart
from grounding.options import Display
from grounding.planners.prompts import check_card, plan_outcome
from grounding.records import Call, Failure, Record
from grounding.run.display import Progress
from grounding.run.journal import Journal, Keyed
from grounding.run.lock import LockedFolder
from grounding.run.runner import Runner, Stage, run_interruptible

ItemT = TypeVar("ItemT")
COLOURS = {"done": "green", "unparsed": "magenta", "error": "red"}
FLAG = "--base-url"


class Opened(Record, frozen=True, kw_only=True):
    model: ChatModel
    card: PlannerCard

    @property
    def label(self) -> str:
        return f"{self.card.name} ({self.card.model})"


class Tally(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many items there are, and their last answers by what they are; the rest was not asked about."""

    items: int
    done: int = 0
    unparsed: int = 0
    error: int = 0

    @property
    def complete(self) -> bool:
        return self.done + self.unparsed == self.items

    @property
    def left(self) -> str:
        unasked = self.items - self.done - self.unparsed - self.error
        return f"unparsed {self.unparsed} · errors {self.error} · not asked yet {unasked}, of {self.items}"


class AskingResult(Record, frozen=True, kw_only=True):
    """How many answers were made now, and why that stopped before the end."""

    answers: int
    stopped: str = ""


def new_progress(display: Display | None, unit: str) -> Progress:
    return Progress(display, COLOURS, ("done",), unit)


def open_model(
    name: str,
    chat: ChatOptions,
    *,
    model: str | None,
    cost_limit: float | None,
    budget: Budget,
    progress: Progress,
    option: str,
    flag: str = FLAG,
    min_output_tokens: int = 0,
) -> Opened:
    """Open the chat model of a card, whose own prompt takes no part; a UserError says why it can't be.

    ``option`` named the card and ``flag`` takes its address, for messages; a card's lower ``max_tokens`` is raised to
    ``min_output_tokens``.
    """
    named: dict[str, Any] = {"model": model, "cost_limit": cost_limit, "option": option, "flag": flag}
    card = find_card(name, chat.base_url, temperature=chat.temperature, **named)
    if chat.seed is not None and "seed" not in card.takes:
        chat = msgspec.structs.replace(chat, seed=None)
    card = asked_with(
        card, prompt="", plan=PlanRule(drop_thinking=True), parameters=_with_room(card, min_output_tokens)
    )
    opened = open_chat(card, chat, flag=flag, budget=budget, on_retry=progress.retried)
    return Opened(model=opened.model, card=card)


def find_card(
    name: str,
    base_url: str | None,
    *,
    model: str | None,
    cost_limit: float | None,
    option: str,
    flag: str,
    model_flag: str = "",
    temperature: float | None = None,
) -> PlannerCard:
    """The card of a chat model that can still be asked; says on standard error what is odd about it.

    ``option`` names the card, ``flag`` its address and ``model_flag`` its model, for messages. A UserError says that
    there is none, that it is retired, takes no temperature, or has no price where a limit is to be kept.
    """
    card = find_planner(name, base_url, flag=flag, model=model, name_flag=model_flag or option)
    if temperature is not None and "temperature" not in card.takes:
        raise UserError(f"--temperature: {card.name} takes no temperature; leave it out")
    check_card(card, own_address=base_url is not None, option=option, address_flag=flag, cost_limit=cost_limit)
    return card


def asked_with(card: PlannerCard, **own: Any) -> PlannerCard:
    """A planner's card without its own prompt and what belongs to it; ``own`` are the fields that stand for them."""
    none = {"system": None, "user": (), "prefill": None, "no_history": "", "no_goal": "", "strip_suffix": ""}
    return msgspec.structs.replace(card, **{**none, **own})


def _with_room(card: PlannerCard, tokens: int) -> dict[str, Json]:
    """A card's parameters with replies of at least so many tokens; cards are made for plans, which are short."""
    raised = {
        name: max(tokens, value)
        for name in ("max_tokens", "max_completion_tokens")
        if isinstance(value := card.parameters.get(name), int)
    }
    return {**card.parameters, **raised}


def ask_all(
    stage: Stage[ItemT], rounds: Iterable[tuple[Progress, Sequence[ItemT]]], budget: Budget, *models: ChatModel
) -> AskingResult:
    """Have all items of one round after the other answered, but for those that the stage's journal has an answer to.

    A round is made when the one before is through. What earlier answers took counts for the budget; the models are
    closed at the end. Raises UserError: a model can't be asked, or the disk failed; what was answered is kept.
    """
    answers = 0

    async def one_round(progress: Progress, items: Sequence[ItemT]) -> str:
        def told(_stage: str, stored: bool) -> None:
            nonlocal answers
            answers += not stored
            if stored:
                progress.kept()

        def through(_item: ItemT, last: Any) -> None:
            progress.count(last.failure.kind if last is not None and last.failure else "done")

        with progress.steps(len(items)):
            return await Runner[ItemT]((stage,), on_record=told, on_item=through).run(items)

    async def ask() -> str:
        try:
            for progress, items in rounds:
                if any(stage.journal.settled(stage.item_id(item), stage.key(item, None)) is None for item in items):
                    for model in dict.fromkeys(models):
                        await model.check()
                if stopped := await one_round(progress, items):
                    return stopped
        finally:
            for model in dict.fromkeys(models):
                await model.aclose()
        return ""

    budget.take_up(_calls(stage.journal))
    stopped = run_interruptible(ask, stage.journal.path)
    return AskingResult(answers=answers, stopped=stopped)


def tally(stage: Stage[ItemT], items: Iterable[ItemT]) -> Tally:
    last = [last_answer(stage, item) for item in items]
    counts = Counter(one.failure.kind if one.failure else "done" for one in last if one is not None)
    return Tally(items=len(last), **counts)


def last_answer(stage: Stage[ItemT], item: ItemT) -> Any:
    """The last answer to a question as it is asked now, whatever it says; None where there is none."""
    journal: Journal[Any] = stage.journal
    found: Keyed | None = journal.last(stage.item_id(item))
    return found if found is not None and found.key == stage.key(item, None) else None


def _calls(journal: Journal[Any]) -> Iterator[Call]:
    """What all answers took, also those that later ones took the place of."""
    return (made.call for made in journal.every() if made.call is not None)


def paid(journal: Journal[Any]) -> float | None:
    """What all of that cost in US dollars; None where nobody knows."""
    known = [call.cost_usd for call in _calls(journal) if call.cost_usd is not None]
    return sum(known) if known else None


class StoredAnswer(Record, frozen=True, kw_only=True):
    """An answer as it is kept: to what, under which key, the reply as it came, why there is none, and what it took."""

    step_id: str = ""
    key: str = ""
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class HasId(Protocol):
    @property
    def id(self) -> str:
        """Unique among the items."""


AnswerT = TypeVar("AnswerT", bound=StoredAnswer)
AboutT = TypeVar("AboutT", bound=HasId)


class Asking(Record, frozen=True, kw_only=True):
    """Whom a command asks, and how; ``option`` is the one that named ``who``."""

    who: str
    option: str = "--by"
    model: str | None = None
    chat: ChatOptions = ChatOptions()
    cost_limit: float | None = None
    display: Display | None = None

    def opened(self, budget: Budget, progress: Progress) -> Opened:
        return open_model(
            self.who,
            self.chat,
            model=self.model,
            cost_limit=self.cost_limit,
            budget=budget,
            progress=progress,
            option=self.option,
        )


@dataclass
class AnswerStage(Generic[AboutT, AnswerT]):
    """Has each item answered by itself; ``told`` gives everything that an answer hangs on."""

    name: str
    journal: Journal[AnswerT]
    max_concurrency: int
    told: Callable[[AboutT], tuple[object, ...]]
    answer: Callable[[AboutT], Awaitable[AnswerT]]

    def item_id(self, item: AboutT) -> str:
        return item.id

    def key(self, item: AboutT, earlier: None) -> str:  # noqa: ARG002
        return hashlib.sha256(msgspec.json.encode(self.told(item))).hexdigest()[:32]

    async def run(self, item: AboutT, earlier: None, key: str) -> AnswerT:  # noqa: ARG002
        return msgspec.structs.replace(await self.answer(item), step_id=item.id, key=key)


async def answer_of(
    opened: Opened,
    kept: type[AnswerT],
    prompt: str,
    read: Callable[[str], Mapping[str, Any] | Failure],
    *,
    system: str = "",
    whole: bool = False,
) -> AnswerT:
    """Ask one question in words; ``read`` gives the answer's own fields, or why a reply can't be read. A refusal or an
    empty reply is ``unparsed``; so is one that was cut off, where only ``whole`` ones are read.
    """
    messages = [Message(role="user", parts=(TextPart(text=prompt),))]
    if system:
        messages.insert(0, Message(role="system", parts=(TextPart(text=system),)))
    asked = await opened.model.send(lambda: tuple(messages), NO_PICTURES)
    said = asked.completion
    if said is None:
        return kept(failure=asked.failure or Failure(kind="error", message="no reply"), call=asked.call)
    outcome = plan_outcome(opened.card, said)
    found = outcome.failure or read(outcome.text or "")
    if said.finish_reason == "length" and (whole or isinstance(found, Failure)):
        why = f"; {found.message}" if isinstance(found, Failure) else ""
        found = Failure(kind="unparsed", message=f"the reply was cut off at the limit of its length{why}")
    if isinstance(found, Failure):
        return kept(raw=said.text, call=asked.call, failure=found)
    return kept(raw=said.text, call=asked.call, **found)


class AskedPart(NamedTuple):
    """Who is asked for one part of what is made, and what counts the answers; ``whole`` is as in :func:`answer_of`."""

    opened: Opened
    progress: Progress
    whole: bool = False


class Question(Record, frozen=True, kw_only=True):
    """What is asked about a ``subject`` for one ``part``; ``read`` is as in :func:`answer_of`. The answer is kept under
    ``id``.
    """

    id: str
    part: str
    subject: str
    prompt: str
    read: Callable[[str], Mapping[str, Any] | Failure]
    system: str = ""


Known = dict[str, dict[str, Any]]
"""The last answers so far, by part and subject, whatever they say."""


class Rounds(Record, frozen=True, kw_only=True):
    """What became of asking for every part; ``made`` answers came now, ``cost_usd`` is what all ever took."""

    answers: Known
    tallies: dict[str, Tally]
    made: int
    cost_usd: float | None
    stopped: str

    @property
    def complete(self) -> bool:
        return not self.stopped and all(one.complete for one in self.tallies.values())

    @property
    def lines(self) -> list[str]:
        """What is left or could not be read, a line for each part of which something is."""
        return [f"{name:<13} {one.left}" for name, one in self.tallies.items() if one.done < one.items]

    @property
    def below_figures(self) -> list[str]:
        """What figures are worked out from: the replies of each part, what they cost, and why there are no more."""
        said = [f"replies    {one.left}" for one in self.tallies.values()]
        said += [] if self.cost_usd is None else [f"cost       {dollars(self.cost_usd)}"]
        return said + ([f"stopped before the end: {self.stopped}"] if self.stopped else [])


def ask_rounds(
    parts: Mapping[str, AskedPart],
    questions: Callable[[str, Known], Sequence[Question]],
    kept: type[AnswerT],
    path: Path,
    budget: Budget,
    given: Known,
) -> Rounds:
    """Have one part after the other answered, as far as the replies in ``path`` don't do it. ``questions`` are those
    about a part that can be asked by what is known; ``given`` is known without asking. Raises as :func:`ask_all`.
    """
    known, tallies = {name: dict(given.get(name, {})) for name in parts}, dict[str, Tally]()

    def told(one: Question) -> tuple[str, ...]:
        return parts[one.part].opened.model.identity, *filter(None, (one.system, one.prompt))

    def answer(one: Question) -> Awaitable[AnswerT]:
        opened, _, whole = parts[one.part]
        return answer_of(opened, kept, one.prompt, one.read, system=one.system, whole=whole)

    def rounds() -> Iterator[tuple[Progress, Sequence[Question]]]:
        for name, part in parts.items():
            asked = questions(name, known)
            yield part.progress, asked
            tallies[name] = tally(stage, asked)
            known[name] |= {one.subject: last for one in asked if (last := last_answer(stage, one)) is not None}

    with closing(Journal(path, kept)) as journal:
        models = [part.opened.model for part in parts.values()]
        stage = AnswerStage[Question, AnswerT]("write", journal, models[0].max_concurrency, told=told, answer=answer)
        done = ask_all(stage, left := rounds(), budget, *models)
        list(left)  # Parts that were not got to are counted, too.
        return Rounds(answers=known, tallies=tallies, made=done.answers, cost_usd=paid(journal), stopped=done.stopped)


@contextmanager
def figures_folder(out: Path, names: Sequence[str]) -> Iterator[LockedFolder]:
    """The folder for figures and replies, held; a UserError where it holds something else than ``names``."""
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file: give a folder")
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in names):
        raise UserError(f"--out {out}: holds something else: choose another folder")
    with LockedFolder(out, what="the folder", flag="--out").held() as folder:
        yield folder


@contextmanager
def made_folder(
    out: Path, begun: object, *, files: Sequence[str], what: str, instead: str = "choose another folder"
) -> Iterator[LockedFolder]:
    """As :func:`figures_folder`, for a data set that a chat model writes. The first of ``files`` says what it is made
    of and with, as ``begun`` does; where that one's ``recipe`` is another, the folder is refused.
    """
    recipe = msgspec.json.decode(msgspec.json.encode(begun))["recipe"]
    with figures_folder(out, files) as folder:
        if (out / files[0]).exists():
            try:
                found = msgspec.json.decode((out / files[0]).read_bytes(), type=dict[str, Any])["recipe"]
                differs = [name for name in recipe if found.get(name) != recipe[name]]
            except (OSError, LookupError, AttributeError, msgspec.DecodeError) as error:
                raise UserError(f"--out {out}: {files[0]} can't be read ({error}): choose another folder") from error
            if differs:
                raise UserError(f"--out {out}: holds {what} made otherwise ({', '.join(differs)}): {instead}")
        else:
            folder.replace_json(files[0], begun)
        yield folder


class AskedFigures(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What figures over answers were worked out from; ``unparsed`` counts replies that could not be read."""

    dataset: str
    fingerprint: str
    by: str
    prompts: str
    seed: int
    unparsed: int
    cost_usd: float | None


FiguresT = TypeVar("FiguresT", bound=AskedFigures)


def ask_and_figure(
    asking: Asking,
    items: Sequence[AboutT],
    *,
    out: Path,
    names: tuple[str, str],
    unit: str,
    kept: type[AnswerT],
    question: Callable[[AboutT], str],
    read: Callable[[AboutT, str], Mapping[str, Any] | Failure],
    figures: Callable[[Mapping[str, AnswerT]], object],
    made: Callable[..., FiguresT],
) -> tuple[FiguresT, Rounds]:
    """Have every question answered, or those that are left, and work the figures out.

    ``names`` are the files of figures and of replies in ``out``; ``read`` is as in :func:`answer_of`. ``made`` takes
    ``figures`` of the answers by item and who gave them at what cost. What was answered is kept where a UserError is
    raised.
    """
    budget, progress = Budget(asking.cost_limit), new_progress(asking.display, unit)
    opened = asking.opened(budget, progress)
    questions = [
        Question(id=one.id, part=unit, subject=one.id, prompt=question(one), read=partial(read, one)) for one in items
    ]
    with figures_folder(out, names) as folder:
        part = AskedPart(opened, progress)
        done = ask_rounds({unit: part}, lambda _part, _known: questions, kept, out / names[1], budget, {})
        told = {"by": opened.label, "unparsed": done.tallies[unit].unparsed, "cost_usd": done.cost_usd}
        found = made(figures=figures(done.answers[unit]), **told)
        folder.replace_json(names[0], found)
        return found, done
