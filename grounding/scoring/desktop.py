"""One prediction and one recorded action in, right or wrong by each rule out, and if wrong, how.

``paper`` wants the same kind and, where points are recorded, each no further off than the tolerance; scrolls in the
same direction with offsets within the tolerance; the same keys, modifiers in any order and on either side; the same
text, case and blanks aside. The paper (section 3.3) gives the distance for clicks only; the rest follows from it here.
A scroll without an amount is compared by its direction. ``strict`` also wants the (first) point inside the recorded
element, the same offset, and the very same text.

``official`` is PERCU's released matcher, with the part of its agent that takes the action out of a reply, fault for
fault (``is_action_match`` in code/evaluate.py and ``extract_plan_and_action`` in code/deploy/agent.py of the released
code). What it does that the paper does not say, each held by a test:

- a gold action that contains "finish" anywhere is right when the prediction contains it anywhere;
- all numbers of a text count as coordinates in pairs, those in typed text and key names too, a hyphen as a minus;
- distances are summed over the pairs and the sum must be *below* 50 pixels a pair: one end of a drag may be 99 off;
- only the first word must agree, and only where the numbers are as many;
- whatever fails, or has an odd count of numbers, is compared once more without anything but a-z and 0-9.
"""

import ast
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Literal

import msgspec
import numpy as np

from grounding.actions.kinds import ACTION_KINDS, Action, ActionKind, same_keys
from grounding.data.desktop_records import DesktopPrediction, DesktopStep, DesktopTask, is_inside
from grounding.geometry import ModelPoint, point_to_original
from grounding.records import NEVER_ASKED, Box, ImageSizes, Record, Size
from grounding.scoring.intervals import RESAMPLES, bootstrap
from grounding.scoring.scored import Estimate, estimated
from grounding.scoring.summary import CostTotals

TOLERANCE_PX = 50.0  # PERCU, section 3.3.


def to_screen(action: Action, sizes: ImageSizes) -> Action:
    """The action with its points in pixels of the original screenshot; none is rounded."""
    points = [point_to_original(point, sizes) for point in action.points]
    return action.moved([ModelPoint(space="original_px", x=point.x_px, y=point.y_px) for point in points])


def distance_px(predicted: Action, gold: Action) -> float | None:
    """The largest distance in pixels of the screenshot, or of two scrolls' offsets; None for different kinds."""
    if predicted.kind != gold.kind:
        return None
    if gold.points:
        return max(_apart(one, other) for one, other in zip(predicted.points, gold.points, strict=True))
    if predicted.offset is None or gold.offset is None:
        return None
    return abs(predicted.offset - gold.offset)


def _apart(one: ModelPoint, other: ModelPoint) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)


def same_action(
    predicted: Action, gold: Action, tolerance_px: float, rect: Box | None = None, *, strict: bool = False
) -> bool:
    """Whether an action is right by the paper, or strictly. ``rect`` is the element on which the gold action began."""
    apart = distance_px(predicted, gold)
    if predicted.kind != gold.kind or predicted.direction != gold.direction:
        return False
    if gold.points:
        inside = rect is None or is_inside(predicted.points[0], rect)
        return apart is not None and apart <= tolerance_px and (inside or not strict)
    if apart is not None:
        return apart <= (0 if strict else tolerance_px)
    texts = [unicodedata.normalize("NFC", action.text) for action in (predicted, gold)]
    if not strict:  # Composed, case folded, runs of blanks as one, none around it.
        texts = [" ".join(unicodedata.normalize("NFC", text.casefold()).split()) for text in texts]
    return texts[0] == texts[1] and same_keys(predicted.pressed, gold.pressed)


MAX_REPLY_CHARS = 20_000
# What the released agent hands to the matcher after three replies without an action.
FORMAT_FAILED = "Error: Model failed to follow format after retries."
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)")
_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_MARKER = re.compile(r"(?:Action|Actions)\s*:", re.IGNORECASE)


def official_match(prediction: str | None, gold: str | None, tolerance_px: float = TOLERANCE_PX) -> bool:
    """Whether the released matcher takes two action texts for the same.

    >>> official_match("scroll (-300)", "scroll (300)"), official_match("click (150, 100)", "click (100, 100)")
    (True, False)
    """
    if not prediction or not gold:
        return False
    predicted, expected = prediction.strip().lower(), gold.strip().lower()
    if "finish" in expected:
        return "finish" in predicted
    ours, theirs = (list(map(float, _NUMBER.findall(text))) for text in (predicted, expected))
    # With an odd count of numbers the evaluator runs past the end of its list and catches its own error.
    if ours and len(ours) == len(theirs) and len(ours) % 2 == 0 and predicted.split()[0] == expected.split()[0]:
        squares = [(one - other) * (one - other) for one, other in zip(ours, theirs, strict=True)]
        apart = (math.sqrt(across + down) for across, down in zip(squares[::2], squares[1::2], strict=True))
        if sum(apart) < tolerance_px * (len(ours) / 2):
            return True
    return _letters(predicted) == _letters(expected)


def _letters(text: str) -> str:
    return _NOT_PLAIN.sub("", text.lower())


def official_action(reply: str, screenshot: Size) -> str:
    """The action text that the released agent takes from a reply, "None" where it finds none.

    A reply that is one dictionary is ShowUI's: its position is multiplied by the size of the screenshot and truncated.
    From any other all that stands behind the last "Action:" is taken. Unlike there, a dictionary is read up to 20,000
    characters, and one whose values make the released code fail is read like any other reply.

    >>> official_action("{'action': 'CLICK', 'position': [0.5, 0.25]}", Size(width=1280, height=720))
    'CLICK (640, 180)'
    """
    text = reply.strip()
    if text.startswith("{") and text.endswith("}") and len(text) <= MAX_REPLY_CHARS:
        found = _showui(text, screenshot)
        if found is not None:
            return found
    markers = list(_MARKER.finditer(text))
    if not markers:
        return "None"
    return text[markers[-1].end() :].strip().strip("{}").strip()


def _showui(text: str, screenshot: Size) -> str | None:
    try:
        # Literals only: nothing is evaluated. Hostile nesting raises one of these.
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    action, position = values.get("action", "click"), values.get("position", [])
    try:
        if position and len(position) >= 2:
            # Plain numbers only: the released code multiplies texts as well, which repeats them.
            x, y = (position[axis] for axis in (0, 1) if isinstance(position[axis], int | float))
            return f"{action} ({int(x * screenshot.width)}, {int(y * screenshot.height)})"
    except (TypeError, ValueError, OverflowError, LookupError):
        return None
    value = values.get("value", "")
    return f'{action} "{value}"' if value else str(action)


class Ruling(Record, frozen=True, omit_defaults=False):
    right: bool
    why: str


DesktopRule = str
Rule = Callable[[DesktopStep, Action | None, str, float], Ruling]
"""Of a step, an answer or None, the text that the released matcher is given, and the tolerance."""


def _official(step: DesktopStep, _action: Action | None, text: str, tolerance_px: float) -> Ruling:
    gold = step.gold_text
    right = official_match(text, gold, tolerance_px)
    ours, theirs = _NUMBER.findall(text), _NUMBER.findall(gold)
    if "finish" in gold.lower():
        return Ruling(right, f"the recorded text says finish, the answer's does{'' if right else ' not'}")
    if right and _letters(text) == _letters(gold):
        return Ruling(right, "the texts agree in all letters and digits")
    if ours and len(ours) == len(theirs):
        near = "near enough" if right else "too far off, or another first word"
        return Ruling(right, f"the numbers of both texts, taken as points, are {near}")
    return Ruling(right, f"the texts differ: {text[:60]!r}, recorded {gold[:60]!r}")


def _paper(step: DesktopStep, action: Action | None, _text: str, tolerance_px: float) -> Ruling:
    gold = step.gold
    if action is None:
        return Ruling(False, "the reply names no action")
    if action.kind != gold.kind:
        return Ruling(False, f"{action.kind}, recorded {gold.kind}")
    right, apart = same_action(action, gold, tolerance_px), distance_px(action, gold)
    if apart is None:
        return Ruling(right, f"{'the same' if right else 'another'} {gold.kind}")
    return Ruling(right, f"{apart:.0f} px off, tolerance {tolerance_px:g} px")


def _strict(step: DesktopStep, action: Action | None, text: str, tolerance_px: float) -> Ruling:
    found = _paper(step, action, text, tolerance_px)
    if action is None or not found.right or same_action(action, step.gold, tolerance_px, step.rect, strict=True):
        return found
    return Ruling(False, f"{found.why}; outside the recorded element, or not exactly the same")


RULES: dict[DesktopRule, Rule] = {"official": _official, "paper": _paper, "strict": _strict}
RULE_NOTES: dict[DesktopRule, str] = {
    "official": "the released evaluator's matcher, fault for fault",
    "paper": "the kind must match, every point within the tolerance; keys, text and scrolls compared as actions",
    "strict": "as paper, and inside the recorded element; scroll and text exact",
}
DESKTOP_RULES: tuple[DesktopRule, ...] = tuple(RULES)


DESKTOP_FAILURES = (
    *("missing", "error", "unparsed", "memory ignored", "premature finish", "missed finish"),
    *("wrong text or keys", "right kind wrong place", "right place wrong kind", "wrong kind"),
)


class DesktopVerdict(Record, frozen=True, kw_only=True):
    """``failure`` is None exactly where the step is right by the paper."""

    step_id: str
    gold_kind: ActionKind
    rulings: dict[DesktopRule, Ruling]
    predicted_kind: ActionKind | None = None
    failure: str | None = None
    distance_px: float | None = None
    reason: str = ""

    @property
    def was_asked(self) -> bool:
        """False where an unfinished run has not come to the step, which is then no part of any score."""
        return self.failure != "missing" or self.reason != NEVER_ASKED


def judge_desktop(
    step: DesktopStep, prediction: DesktopPrediction | None, tolerance_px: float = TOLERANCE_PX
) -> DesktopVerdict:
    """Judge one step by all rules, an answer with points in pixels of the screenshot; None where it was not asked. The
    official rule compares the texts, so that it may take a reply for right that names no action.
    """
    action = None if prediction is None else prediction.action
    text = "" if prediction is None else prediction.action_text
    rulings = {name: judge(step, action, text, tolerance_px) for name, judge in RULES.items()}
    verdict = DesktopVerdict(step_id=step.id, gold_kind=step.gold.kind, rulings=rulings)
    if prediction is None:
        return msgspec.structs.replace(verdict, failure="missing", reason=NEVER_ASKED)
    if action is None:
        failure = prediction.failure
        why, reason = ("unparsed", "the reply names no action") if failure is None else (failure.kind, failure.message)
        return msgspec.structs.replace(verdict, failure=why, reason=reason)
    wrong = None if verdict.rulings["paper"].right else failure_of(action, step, tolerance_px)
    apart = distance_px(action, step.gold)
    if wrong == "right place wrong kind":
        apart = _apart(action.points[0], step.gold.points[0])
    return msgspec.structs.replace(verdict, predicted_kind=action.kind, failure=wrong, distance_px=apart)


def failure_of(action: Action, step: DesktopStep, tolerance_px: float) -> str:
    gold = step.gold
    if any(same_action(action, other, tolerance_px) for other in step.other_users):
        return "memory ignored"
    if "finish" in (action.kind, gold.kind):
        return "premature finish" if action.kind == "finish" else "missed finish"
    if action.kind == gold.kind and gold.points:
        return "right kind wrong place"
    if action.kind == gold.kind or (action.pressed and gold.pressed):
        return "wrong text or keys"
    if action.points and gold.points and _apart(action.points[0], gold.points[0]) <= tolerance_px:
        return "right place wrong kind"
    return "wrong kind"


LOOP_TIMES = 3


def dead_loops(task: DesktopTask, predictions: Mapping[str, DesktopPrediction]) -> dict[str, int]:
    """Runs of three or more steps with one action on one screenshot, byte for byte, by their first step: how long."""
    done = [(step, None if (answer := predictions.get(step.id)) is None else answer.action) for step in task.steps]
    runs = [list(run) for _, run in groupby(done, key=lambda one: (one[1], one[0].screenshot.sha256))]
    return {run[0][0].id: len(run) for run in runs if len(run) >= LOOP_TIMES and run[0][1] is not None}


class DesktopAverages(Record, frozen=True, kw_only=True):
    """``micro`` is PERCU's equation 2. ``macro_task`` is its equation 1, and what the released evaluator prints."""

    micro: Estimate
    macro_task: Estimate


class DesktopCounts(Record, frozen=True, kw_only=True):
    """``right`` (by the paper) and failures add up to ``steps``; ``unasked``, in no score, are among the missing."""

    tasks: int
    steps: int
    right: int
    failures: dict[str, int]
    looping: int
    unasked: int = 0


class DesktopGroup(Record, frozen=True, kw_only=True):
    counts: DesktopCounts
    scores: dict[DesktopRule, DesktopAverages]


class DesktopSummary(DesktopGroup, frozen=True, kw_only=True, omit_defaults=False):
    """``loops`` say how often the same was done, by a dead loop's first step."""

    schema: Literal[2] = 2
    status: Literal["complete", "partial"]
    signature: str
    tolerance_px: float
    groups: dict[str, DesktopGroup]
    by_action: dict[ActionKind, dict[DesktopRule, Estimate]]
    loops: dict[str, int]
    cost: CostTotals


Verdicts = Sequence[DesktopVerdict]
Share = Callable[[Verdicts], tuple[float, float]]  # What one task adds above and below the line of a ratio.


def summarise_desktop(
    tasks: Sequence[DesktopTask],
    predictions: Iterable[DesktopPrediction],
    verdicts: Iterable[DesktopVerdict],
    *,
    status: Literal["complete", "partial"],
    signature: str,
    tolerance_px: float,
    seed: int = 0,
    resamples: int = RESAMPLES,
    cost: CostTotals | None = None,
) -> DesktopSummary:
    verdict_of = {verdict.step_id: verdict for verdict in verdicts}
    answers = {prediction.step_id: prediction for prediction in predictions}
    of = {task.id: [verdict_of[step.id] for step in task.steps] for task in tasks}
    loops = {task.id: dead_loops(task, answers) for task in tasks}

    def shares(some: Sequence[DesktopTask], wanted: Mapping[tuple[str, str], Share]) -> dict[tuple[str, str], Estimate]:
        """Each ratio over the steps of some tasks that an unfinished run has come to."""
        there = [asked for task in some if (asked := [one for one in of[task.id] if one.was_asked])]
        parts = np.array([[share(each) for share in wanted.values()] for each in there], dtype=np.float64)
        parts = parts.reshape(len(there), len(wanted), 2)
        most = [100.0] * len(wanted)
        intervals = bootstrap(100 * parts[..., 0], parts[..., 1], seed=seed, resamples=resamples, most=most)
        return {
            name: estimated(100 * k / n if n else None, round(n), interval, k=None if name[0] == "macro" else round(k))
            for name, (k, n), interval in zip(wanted, parts.sum(axis=0).tolist(), intervals, strict=True)
        }

    def group(some: Sequence[DesktopTask]) -> DesktopGroup:
        counts = Counter(one.failure for task in some for one in of[task.id])
        averages = [(name, rule) for name in ("micro", "macro") for rule in DESKTOP_RULES]
        found = shares(some, {one: _share(one[1], mean=one[0] == "macro") for one in averages})
        return DesktopGroup(
            counts=DesktopCounts(
                tasks=len(some),
                steps=sum(counts.values()),
                right=counts[None],
                failures={failure: counts[failure] for failure in DESKTOP_FAILURES},
                looping=sum(bool(loops[task.id]) for task in some),
                unasked=sum(not one.was_asked for task in some for one in of[task.id]),
            ),
            scores={
                rule: DesktopAverages(micro=found["micro", rule], macro_task=found["macro", rule])
                for rule in DESKTOP_RULES
            },
        )

    whole = group(tasks)
    present = {one.gold_kind for each in of.values() for one in each if one.was_asked}
    pairs = [(kind, rule) for kind in ACTION_KINDS if kind in present for rule in DESKTOP_RULES]
    by_action = shares(tasks, {(kind, rule): _share(rule, kind) for kind, rule in pairs})
    return DesktopSummary(
        status=status,
        signature=signature,
        tolerance_px=tolerance_px,
        counts=whole.counts,
        scores=whole.scores,
        groups={
            kind: group([task for task in tasks if task.kind == kind])
            for kind in sorted({task.kind for task in tasks if task.kind is not None})
        },
        by_action={kind: {rule: by_action[kind, rule] for rule in DESKTOP_RULES} for kind, _ in pairs},
        loops={step: times for found in loops.values() for step, times in found.items()},
        cost=cost or CostTotals(),
    )


def _share(rule: DesktopRule, kind: ActionKind = "", *, mean: bool = False) -> Share:
    """What is right by a rule, of one kind of recorded action or of all, over all of these; ``mean``: their rate."""

    def share(each: Verdicts) -> tuple[float, float]:
        right = [one.rulings[rule].right for one in each if kind in ("", one.gold_kind)]
        return (sum(right) / len(right), 1) if mean else (sum(right), len(right))

    return share
