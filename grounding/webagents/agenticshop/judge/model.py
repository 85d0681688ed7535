"""A chat model as judge: asked about all items at once or about each by itself, on stored evidence alone.

It is offered no tool and opens no page. The release's judge may search the web, so that nobody can have its verdicts
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Literal

import msgspec

from grounding.chat import Asked
from grounding.errors import UserError
from grounding.records import Call, Failure, ImageSizes, Record
from grounding.webagents.agenticshop.judge import evidence as showing
from grounding.webagents.agenticshop.judge.asking import Render, evidence_question, largest_sizes, official_question
from grounding.webagents.agenticshop.judge.base import (
    JudgedProduct,
    StoredEvidence,
    judgement_id,
    no_product,
    not_judged,
    nothing_satisfied,
)
from grounding.webagents.agenticshop.judge.evidence import MAX_PICTURES, ShownEvidence, shown_evidence
from grounding.webagents.agenticshop.judge.prompts import judge_prompt
from grounding.webagents.agenticshop.judge.reply import read_verdicts, reply_object
from grounding.webagents.agenticshop.records import ChecklistItem, Condition, ItemVerdict, Judgement, Reported
from grounding.webagents.agenticshop.release.evaluations import read_evaluation
from grounding.webagents.asking import Opened
from grounding.webagents.calls import together

VERSION = 1
"""Goes up when a reply is read otherwise: part of a judge's identity."""

MAX_RAW_CHARS = 400_000
ITEMS_AT_ONCE = 8


class _Answer(Record, frozen=True, kw_only=True):
    """What came of one question: the reply, or why there is none."""

    text: str = ""
    call: Call | None = None
    failure: Failure | None = None


class ModelJudge:
    """A chat model that holds products against checklists.

    Args:
        opened: The model and its card.
        condition: What it is shown (paper, table 3).
        mode: ``all`` asks one question about a product, ``item`` one for each item.
        prompt: The name of a wording, or the path of one; None: ``evidence``.
        max_pictures: So many pictures of a page are shown.

    Raises:
        UserError: there is no such wording, or it can't be asked this way.
    """

    def __init__(
        self,
        opened: Opened,
        *,
        condition: Condition = "full",
        mode: Literal["all", "item"] = "all",
        prompt: str | None = None,
        max_pictures: int = MAX_PICTURES,
    ) -> None:
        self._model = opened.model
        self._card = opened.card
        self._prompt = judge_prompt(prompt)
        self._mode = mode
        self._max_pictures = max_pictures
        self.condition: Condition = condition
        self.name = opened.card.name if condition == "full" else f"{opened.card.name}@{condition}"
        if self._prompt.style == "official" and (mode != "all" or condition != "full"):
            raise UserError(
                f"the wording {self._prompt.name} asks about all items at once and shows all that was extracted: it "
                f"knows neither one item at a time nor the condition {condition}; use the wording evidence for that"
            )
        self._slots = asyncio.Semaphore(max(1, self._model.max_concurrency))

    @property
    def identity(self) -> str:
        """Model, parameters, wording, what is shown, and how replies are read."""
        shown = f"{self.condition} pictures.{self._max_pictures} showing.{showing.VERSION} reading.{VERSION}"
        return f"judge model {self._mode} {self._prompt.label} {shown} {self._model.identity}"

    @property
    def max_concurrency(self) -> int:
        """Products at once: as many as there may be requests, fewer where each takes many."""
        most = self._model.max_concurrency
        return most if self._mode == "all" else max(1, most // ITEMS_AT_ONCE)

    async def check(self) -> None:
        """Fail early when the endpoint is not there, refuses the key or does not serve the model."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close connections and threads."""
        await self._model.aclose()

    async def judge(self, subject: JudgedProduct, evidence: StoredEvidence, key: str) -> Judgement:
        """Judge one product. A page that is no product's satisfies nothing, and nobody is asked about it.

        That holds where the judge would be shown what was extracted; with less to go on it is asked about any page,
        and so is the release's wording, whose reply says what kind of page it is.

        Raises:
            BudgetReached: the cost limit leaves no room; nothing was sent.
            UserError: the endpoint refuses every request, or evidence is missing in the folder.
        """
        failure = subject.extraction.failure
        if failure is not None:
            return not_judged(subject, self.name, self.condition, key, failure)
        if self._prompt.style == "official":
            return await self._official(subject, key)
        why = no_product(subject.extraction) if self.condition == "full" else ""
        if why or not subject.checklist:
            return nothing_satisfied(subject, self.name, self.condition, key, why)
        shown = shown_evidence(subject, self.condition, max_pictures=self._max_pictures)
        try:
            sizes = largest_sizes(shown.pictures, self._card.image)
        except ValueError as error:
            failure = Failure(kind="error", message=f"{self._card.name} takes no picture of this page: {error}")
            return not_judged(subject, self.name, self.condition, key, failure)
        if self._mode == "all":
            answers = [await self._about(subject.checklist, shown, evidence, sizes)]
            return self._judgement(subject, key, shown, [subject.checklist], answers)
        questions = [(item,) for item in subject.checklist]
        answers = await _all_of([self._about(each, shown, evidence, sizes) for each in questions])
        return self._judgement(subject, key, shown, questions, answers)

    async def _about(
        self, items: Sequence[ChecklistItem], shown: ShownEvidence, evidence: StoredEvidence, sizes: ImageSizes
    ) -> _Answer:
        one = self._mode == "item"
        render = evidence_question(self._prompt, self.condition, shown, items, evidence, self._card.image, one=one)
        return await self._ask(render, sizes)

    async def _ask(self, render: Render, sizes: ImageSizes) -> _Answer:
        async with self._slots:
            asked = await self._model.send(render, sizes)
        return _answer(asked)

    def _judgement(
        self,
        subject: JudgedProduct,
        key: str,
        shown: ShownEvidence,
        questions: Sequence[Sequence[ChecklistItem]],
        answers: Sequence[_Answer],
    ) -> Judgement:
        """The verdicts of all answers together.

        An infrastructure error in one of them is the whole judgement's, so that it is asked again. A reply that can't
        be read leaves its items ``missing``; where no reply can be read, that is the judgement's failure.
        """
        verdicts: list[ItemVerdict] = []
        reported: Reported | None = None
        failures: list[Failure] = []
        for items, answer in zip(questions, answers, strict=True):
            read = None if answer.failure is not None else read_verdicts(answer.text, items, shown)
            if read is None:
                failures.append(answer.failure or Failure(kind="unparsed", message="the reply holds no verdicts"))
                verdicts += [ItemVerdict(item=item.id, satisfied=False, flags=("missing",)) for item in items]
                continue
            verdicts += read.verdicts
            reported = reported or read.reported
        errors = [failure for failure in failures if failure.kind == "error"]
        failure = errors[0] if errors else failures[0] if len(failures) == len(answers) else None
        return Judgement(
            step_id=judgement_id(subject.product_id, self.name),
            key=key,
            judge=self.name,
            condition=self.condition,
            verdicts=tuple(verdicts),
            reported=reported if self._mode == "all" else None,
            raw=_raw(questions, answers, one=self._mode == "item"),
            requests=len(answers),
            call=together([answer.call for answer in answers if answer.call is not None]),
            failure=failure,
        )

    async def _official(self, subject: JudgedProduct, key: str) -> Judgement:
        answer = await self._ask(official_question(self._prompt, subject), largest_sizes((), self._card.image))
        failure = answer.failure
        found = None if failure is not None else reply_object(answer.text, "annotated_checklist")
        if found is None:
            failure = failure or Failure(kind="unparsed", message="the reply holds no annotated_checklist")
            judgement = not_judged(subject, self.name, self.condition, key, failure)
        else:
            judgement = read_evaluation(
                subject.product_id, found, subject.checklist, judge=self.name, key=key
            ).judgement
        verdicts = tuple(
            # The release asks for no evidence and gets none.
            msgspec.structs.replace(one, flags=(*one.flags, "no-evidence")) if one.satisfied else one
            for one in judgement.verdicts
        )
        return msgspec.structs.replace(
            judgement,
            step_id=judgement_id(subject.product_id, self.name),
            condition=self.condition,
            verdicts=verdicts,
            raw=answer.text[:MAX_RAW_CHARS],
            requests=1,
            call=answer.call,
        )


def _answer(asked: Asked) -> _Answer:
    if asked.failure is not None or asked.completion is None:
        failure = asked.failure or Failure(kind="error", message="no completion came")
        return _Answer(call=asked.call, failure=failure)
    said = asked.completion
    if said.refused or said.filtered:
        message = f"the model declined to judge (finish reason {said.finish_reason or 'none'})"
        return _Answer(text=said.text, call=asked.call, failure=Failure(kind="unparsed", message=message))
    return _Answer(text=said.text, call=asked.call)


async def _all_of(questions: Sequence[Coroutine[Any, Any, _Answer]]) -> list[_Answer]:
    """The answers to several questions asked side by side; where one can't be asked, the others are called off."""
    tasks = [asyncio.create_task(each) for each in questions]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _raw(questions: Sequence[Sequence[ChecklistItem]], answers: Sequence[_Answer], *, one: bool) -> str:
    if not one:
        return answers[0].text[:MAX_RAW_CHARS]
    parts = (f"[{items[0].id}]\n{answer.text}" for items, answer in zip(questions, answers, strict=True))
    return "\n\n".join(parts)[:MAX_RAW_CHARS]
