"""Runs and files of labels in, agreement of their judges with people out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.agenticshop.records import COUNTED_PRODUCTS, Judgement, PageClass
from grounding.webagents.agenticshop.reliability.agreement import AgreementFigure, agreement_figures
from grounding.webagents.agenticshop.reliability.labels import LabelFile, label_rank, read_label_file
from grounding.webagents.agenticshop.reliability.raters import (
    Asked,
    Person,
    Rater,
    Unsure,
    asked_about,
    judge_raters,
    person_rater,
)
from grounding.webagents.agenticshop.runfiles import CurationFolder


class RaterFacts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How much a person or judge says, and what was left out."""

    name: str
    products: int
    items: int
    undecided: int
    failed_products: int = 0
    other_product: int = 0
    other_words: int = 0
    not_blind: int = 0
    not_labelled: int = 0
    seconds: float = 0.0


class Agreed(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Figures, and what they are of."""

    runs: tuple[str, ...]
    unsure: Unsure
    seed: int
    people: tuple[RaterFacts, ...]
    judges: tuple[RaterFacts, ...]
    figures: tuple[AgreementFigure, ...]
    warnings: tuple[str, ...] = ()


class _Run(Record, frozen=True, kw_only=True):
    name: str
    run_id: str
    asked: dict[str, Asked]
    classes: dict[str, PageClass | None]
    judgements: tuple[Judgement, ...]


def agree_with_people(runs: Sequence[Path], labels: Sequence[Path], *, unsure: Unsure, seed: int) -> Agreed:
    """Hold the judges of runs against people.

    Judges of several runs stand side by side where the runs have the same products, such as runs that differ in what
    their judges are shown.

    Raises:
        UserError: a run or a file is damaged, two files are of one person, or the labels are of other products.
    """
    found = [_read(path) for path in runs]
    files = [read_label_file(path) for path in labels]
    twice = [name for name, count in Counter(one.annotator for one in files).items() if count > 1]
    if twice:
        raise UserError(f"--labels: two files are of {twice[0]}; give one file a person, or change the field annotator")
    asked, odd = _together(found)
    people = [person_rater(file, asked, unsure) for file in files]
    for path, person in zip(labels, people, strict=True):
        if not person.labelled:
            raise UserError(
                f"--labels {path}: none of its {person.other_product} products is in {', '.join(map(str, runs))} with "
                "the same address; give the run whose page the labels were made on"
            )
    several = len(found) > 1
    judges = [
        rater
        for run in found
        for rater in judge_raters(run.judgements, asked, f"{run.name}: " if several else "")
        if rater.opinions
    ]
    if not judges and len(people) < 2:
        raise UserError(f"{', '.join(map(str, runs))}: no judgement of these products, and one person's labels only")
    return Agreed(
        runs=tuple(run.run_id for run in found),
        unsure=unsure,
        seed=seed,
        people=tuple(_person_facts(file, one, found) for file, one in zip(files, people, strict=True)),
        judges=tuple(_facts(one) for one in judges),
        figures=agreement_figures(judges, [one.rater for one in people], seed=seed),
        warnings=(*odd, *_warnings(files, people, found)),
    )


def _read(path: Path) -> _Run:
    folder = CurationFolder(path)
    info = folder.read_info()
    curations, judgements = folder.curations(read_only=True), folder.judgements(read_only=True)
    extractions = folder.extractions(read_only=True)
    try:
        return _Run(
            name=path.resolve().name,
            run_id=info.run_id,
            asked=asked_about(folder.read_tasks(), curations.every()),
            classes={one.step_id: one.page_class for one in extractions.every()},
            judgements=tuple(judgements.every()),
        )
    finally:
        curations.close()
        extractions.close()
        judgements.close()


def _together(runs: Sequence[_Run]) -> tuple[dict[str, Asked], list[str]]:
    """The products that all runs name alike, and a warning for those that they don't."""
    asked = dict(runs[0].asked)
    odd = []
    for run in runs[1:]:
        other = [name for name, one in asked.items() if run.asked.get(name) != one]
        if other:
            odd.append(f"{len(other)} products of {runs[0].name} are others in {run.name}: they are left out")
        for name in other:
            del asked[name]
    return asked, odd


def _warnings(files: Sequence[LabelFile], people: Sequence[Person], runs: Sequence[_Run]) -> list[str]:
    found = []
    known = {run.run_id for run in runs}
    for file, person in zip(files, people, strict=True):
        if file.run_id not in known:
            found.append(f"{file.annotator}: labels of another run ({file.run_id}), used where products are the same")
        if person.not_blind:
            found.append(f"{file.annotator}: {person.not_blind} products were labelled with a verdict on the screen")
    drawn = {(file.seed, file.sample, file.pages) for file in files}
    if len(drawn) > 1:
        found.append("the files are of different samples: only products that both have are compared between people")
    return found


def _person_facts(file: LabelFile, person: Person, runs: Sequence[_Run]) -> RaterFacts:
    run = next((one for one in runs if one.run_id == file.run_id), runs[0])
    drawn = sampled(file.seed, file.sample, eligible(run.classes, file.pages))
    return msgspec.structs.replace(
        _facts(person.rater),
        other_product=person.other_product,
        other_words=person.other_words,
        not_blind=person.not_blind,
        seconds=round(person.seconds, 1),
        not_labelled=len(set(drawn) - {one.product for one in file.products}),
    )


def _facts(rater: Rater) -> RaterFacts:
    return RaterFacts(
        name=rater.name if rater.condition is None else f"{rater.name} ({rater.condition})",
        products=len(rater.opinions),
        items=sum(map(len, rater.opinions.values())),
        undecided=rater.undecided,
        failed_products=rater.failed,
    )


def eligible(classes: Mapping[str, PageClass | None], pages: Literal["product", "fetched", "all"]) -> list[str]:
    """The counted products that a page draws from, by the class of their pages; None: nobody could look at it."""
    counted = [name for name in classes if int(name.rpartition("/")[2]) < COUNTED_PRODUCTS]
    if pages == "product":
        return [name for name in counted if classes[name] == "product"]
    return counted if pages == "all" else [name for name in counted if classes[name] is not None]


def sampled(seed: int, sample: int, products: Sequence[str]) -> list[str]:
    """The products that a seed draws, in the order in which they are shown."""
    return sorted(products, key=lambda name: (label_rank(seed, name), name))[:sample]
