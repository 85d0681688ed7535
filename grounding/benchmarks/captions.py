"""A history in words, written by a model from what can be seen: the screen before an action, and the screen after it.

RealWebAssist (section 4) gives its planners a text history that a VLM wrote from consecutive screenshots and the
instruction at each step.

No gold region, action or task label takes part: a ``Moment`` has no field for them.
"""

import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import msgspec

from grounding.analysis.prompts import NamedPrompt, find_prompt
from grounding.atomic import atomic_write
from grounding.benchmarks.asking import (
    FLAG,
    AnswerStage,
    StoredAnswer,
    Tally,
    ask_all,
    asked_with,
    find_card,
    last_answer,
    new_progress,
    paid,
    tally,
)
from grounding.cards import PlannerCard, PlanRule
from grounding.data import load_dataset
from grounding.data.fields import DatasetProblems
from grounding.data.history import FORMAT, CaptionedStep, CaptionFile, read_captions
from grounding.data.images import Picture, picture_sizes, prepare_picture
from grounding.data.option import ready
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatModel, ChatOptions, open_chat
from grounding.llm.wire import Completion, ImagePart, Message, TextPart
from grounding.options import Display
from grounding.planners.prompts import plan_outcome
from grounding.records import Failure, ImageSizes, Record, Screenshot, Session
from grounding.run.journal import Journal
from grounding.run.lock import LockedFolder


class Moment(Record, frozen=True, kw_only=True):
    """The screen before an action, what was said over it, and the screen that the session goes on with.

    ``after`` is None at the last step of a session. There is no place here for where the click was right, or for what
    the data set says about the action.
    """

    id: str
    instruction: str
    before: Screenshot
    after: Screenshot | None = None


def moments(sessions: Iterable[Session], participants: Collection[str] = ()) -> tuple[Moment, ...]:
    return tuple(
        Moment(
            id=step.id,
            instruction=step.instruction,
            before=step.screenshot,
            after=None if following is None else following.screenshot,
        )
        for session in sessions
        if not participants or session.participant in participants
        for step, following in zip_longest(session.steps, session.steps[1:])
    )


_INSTRUCTION = "{instruction}"
_FIELD = re.compile(r"\{(\w+)\}")


class CaptionPart(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part of the message: a text, in which ``{instruction}`` is filled in, or one of the two screenshots."""

    text: str | None = None
    image: Literal["before", "after"] | None = None


class CaptionPrompt(NamedPrompt, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A captioner's prompt. ``user`` asks about two screenshots, ``user_last`` about the last one of a session."""

    title: str
    user: tuple[CaptionPart, ...]
    user_last: tuple[CaptionPart, ...]

    @property
    def label(self) -> str:
        return self.label_over(self.user, self.user_last)

    def __post_init__(self) -> None:
        for name, parts, wanted in (
            ("user", self.user, ["before", "after"]),
            ("user_last", self.user_last, ["before"]),
        ):
            texts = [part.text for part in parts if part.text is not None]
            other = [field for text in texts for field in _FIELD.findall(text) if field != "instruction"]
            if any((part.text is None) == (part.image is None) for part in parts):
                raise ValueError(f"field {name}: each part is either `text` or `image`, exactly one of them")
            if [part.image for part in parts if part.image] != wanted:
                pictures = " and then ".join(f"`image: {each}`" for each in wanted)
                raise ValueError(f"field {name}: expected {pictures}, once, in this order")
            if not any(_INSTRUCTION in text for text in texts):
                raise ValueError(f"field {name}: the instruction's place {_INSTRUCTION} is missing")
            if other:
                raise ValueError(
                    f"field {name}: {{{other[0]}}} is not known here; a captioner is shown {_INSTRUCTION} and pictures"
                )


def render(prompt: CaptionPrompt, moment: Moment, before: Picture, after: Picture | None) -> tuple[Message, ...]:
    pictures = {"before": before, "after": after}

    def part(template: CaptionPart) -> TextPart | ImagePart:
        picture = pictures[template.image] if template.image is not None else None
        if picture is not None:
            return ImagePart(url_json=picture.url_json)
        return TextPart(text=(template.text or "").replace(_INSTRUCTION, moment.instruction))

    system = [] if prompt.system is None else [Message(role="system", parts=(TextPart(text=prompt.system),))]
    parts = prompt.user_last if after is None else prompt.user
    return (*system, Message(role="user", parts=tuple(part(each) for each in parts)))


MAX_CAPTION_CHARS = 1000  # A longer text is no sentence on one action: ten of them are told to a planner at each step.


class Caption(StoredAnswer, frozen=True, kw_only=True):
    """What was done at a step, in words, or the reason why nobody can say."""

    text: str | None = None


def read_caption(card: PlannerCard, said: Completion) -> str | Failure:
    """The sentence in a reply, its white space made single blanks; never an empty one, half of one, or a refusal."""
    outcome = plan_outcome(card, said)
    if outcome.failure is not None or outcome.text is None:
        return outcome.failure or Failure(kind="unparsed", message="the reply is empty")
    if said.finish_reason == "length":
        return Failure(kind="unparsed", message="the reply was cut off (finish reason: length)")
    text = " ".join(outcome.text.split())
    if len(text) > MAX_CAPTION_CHARS:
        what = f"the reply has {len(text)} characters where one sentence was asked for (at most {MAX_CAPTION_CHARS})"
        return Failure(kind="unparsed", message=what)
    return text


def caption_stage(
    prompt: CaptionPrompt, model: ChatModel, card: PlannerCard, journal: Journal[Caption]
) -> AnswerStage[Moment, Caption]:
    """The stage that asks for captions: once a step; a reply that is no sentence is ``unparsed``, kept in full."""
    who = identity(prompt, model)

    def picture(shot: Screenshot) -> Picture:
        try:
            return prepare_picture(shot, card.image)
        except (OSError, ValueError) as error:
            raise ValueError(f"{shot.path}: {error}") from error

    def messages(moment: Moment) -> tuple[Message, ...]:
        after = None if moment.after is None else picture(moment.after)
        return render(prompt, moment, picture(moment.before), after)

    async def answer(moment: Moment) -> Caption:
        sizes: list[ImageSizes] = []
        for shot in (moment.before, *([moment.after] if moment.after else [])):
            try:
                sizes.append(picture_sizes(shot.size, card.image))
            except ValueError as error:
                return Caption(failure=Failure(kind="error", message=f"{shot.path}: {error}"))
        largest = max(sizes, key=lambda one: one.sent.width * one.sent.height)
        asked = await model.send(lambda: messages(moment), largest)
        if asked.completion is None:
            return Caption(failure=asked.failure, call=asked.call)
        found, raw = read_caption(card, asked.completion), asked.completion.text
        if isinstance(found, Failure):
            return Caption(raw=raw, failure=found, call=asked.call)
        return Caption(text=found, raw=raw, call=asked.call)

    def told(moment: Moment) -> tuple[object, ...]:
        return who, moment.instruction, moment.before.sha256, None if moment.after is None else moment.after.sha256

    return AnswerStage("caption", journal, model.max_concurrency, told=told, answer=answer)


def identity(prompt: CaptionPrompt, model: ChatModel) -> str:
    """Canonical text of everything but the moment that can change a caption."""
    return msgspec.json.encode(("caption", prompt.label, model.identity)).decode()


def replies_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.replies.jsonl")


@contextmanager
def open_replies(out: Path) -> Iterator[Journal[Caption]]:
    """The journal of replies, kept from other processes while it is open; its folder is made. Raises UserError: it
    can't be made or opened, a line of it is damaged, or another process is writing to it.
    """
    path = replies_path(out)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise UserError(f"--out {out}: {path} can't be written: {error.strerror}") from error
    lock = LockedFolder(path, what="the file of replies", flag="--out")
    # Before the journal is opened: opening one takes a torn last line away, which may be another's half-written.
    lock.lock()
    try:
        with closing(Journal(path, Caption)) as journal:
            yield journal
    finally:
        lock.release()


def set_aside(out: Path) -> Path | None:
    """Rename the files of an earlier run, if there are any, so that nothing paid for is lost; the new name of ``out``.
    Raises UserError: another process is writing to them, or they can't be renamed.
    """
    if not out.exists() and not replies_path(out).exists():
        return None
    number = 1
    while (aside := out.with_name(f"{out.name}.old{number}")).exists() or replies_path(aside).exists():
        number += 1
    with open_replies(out):
        try:
            replies_path(out).rename(replies_path(aside))
            if out.exists():
                out.rename(aside)
        except OSError as error:
            raise UserError(f"--out {out}: can't be set aside: {error.strerror}") from error
    return aside


def check_out(out: Path, wanted: CaptionFile) -> None:
    """See that nothing else is overwritten: the file is not there, or holds captions by the same model and prompt.
    Raises UserError: it holds something else.
    """
    if out.is_dir():
        raise UserError(f"--out {out}: is a folder: give the name of a file")
    if not out.exists():
        return
    try:
        found = read_captions(out)
    except DatasetProblems as error:
        said = "there is a file already, and it holds no captions: choose another name"
        raise UserError(f"--out {out}: {said}") from error
    if found.identity != wanted.identity:
        same = (found.captioner, found.prompt) == (wanted.captioner, wanted.prompt)
        differs = "other parameters" if same else f"the prompt {found.prompt}"
        said = f"holds captions by {found.captioner} with {differs}"
        raise UserError(f"--out {out}: {said}: choose another name, or set it aside with --fresh")


def _write(out: Path, captions: CaptionFile) -> None:
    try:
        atomic_write(out, msgspec.json.format(msgspec.json.encode(captions), indent=1) + b"\n")
    except OSError as error:
        raise UserError(
            f"--out {out}: can't be written: {error.strerror}. The replies are kept in {replies_path(out)}; make room "
            "and run the same command again."
        ) from error


class Captioned(Record, frozen=True, kw_only=True):
    """What became of a run.

    ``tally`` is over the last replies of all steps; ``asked`` counts the requests of this run that got an answer or
    failed. ``cost_usd`` is what all replies cost together, also those of earlier runs; None where nobody knows.
    ``stopped`` says why the run ended early.
    """

    captioner: str
    tally: Tally
    asked: int
    cost_usd: float | None
    seconds: float
    stopped: str = ""
    set_aside: Path | None = None


def caption_dataset(
    *,
    dataset: str,
    captioner: str,
    out: Path,
    data_dir: Path | None,
    questions: str | None,
    participants: Sequence[str],
    prompt: str,
    model: str | None,
    chat: ChatOptions,
    cost_limit: float | None,
    fresh: bool,
    display: Display | None,
) -> Captioned:
    """Caption every step of a data set, or go on where an earlier run stopped, and write the history file. Raises
    UserError: something is missing or wrong; nothing was asked yet, or the disk failed (what was answered is kept).
    """
    progress, budget = new_progress(display, "steps"), Budget(cost_limit)
    asking = find_prompt(prompt, CaptionPrompt, "captions", flag="--prompt")
    found = find_card(
        captioner,
        chat.base_url,
        model=model,
        cost_limit=cost_limit,
        option="--captioner",
        flag=FLAG,
        model_flag="--model",
        temperature=chat.temperature,
    )
    # The prompt for captions stands for the planner's own and for what belongs to that.
    card = asked_with(found, system=asking.system, prompt=asking.label, plan=PlanRule(drop_thinking=True))
    opened = open_chat(card, chat, flag=FLAG, budget=budget, on_retry=progress.retried).model
    ready(data_dir)
    with progress.phase("reading the data set"):
        data = load_dataset(dataset, data_dir, questions=questions)
    known = [session.participant for session in data.sessions]
    for name in participants:
        if name not in known:
            raise UserError(f"--participant {name}: the data set has {', '.join(known)}")
    shown = moments(data.sessions, participants)
    empty = CaptionFile(
        format=FORMAT,
        dataset=data.name,
        captioner=card.name,
        prompt=asking.label,
        identity=identity(asking, opened),
        steps=(),
    )
    aside = set_aside(out) if fresh else None
    check_out(out, empty)
    started = time.monotonic()
    with open_replies(out) as replies:
        stage = caption_stage(asking, opened, card, replies)

        def write() -> None:
            steps = []
            for moment in shown:
                caption = last_answer(stage, moment)
                step = CaptionedStep(
                    step_id=moment.id,
                    instruction=moment.instruction,
                    before_sha256=moment.before.sha256,
                    after_sha256=None if moment.after is None else moment.after.sha256,
                    action=None if caption is None else caption.text,
                    failure=None if caption is None else caption.failure,
                )
                steps.append(step)
            _write(out, msgspec.structs.replace(empty, steps=tuple(steps)))

        write()  # What is being written here is known from the first moment on, even if this process dies.
        done = ask_all(stage, [(progress, shown)], budget, opened)
        write()
        return Captioned(
            captioner=card.name,
            tally=tally(stage, shown),
            asked=done.answers,
            cost_usd=paid(replies),
            seconds=time.monotonic() - started,
            stopped=done.stopped,
            set_aside=aside,
        )
