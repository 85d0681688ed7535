"""What is said of a run's wrong steps, and people's labels: JSON lines in, opinions out.

One line a step and labeller::

    {"step": "3/42", "label": "reasoning", "labeller": "ann", "note": "names the first result", "plan": "Click …"}

``reasoning``: the plan does not name the right element; ``grounding``: it does, the click is still wrong; ``unclear``:
the labeller can't tell; ``annotation-wrong``: the gold place is not where a click is right; ``ambiguous``: words fit
several places; ``other``: as the note says; ``withdrawn``: what the labeller said of the step before no longer counts.
``plan`` is the plan that the labeller saw: a label for another plan is counted and left out. Of several labels of one
labeller for one step the last counts. In the error split, which knows two classes, ``annotation-wrong``, ``ambiguous``
and ``other`` stand as ``unclear``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal, get_args

import msgspec

from grounding.errors import UserError
from grounding.records import Plan, Point, Prediction, Record, Step
from grounding.run.folder import RunFolder
from grounding.scoring.intervals import Interval, cohens_kappa, wilson
from grounding.scoring.scored import judge

Kind = Literal["wrong_place", "no_place", "no_plan", "no_gold", "unanswered"]
"""Why a scored step is no hit; the package's docstring has the table."""

Said = Literal["reasoning", "grounding", "unclear", "unparsed", "error", "missing"]
"""What a source says of a step. ``unclear``: it looked and can't tell. ``unparsed``: its reply can't be read.
``error``: infrastructure failed, asking again may help. ``missing``: it has nothing on this step."""


class WrongStep(Record, frozen=True, kw_only=True):
    """A scored step that is no hit. ``reason`` is the run's own word on why there is no place. ``may_change``: the step
    ended in an error or was not asked yet, so that continuing the run may make it a hit.
    """

    step: Step
    kind: Kind
    plan: str | None = None
    point: Point | None = None
    distance_px: float | None = None
    reason: str = ""
    may_change: bool = False

    @property
    def id(self) -> str:
        return self.step.id

    @property
    def is_asked(self) -> bool:
        return self.kind in ("wrong_place", "no_place")


class Opinion(Record, frozen=True, kw_only=True):
    """What one source says of one step, and why: in the words of the rule, the judge or the person."""

    source: str
    step_id: str
    said: Said
    because: str = ""


class Share(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``k`` of ``n`` steps, in per cent with the Wilson interval; None where ``n`` is 0."""

    k: int
    n: int
    percent: float | None
    interval: Interval | None


class SourceSplit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one source says of all steps that it was asked about. The two shares have the same ``n``. ``participant`` is
    empty where the split is of all participants.
    """

    source: str
    participant: str = ""
    reasoning: Share
    grounding: Share
    unclear: int
    unparsed: int
    error: int
    missing: int


class Agreement(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Two sources over the ``n`` steps that both call reasoning or grounding.

    The four counts name the first source's word first. ``kappa`` is Cohen's; None where it is undefined, and
    ``undefined_because`` says why. ``interval`` is its 95 % large-sample interval; None where the standard error is 0.
    ``left_out`` counts the steps on which one or both say something else or nothing.
    """

    first: str
    second: str
    n: int
    reasoning_reasoning: int
    reasoning_grounding: int
    grounding_reasoning: int
    grounding_grounding: int
    agree_percent: float | None
    kappa: float | None
    interval: Interval | None
    undefined_because: str
    left_out: int


class ReferenceInfo(Record, frozen=True, kw_only=True, omit_defaults=False):
    plans: str = ""
    runs: tuple[str, ...] = ()


class JudgeInfo(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Who judged, with which prompt, and what all its kept answers took together (US dollars; None: not known)."""

    card: str
    model: str
    prompt: str
    base_url: str
    journal: str
    asked_now: int
    cost_usd: float | None
    plans_cut: int
    stopped: str = ""


class ErrorSplit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``error_split.json``. ``status`` is partial where a source or the run itself still has answers to
    come. ``notes`` are for the reader.
    """

    schema: Literal[1] = 1
    run_id: str
    signature: str
    status: Literal["complete", "partial"]
    scored: int
    hits: int
    wrong: dict[Kind, int]
    splits: tuple[SourceSplit, ...]
    agreement: tuple[Agreement, ...]
    participants: tuple[SourceSplit, ...]
    reference: ReferenceInfo | None
    judge: JudgeInfo | None
    labels: tuple[str, ...]
    notes: tuple[str, ...]


class ErrorSplitLine(Record, frozen=True, kw_only=True):
    step_id: str
    task: str | int
    kind: Kind
    instruction: str
    plan: str | None
    point: Point | None = None
    distance_px: float | None = None
    reason: str = ""
    opinions: tuple[Opinion, ...] = ()


FORMAT = (
    'one line a step, such as {"step": "3/42", "label": "reasoning", "labeller": "ann"}; label is reasoning, '
    "grounding, unclear, annotation-wrong, ambiguous, other or withdrawn; note, plan and at may be given, too"
)

LABELLER = "1 to 64 letters, digits, blanks, '.', '_', '-' or '@', no blank first or last"

LabelName = Literal["reasoning", "grounding", "unclear", "annotation-wrong", "ambiguous", "other", "withdrawn"]

_LABELLER = re.compile(r"[^\W]([\w .@-]{0,62}[\w.@-])?")


class Label(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a file of labels."""

    step: str
    label: LabelName
    labeller: str
    note: str = ""
    plan: str | None = None
    at: str = ""


_REPLACED = "labels were replaced by a later one of the same labeller"
_OTHER_PLAN = "labels were for another plan than this run's and are left out"
_NOT_ASKED = "labels are for steps that are no misses of this run and are left out"


class Labels(Record, frozen=True, kw_only=True):
    """What people say of a run's wrong steps, and in ``notes``, in words, which of their labels were left out.

    ``opinions`` has one entry a labeller, by the source's name and in order of first appearance, with one opinion for
    each step that is asked about.
    """

    opinions: dict[str, tuple[Opinion, ...]]
    notes: tuple[str, ...]


def read_labels(paths: Iterable[Path], wrongs: Sequence[WrongStep], known: Mapping[str, object]) -> Labels:
    """Read files of labels for a run. Raises UserError: a file can't be read, a line is no label, or a step is not part
    of the run; says file, line, field.
    """
    by_step = {wrong.step.id: wrong for wrong in wrongs}
    kept: dict[str, dict[str, Label]] = {}
    left_out = Counter[str]()
    for path in paths:
        try:
            found = list(label_lines(path.read_bytes(), f"--labels {path}"))
        except OSError as error:
            raise UserError(f"--labels {path}: can't be read: {error.strerror}") from error
        if not found:
            raise UserError(f"--labels {path}: holds no label; expected {FORMAT}")
        for number, label in found:
            if label.step not in known:
                looks = f"{label.step!r} is no step of this run; ids look like {next(iter(known), '1/1')}"
                raise UserError(f"--labels {path}, line {number}, field step: {looks}")
            wrong = by_step.get(label.step)
            mine = kept.setdefault(label.labeller, {})
            if wrong is None:
                left_out[_NOT_ASKED] += 1
            elif label.plan is not None and label.plan != wrong.plan:
                left_out[_OTHER_PLAN] += 1
            else:
                left_out[_REPLACED] += label.step in mine
                mine[label.step] = label
    opinions = {
        f"label:{labeller}": tuple(_opinion(wrong, labeller, mine.get(wrong.step.id)) for wrong in wrongs)
        for labeller, mine in kept.items()
    }
    notes = (f"{count} {words}" for words in (_REPLACED, _OTHER_PLAN, _NOT_ASKED) if (count := left_out[words]))
    return Labels(opinions=opinions, notes=tuple(notes))


def is_labeller(name: str) -> bool:
    return _LABELLER.fullmatch(name) is not None


def _opinion(wrong: WrongStep, labeller: str, label: Label | None) -> Opinion:
    said: Said = "missing"
    because = ""
    if label is not None and label.label in ("reasoning", "grounding", "unclear"):
        said, because = label.label, label.note
    elif label is not None and label.label != "withdrawn":
        said, because = "unclear", f"{label.label}: {label.note}" if label.note else label.label
    return Opinion(source=f"label:{labeller}", step_id=wrong.step.id, said=said, because=because)


def label_lines(content: bytes, where: str) -> Iterator[tuple[int, Label]]:
    """The labels in a file with the numbers of their lines. Raises UserError: a line is no label; ``where`` says of
    which file.
    """
    decoder = msgspec.json.Decoder(Label)
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            label = decoder.decode(line)
        except msgspec.ValidationError as error:
            text, _, field = str(error).partition(" - at `$.")
            named = f", field {field.rstrip('`')}" if field else ""
            raise UserError(f"{where}, line {number}{named}: {text}; expected {FORMAT}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(f"{where}, line {number}: not JSON ({error}); expected {FORMAT}") from error
        if not is_labeller(label.labeller):
            raise UserError(f"{where}, line {number}, field labeller: {label.labeller[:80]!r}; expected {LABELLER}")
        yield number, label


class Wrongs(Record, frozen=True, kw_only=True):
    """The wrong steps of a run in session order, and how many scored steps and hits there are in all."""

    scored: int
    hits: int
    steps: tuple[WrongStep, ...]

    @property
    def asked(self) -> tuple[WrongStep, ...]:
        return tuple(wrong for wrong in self.steps if wrong.is_asked)


def read_wrongs(folder: RunFolder) -> Wrongs:
    """Judge the stored answers of a run and keep what is no hit. Raises UserError: the folder holds no run, or a file
    in it is damaged.
    """
    steps = [step for session in folder.read_sessions() for step in session.steps if step.region is not None]
    plans, predictions = folder.plans(read_only=True), folder.predictions(read_only=True)
    try:
        found = [wrong_step(step, plans.last(step.id), predictions.last(step.id)) for step in steps]
    finally:
        plans.close()
        predictions.close()
    wrongs = tuple(wrong for wrong in found if wrong is not None)
    return Wrongs(scored=len(steps), hits=len(steps) - len(wrongs), steps=wrongs)


def wrong_step(step: Step, plan: Plan | None, prediction: Prediction | None) -> WrongStep | None:
    """A scored step with its kind; None for a hit."""
    verdict = judge(step, plan, prediction)
    if verdict.outcome == "hit":
        return None
    unasked = prediction is None and (plan is None or plan.failure is None)
    region = step.region
    kind: Kind = "no_place" if verdict.outcome == "unparsed" else "wrong_place"
    if verdict.outcome == "error" or unasked or plan is None:
        kind = "unanswered"
    elif plan.text is None:
        kind = "no_plan"
    elif verdict.outcome == "missing":
        kind = "unanswered"
    elif region is None or not (any(box.holds_points for box in region.boxes) or region.polygons):
        kind = "no_gold"
    return WrongStep(
        step=step,
        kind=kind,
        plan=None if plan is None else plan.text,
        point=verdict.point,
        distance_px=verdict.distance_px,
        reason=verdict.reason,
        may_change=verdict.outcome == "error" or unasked,
    )


def share(k: int, n: int) -> Share:
    return Share(k=k, n=n, percent=100 * k / n if n else None, interval=wilson(k, n) if n else None)


def split_of(source: str, opinions: Iterable[Opinion], *, participant: str = "") -> SourceSplit:
    """Count what a source says. Only reasoning and grounding are in the denominator."""
    said = Counter(opinion.said for opinion in opinions)
    reasoning, grounding = said.pop("reasoning", 0), said.pop("grounding", 0)
    n = reasoning + grounding
    rest = {name: said[name] for name in ("unclear", "unparsed", "error", "missing")}
    return SourceSplit(
        source=source, participant=participant, reasoning=share(reasoning, n), grounding=share(grounding, n), **rest
    )


def splits_by_participant(
    wrongs: Sequence[WrongStep], opinions: Mapping[str, Sequence[Opinion]]
) -> tuple[SourceSplit, ...]:
    """One split for each source and participant that has a step to ask about."""
    whose = {wrong.step.id: wrong.step.participant for wrong in wrongs}
    return tuple(
        split_of(source, [each for each in given if whose[each.step_id] == participant], participant=participant)
        for source, given in opinions.items()
        for participant in dict.fromkeys(whose.values())
    )


def kind_counts(wrongs: Iterable[WrongStep]) -> dict[Kind, int]:
    counts = Counter(wrong.kind for wrong in wrongs)
    return {kind: counts[kind] for kind in get_args(Kind)}


CLASSES: tuple[Said, Said] = ("reasoning", "grounding")


def agreements(opinions: Mapping[str, Iterable[Opinion]]) -> tuple[Agreement, ...]:
    said = {source: {each.step_id: each.said for each in given} for source, given in opinions.items()}
    return tuple(_agreement(first, second, said[first], said[second]) for first, second in combinations(said, 2))


def _agreement(first: str, second: str, one: Mapping[str, Said], two: Mapping[str, Said]) -> Agreement:
    table = [[0, 0], [0, 0]]
    for step_id in one.keys() & two.keys():
        if one[step_id] in CLASSES and two[step_id] in CLASSES:
            table[CLASSES.index(one[step_id])][CLASSES.index(two[step_id])] += 1
    n = sum(map(sum, table))
    kappa = cohens_kappa(table)
    undefined = f"both always say {CLASSES[0] if table[0][0] else CLASSES[1]}" if n else "no step that both decide"
    return Agreement(
        first=first,
        second=second,
        n=n,
        **{f"{a}_{b}": table[i][j] for i, a in enumerate(CLASSES) for j, b in enumerate(CLASSES)},
        agree_percent=100 * (table[0][0] + table[1][1]) / n if n else None,
        kappa=kappa.value,
        interval=kappa.interval,
        undefined_because=undefined if kappa.value is None else "",
        left_out=len(one.keys() | two.keys()) - n,
    )
