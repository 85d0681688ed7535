"""What people and judges say of the items of products, brought to one form: yes, no or nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from grounding.records import Record
from grounding.webagents.agenticshop.records import (
    ChecklistItem,
    Condition,
    Curation,
    CurationTask,
    Judgement,
    product_id,
)
from grounding.webagents.agenticshop.reliability.labels import LabelFile, ProductLabels

Unsure = Literal["leave-out", "not-satisfied"]
"""What "can't tell" counts as: no opinion, or not satisfied (as a judge is told that what is not shown fails)."""

Opinions = dict[str, dict[str, bool]]
"""Satisfied or not, by product and item; what somebody does not decide is not in it."""


class Asked(Record, frozen=True, kw_only=True):
    """One product that opinions may be about."""

    product: str
    url: str
    checklist: tuple[ChecklistItem, ...]


class Rater(Record, frozen=True, kw_only=True):
    """Somebody's opinions. ``name`` is unique among raters; ``condition`` is None for people.

    ``undecided`` items were looked at and not decided: "can't tell" of a person, items that a judge does not decide.
    ``failed`` products have a judgement that is an error.
    """

    name: str
    condition: Condition | None
    opinions: Opinions
    undecided: int = 0
    failed: int = 0


class Person(Record, frozen=True, kw_only=True):
    """A person's opinions of a run's products, and which labels were left out."""

    rater: Rater
    other_product: int
    other_words: int
    not_blind: int
    seconds: float
    labelled: int


def asked_about(tasks: Iterable[CurationTask], curations: Iterable[Curation]) -> dict[str, Asked]:
    """The products of a run, by their id; the last curation of a task counts."""
    made = {one.step_id: one for one in curations}
    return {
        product_id(task.id, product.rank): Asked(
            product=product_id(task.id, product.rank), url=product.url, checklist=task.checklist
        )
        for task in tasks
        if task.id in made
        for product in made[task.id].products
    }


def person_rater(file: LabelFile, asked: Mapping[str, Asked], unsure: Unsure) -> Person:
    """A person's labels for the products of a run.

    Args:
        file: The labels.
        asked: The run's products.
        unsure: What "can't tell" counts as.
    """
    opinions: Opinions = {}
    other_product = other_words = undecided = not_blind = 0
    seconds = 0.0
    for said in file.products:
        about = asked.get(said.product)
        if about is None or about.url != said.url:
            other_product += 1
            continue
        words = {item.id: item.text for item in about.checklist}
        mine, open_items, strange = _decided(said, words, unsure)
        opinions[said.product] = mine
        undecided += open_items
        other_words += strange
        not_blind += not said.blind
        seconds += said.seconds
    return Person(
        rater=Rater(name=file.annotator, condition=None, opinions=opinions, undecided=undecided),
        other_product=other_product,
        other_words=other_words,
        not_blind=not_blind,
        seconds=seconds,
        labelled=len(opinions),
    )


def _decided(said: ProductLabels, words: Mapping[str, str], unsure: Unsure) -> tuple[dict[str, bool], int, int]:
    """Opinions, how many items are not decided, and how many labels are for other words."""
    mine: dict[str, bool] = {}
    open_items = strange = 0
    for one in said.labels:
        if words.get(one.item) != one.text:
            strange += 1
        elif one.label == "cant-tell" and unsure == "leave-out":
            open_items += 1
        else:
            mine[one.item] = one.label == "satisfied"
    return mine, open_items, strange


def judge_raters(judgements: Iterable[Judgement], asked: Mapping[str, Asked], prefix: str = "") -> tuple[Rater, ...]:
    """The judges of a run, by name and condition; the last judgement of a step counts.

    An item that the judge does not decide (flag ``undecided``) is no opinion. One that it was asked about and says
    nothing of is not satisfied, as in the scores. A judgement that is an error gives no opinion of its product.

    Args:
        judgements: What the judges say.
        asked: The run's products.
        prefix: Stands before the judges' names, where judges of several runs have the same.
    """
    last = {(one.step_id, one.condition): one for one in judgements}
    found: dict[tuple[str, Condition], list[Judgement]] = {}
    for one in last.values():
        found.setdefault((one.judge, one.condition), []).append(one)
    return tuple(_judge(f"{prefix}{name}", condition, said, asked) for (name, condition), said in sorted(found.items()))


def _judge(name: str, condition: Condition, said: Iterable[Judgement], asked: Mapping[str, Asked]) -> Rater:
    opinions: Opinions = {}
    undecided = failed = 0
    for judgement in said:
        product = judgement.step_id.removesuffix(f"/{judgement.judge}")
        if product not in asked:
            continue
        if judgement.failure is not None:
            failed += 1
            continue
        verdicts = {one.item: one for one in judgement.verdicts}
        mine = {}
        for item in asked[product].checklist:
            verdict = verdicts.get(item.id)
            if verdict is not None and "undecided" in verdict.flags:
                undecided += 1
            else:
                mine[item.id] = verdict is not None and verdict.satisfied
        opinions[product] = mine
    return Rater(name=name, condition=condition, opinions=opinions, undecided=undecided, failed=failed)
