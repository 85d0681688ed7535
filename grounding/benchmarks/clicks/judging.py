"""What a judge and a reference instruction say of wrong steps.

A judge is shown a framed screenshot and a plan. Yes means that the plan names the right element, so the grounder is to
blame; no means that the plan is. A reference instruction is given to the same grounder over the same screenshot: right
with it means that the plan was wrong.
"""

import asyncio
import hashlib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import msgspec

from grounding.analysis import showing as drawing
from grounding.analysis.labels import JudgeInfo, Opinion, Said, WrongStep
from grounding.analysis.prompts import NamedPrompt, find_prompt
from grounding.atomic import atomic_write
from grounding.benchmarks.asking import (
    AnswerStage,
    StoredAnswer,
    ask_all,
    asked_with,
    find_card,
    last_answer,
    new_progress,
    paid,
)
from grounding.cards import PlannerCard, PlanRule
from grounding.cards.schema import CardPart
from grounding.errors import UserError
from grounding.grounders.som.grounder import file_stem
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatModel, ChatOptions, Exchange, identity_hash, open_chat
from grounding.records import Failure, Query, Record, Screenshot, Step, Verdict
from grounding.run.folder import RunFolder, RunInfo, RunSettings
from grounding.run.journal import Journal
from grounding.scoring.scored import judge

PLACE = "{plan}"
MAX_PLAN_CHARS = 8_000
MAX_REPLY_CHARS = 20_000

_TAKEN = ("{instruction}", "{history}", "{goal}", "{steps_done}")

Answer = Literal["yes", "no", "unclear"]

_LAST_LINE = re.compile(r"[*_`\s]*(?:answer[*_`\s]*:)?[*_`\s]*(yes|no|unclear)[*_`\s]*\.?[*_`\s]*", re.IGNORECASE)
_STATED = re.compile(r"[*_`\s]*answer[*_`\s]*:[*_`\s]*(\w+)", re.IGNORECASE)


class JudgePrompt(NamedPrompt, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge is told. ``user`` is one message: text templates with ``{plan}`` in one of them, and the picture."""

    user: tuple[CardPart, ...]

    @property
    def label(self) -> str:
        return self.label_over(self.user)

    def __post_init__(self) -> None:
        if any((part.text is None) == (part.image is None) for part in self.user):
            raise ValueError("field user: each part is either `text` or `image: screenshot`")
        if sum(part.image is not None for part in self.user) != 1:
            raise ValueError("field user: expected exactly one part `image: screenshot`")
        text = "\n".join(text for text in (self.system, *(part.text for part in self.user)) if text)
        if any(name in text for name in _TAKEN):
            raise ValueError(
                f"{' and '.join(_TAKEN)} mean something in cards only; a judge is shown {PLACE} and the picture"
            )
        if (places := text.count(PLACE)) != 1:
            raise ValueError(f"the plan's place {PLACE} stands in it {places} times; expected once")


def read_prompt(name: str) -> JudgePrompt:
    """A bundled prompt by its name, or one of the user's by its path (.yaml); raises as :func:`find_prompt`."""
    return find_prompt(name, JudgePrompt, "judges", flag="--judge-prompt")


def quoted_plan(plan: str) -> str:
    r"""The plan as one line of JSON, quotes included: nothing that it holds can end the quotation.

    A plan of more than ``MAX_PLAN_CHARS`` is shown up to there.

    >>> print(quoted_plan('click "OK"'))
    "click \"OK\""
    """
    return msgspec.json.encode(plan[:MAX_PLAN_CHARS]).decode()


def read_reply(text: str) -> Answer | None:
    r"""The judge's answer; None where the reply does not end with one, or names two.

    The last line that is not blank must be ``yes``, ``no`` or ``unclear``, alone or after ``Answer:``; no other line
    may state another answer.

    >>> read_reply("The plan names the blue button.\nAnswer: yes"), read_reply("yes or no"), read_reply("")
    ('yes', None, None)
    """
    lines = [line for line in text.splitlines() if line.strip()]
    found = _LAST_LINE.fullmatch(lines[-1]) if lines else None
    if found is None:
        return None
    answer = found[1].lower()
    stated = {match[1].lower() for line in lines[:-1] if (match := _STATED.fullmatch(line.rstrip(" .*_`")))}
    if stated - {answer}:
        return None
    return "yes" if answer == "yes" else "no" if answer == "no" else "unclear"


MAX_OUTPUT_TOKENS = 1024  # Asked for where the card sets no limit of its own: the reply is a few sentences.
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class Judge(Record, frozen=True, kw_only=True):
    card: PlannerCard
    model: ChatModel
    prompt: JudgePrompt
    base_url: str

    @property
    def source(self) -> str:
        return f"judge:{self.card.name}"

    @property
    def identity(self) -> str:
        return f"judge {drawing.VERSION} {self.model.identity}"

    @property
    def journal_name(self) -> str:
        """A file for each judge and prompt, so that answers of one are never taken for another's."""
        name = "".join(character if character.isalnum() or character in "-." else "-" for character in self.card.name)
        return f"judge_{name[:60]}_{identity_hash(self.identity)}.jsonl"


def judge_card(card: PlannerCard, prompt: JudgePrompt) -> PlannerCard:
    """The card with the judge's prompt in place of its own, and a limit on the reply where it has none. The framed
    picture is on no server's disk for long, so it is sent in the request.
    """

    def filled(text: str | None) -> str | None:
        return None if text is None else text.replace(PLACE, "{instruction}")

    parameters = dict(card.parameters)
    if not any(name in parameters for name in _LIMITS):
        parameters["max_completion_tokens" if "max_tokens" in card.refuses else "max_tokens"] = MAX_OUTPUT_TOKENS
    return asked_with(
        card,
        system=filled(prompt.system),
        user=tuple(msgspec.structs.replace(part, text=filled(part.text)) for part in prompt.user),
        prompt=f"{prompt.name}.{prompt.version}",
        plan=PlanRule(),
        image=msgspec.structs.replace(card.image, send="base64"),
        parameters=parameters,
    )


def open_judge(
    name: str,
    prompt: JudgePrompt,
    options: ChatOptions,
    *,
    model: str | None = None,
    budget: Budget,
    on_retry: Callable[[], None],
) -> Judge:
    """Put a model's card and the judge's prompt together. Sends nothing yet. Raises UserError: no card is called so,
    its address or key is missing, its model has retired there, or a cost limit can't be kept.
    """
    flag = "--judge-base-url"
    found = find_card(
        name,
        options.base_url,
        model=model,
        cost_limit=budget.limit_usd,
        option="--judge",
        flag=flag,
        model_flag="--judge-model",
        temperature=options.temperature,
    )
    card = judge_card(found, prompt)
    opened = open_chat(card, options, flag=flag, budget=budget, on_retry=on_retry)
    return Judge(card=card, model=opened.model, prompt=prompt, base_url=opened.base_url)


_CUT = ("length", "max_tokens", "content_filter")

_SAYS: dict[Answer, Literal["reasoning", "grounding", "unclear"]]
_SAYS = {"yes": "grounding", "no": "reasoning", "unclear": "unclear"}


class BlameJudgement(StoredAnswer, frozen=True, kw_only=True):
    """One answer of the judge, as its journal keeps it. ``raw`` is the beginning of the reply, which is what was read.
    ``plan_cut`` marks a plan that was too long to be shown whole.
    """

    said: Literal["reasoning", "grounding", "unclear"] | None = None
    plan_cut: bool = False


def _judge_stage(
    judge: Judge, journal: Journal[BlameJudgement], pictures: Path
) -> AnswerStage[WrongStep, BlameJudgement]:
    identity = judge.identity

    async def answer(item: WrongStep) -> BlameJudgement:
        path, plan = pictures / f"{file_stem(item.id)}.png", item.plan or ""
        try:
            shot = await asyncio.to_thread(_framed, item, path)
        except (OSError, ValueError) as error:
            return BlameJudgement(failure=Failure(kind="error", message=f"{item.step.screenshot.path}: {error}"))
        try:
            query = Query(step_id=item.id, key="", screenshot=shot, instruction=quoted_plan(plan))
            return _judgement(await judge.model.ask(query), plan_cut=len(plan) > MAX_PLAN_CHARS)
        finally:
            path.unlink(missing_ok=True)

    def told(item: WrongStep) -> tuple[object, ...]:
        return identity, item.id, item.plan, item.step.screenshot.sha256, item.step.region

    return AnswerStage("judge", journal, judge.model.max_concurrency, told=told, answer=answer)


def _framed(item: WrongStep, path: Path) -> Screenshot:
    if item.step.region is None:
        raise ValueError("the step has no gold region")
    png = drawing.framed_picture(Path(item.step.screenshot.path), item.step.region)
    atomic_write(path, png)
    return Screenshot(path=str(path), size=item.step.screenshot.size, sha256=hashlib.sha256(png).hexdigest())


def _judgement(asked: Exchange, *, plan_cut: bool) -> BlameJudgement:
    said = asked.completion
    if said is None:
        missed = asked.failure or Failure(kind="error", message="no reply")
        return BlameJudgement(plan_cut=plan_cut, failure=missed, call=asked.call)
    # A reply that was cut here or by the model's limit has lost its last line, which is the answer.
    whole = len(said.text) <= MAX_REPLY_CHARS and said.finish_reason not in _CUT
    answer = read_reply(said.text) if whole and not said.refused else None
    ending = f" (finish reason: {said.finish_reason})" if said.finish_reason not in ("", "stop") else ""
    what = "the judge refused" if said.refused else f"the reply does not end with Answer: yes, no or unclear{ending}"
    return BlameJudgement(
        said=None if answer is None else _SAYS[answer],
        raw=said.text[:MAX_REPLY_CHARS],
        plan_cut=plan_cut,
        failure=Failure(kind="unparsed", message=what) if answer is None else None,
        call=asked.call,
    )


class Judged(Record, frozen=True, kw_only=True):
    source: str
    opinions: tuple[Opinion, ...]
    info: JudgeInfo


def ask_judge(judge: Judge, wrongs: Sequence[WrongStep], folder: Path, budget: Budget) -> Judged:
    """Ask about every wrong step that the journal has no answer for under the same key. Raises UserError: the server is
    not there, refuses the key or lacks the model; or the journal is damaged. Raises OSError: an answer can't be
    written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / judge.journal_name, BlameJudgement)
    try:
        with tempfile.TemporaryDirectory(prefix="grounding-judge-") as pictures:
            stage = _judge_stage(judge, journal, Path(pictures))
            asked = ask_all(stage, [(new_progress("none", "steps"), wrongs)], budget, judge.model)
        # An answer about another plan or picture is none.
        kept: dict[str, BlameJudgement | None] = {wrong.id: last_answer(stage, wrong) for wrong in wrongs}
        return Judged(
            source=judge.source,
            opinions=tuple(_opinion(judge.source, step_id, each, asked.stopped) for step_id, each in kept.items()),
            info=JudgeInfo(
                card=judge.card.name,
                model=judge.card.model,
                prompt=judge.prompt.label,
                base_url=judge.base_url,
                journal=str(journal.path.relative_to(folder.parent)),
                asked_now=asked.answers,
                cost_usd=paid(journal),
                plans_cut=sum(each is not None and each.plan_cut for each in kept.values()),
                stopped=asked.stopped,
            ),
        )
    finally:
        journal.close()


def _opinion(source: str, step_id: str, answer: BlameJudgement | None, stopped: str) -> Opinion:
    said: Said = "error"
    if answer is None:
        because = f"not asked yet: {stopped}" if stopped else "not asked yet"
    elif answer.said is not None:
        said, because = answer.said, answer.raw or ""
    else:
        because = answer.failure.message if answer.failure else ""
        if answer.failure is None or answer.failure.kind != "error":
            said = "unparsed"
    return Opinion(source=source, step_id=step_id, said=said, because=because)


SOURCE = "reference"


class ReferenceAnswer(Record, frozen=True, kw_only=True):
    """A step's reference instruction, and what became of the step when the grounder was given it. ``text`` is None
    where there is no reference instruction; ``verdict`` where the grounder was not asked.
    """

    text: str | None
    verdict: Verdict | None = None


def reference_opinion(wrong: WrongStep, answer: ReferenceAnswer | None) -> Opinion:
    """Compare the two answers of the grounder, by the table in the docstring of ``grounding.analysis``."""
    said: Said = "grounding"
    because = "wrong with the reference instruction, too"
    if answer is None or answer.text is None:
        said, because = "missing", "there is no reference instruction for this step"
    elif answer.text == wrong.plan:
        because = "the plan is the reference instruction itself"
    elif answer.verdict is None:
        said, because = "error", "the grounder was not asked with the reference instruction yet"
    elif answer.verdict.outcome == "error" or answer.verdict.outcome == "missing":
        said, because = answer.verdict.outcome, f"no answer to the reference instruction: {answer.verdict.reason}"
    elif answer.verdict.outcome == "hit":
        said, because = "reasoning", "right with the reference instruction"
    elif answer.verdict.outcome == "unparsed":
        because = "no place named with the reference instruction either"
    return Opinion(source=SOURCE, step_id=wrong.step.id, said=said, because=because)


def read_reference_answers(folder: RunFolder, wrongs: Sequence[WrongStep]) -> dict[str, ReferenceAnswer]:
    """What a run over reference instructions holds for the wrong steps of another, judged by the other's gold places.
    Raises UserError: the folder holds no run, or a file in it is damaged.
    """
    plans, predictions = folder.plans(read_only=True), folder.predictions(read_only=True)
    found = {}
    try:
        for wrong in wrongs:
            plan, prediction = plans.last(wrong.step.id), predictions.last(wrong.step.id)
            if plan is not None:
                no_words = plan.failure is not None and plan.failure.kind != "error"
                unasked = prediction is None and plan.failure is None
                found[wrong.step.id] = ReferenceAnswer(
                    text=None if no_words else plan.text or "",
                    verdict=None if unasked else judge(wrong.step, plan, prediction),
                )
    finally:
        plans.close()
        predictions.close()
    return found


def check_reference_run(run: RunFolder, info: RunInfo, reference: RunFolder, wrongs: Sequence[WrongStep]) -> None:
    """Check that another run can serve as the reference. Raises UserError: it is the run itself, of other data or
    another grounder, or lacks some of the wrong steps; says everything that differs.
    """
    if reference.path.resolve() == run.path.resolve():
        raise UserError(f"--reference-run {reference.path}: is the run itself; give one over reference instructions")
    steps = {step.id: step for session in reference.read_sessions() for step in session.steps}
    if found := differences(info.asked, reference.read_info().asked, wrongs, steps):
        listed = "".join(f"\n- {difference}" for difference in found)
        raise UserError(
            f"--reference-run {reference.path} can't be compared with {run.path}:{listed}\n"
            "Give a run of the same grounder over the same data, or reference instructions: --reference FILE"
        )


def differences(
    asked: RunSettings, other: RunSettings, wrongs: Sequence[WrongStep], steps: Mapping[str, Step]
) -> list[str]:
    """What keeps the answers of another run from being those of the same grounder over the same data."""
    found = []
    if asked.grounder != other.grounder:
        found.append(f"grounder {other.grounder}, not {asked.grounder}")
    elif asked.grounder_identity != other.grounder_identity:
        found.append(f"another setting of grounder {asked.grounder}: {_first_difference(asked, other)}")
    elif "{history}" in asked.grounder_identity:
        # Only a grounder that is told what happened before can answer differently for it.
        names = [name for name in asked.__struct_fields__ if name.startswith("history")]
        pairs = ((name, getattr(other, name), getattr(asked, name)) for name in names)
        found += [f"{name} {there!r}, not {here!r}" for name, there, here in pairs if there != here]
    absent = [wrong.step.id for wrong in wrongs if wrong.step.id not in steps]
    if absent:
        shown = ", ".join(absent[:5]) + (" …" if len(absent) > 5 else "")
        found.append(f"{len(absent)} of the {len(wrongs)} wrong steps are not part of it ({shown})")
    # A fingerprint is also of the history that was read along: other history over the same steps is no other data.
    seen = attrgetter("screenshot.sha256", "instruction", "region")
    changed = [
        each.step.id for each in wrongs if each.step.id in steps and seen(each.step) != seen(steps[each.step.id])
    ]
    if asked.fingerprint != other.fingerprint and (changed or asked.dataset != other.dataset):
        found.append(
            f"data set {other.dataset}@{other.fingerprint[:12]}, not {asked.dataset}@{asked.fingerprint[:12]}"
            + (f" ({len(changed)} wrong steps differ, such as {changed[0]})" if changed else "")
        )
    return found


def _first_difference(asked: RunSettings, other: RunSettings) -> str:
    """The first fields of the two cards that differ; the identity of a grounder of a card is JSON."""
    try:
        one, two = (msgspec.json.decode(each.grounder_identity, type=dict[str, Any]) for each in (asked, other))
    except msgspec.DecodeError:
        return f"{other.grounder_identity[:80]!r}, not {asked.grounder_identity[:80]!r}"
    names = [name for name in sorted({*one, *two}) if one.get(name) != two.get(name)]
    return ", ".join(f"{name} {str(two.get(name))[:80]!r}, not {str(one.get(name))[:80]!r}" for name in names[:3])
