"""How a recording is cut: steps and instructions, what a person does to them, and the file that they are kept in.

Times are seconds by the recording's own time stamps. Edits are pure functions; steps stay in order of time, and what
was said stays in the plan though no step carries it out.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from grounding.errors import UserError
from grounding.records import Point, Record

from ..core.journal import SaveFailed, in_words, replace_file

LEAST_GAP_S = 0.01
PLAN_FILE = "cuts.json"


class Instruction(Record, frozen=True, kw_only=True):
    """What was said for one or several steps: where in the recording, what a machine ``heard``, a person's ``text``.
    Where start and end are the same it was never said, but typed.
    """

    id: int
    start_s: float
    end_s: float
    heard: str = ""
    text: str | None = None

    @property
    def wording(self) -> str:
        """What counts: the person's words where there are some, else the machine's."""
        return self.heard if self.text is None else self.text

    @property
    def is_spoken(self) -> bool:
        return self.end_s > self.start_s


class CutStep(Record, frozen=True, kw_only=True):
    """One step: the screen that the user saw, at ``screenshot_s``, before the action that began at ``action_s``.
    ``action`` is ``click``, ``type`` or ``scroll``; ``instruction`` an id; ``pointer`` is in recorded pixels.
    """

    screenshot_s: float
    action_s: float
    action: str = "click"
    instruction: int | None = None
    pointer: Point | None = None


class CutPlan(Record, frozen=True, kw_only=True):
    """Steps and all that was said, in order of time; ``notes`` are sentences for the user."""

    video: str
    sha256: str
    duration_s: float
    recogniser: str = ""
    steps: tuple[CutStep, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def unused(self) -> tuple[int, ...]:
        """Speech that no step carries out, such as words after the last action."""
        carried = {step.instruction for step in self.steps}
        return tuple(one.id for one in self.instructions if one.id not in carried)

    def instruction(self, number: int | None) -> Instruction | None:
        return next((one for one in self.instructions if one.id == number), None)


def same_words(plan: CutPlan, index: int) -> CutPlan:
    """The step carries out what the step before it does."""
    return _with_step(plan, index, instruction=plan.steps[index - 1].instruction) if index else plan


def drop(plan: CutPlan, index: int) -> CutPlan:
    return _with_steps(plan, (*plan.steps[:index], *plan.steps[index + 1 :]))


def merge_with_next(plan: CutPlan, index: int) -> CutPlan:
    """A step with the next: the first one's screen and action, and for all steps of either the words of both."""
    if index >= len(plan.steps) - 1:
        return plan
    one, other = (plan.instruction(step.instruction) for step in plan.steps[index : index + 2])
    if one is None and other is not None:
        plan = _with_step(plan, index, instruction=other.id)
    elif one is not None and other is not None and one.id != other.id:
        one, other = sorted((one, other), key=lambda each: each.start_s)
        corrected = one.text is not None or other.text is not None
        joined = replace(
            one,
            end_s=max(one.end_s, other.end_s),
            heard=f"{one.heard} {other.heard}".strip(),
            text=f"{one.wording} {other.wording}".strip() if corrected else None,
        )
        steps = [replace(step, instruction=one.id) if step.instruction == other.id else step for step in plan.steps]
        others = tuple(each for each in plan.instructions if each.id != other.id)
        plan = _with_steps(_put(replace(plan, instructions=others), joined), steps)
    return drop(plan, index + 1)


def split_at(plan: CutPlan, time_s: float) -> CutPlan:
    """A new step whose screenshot is that of a time, for the instruction of the step before it."""
    time_s = min(max(0.0, time_s), plan.duration_s)
    if any(abs(step.screenshot_s - time_s) < LEAST_GAP_S for step in plan.steps):
        return plan
    before = [step for step in plan.steps if step.screenshot_s < time_s]
    after = plan.steps[len(before) :]
    said = next((step.instruction for step in (*before[-1:], *after)), None)
    return _with_steps(plan, (*before, CutStep(screenshot_s=time_s, action_s=time_s, instruction=said), *after))


def retime(plan: CutPlan, index: int, screenshot_s: float) -> CutPlan:
    """The step's screenshot is that of another time, between those of the steps before and after it."""
    low = plan.steps[index - 1].screenshot_s + LEAST_GAP_S if index else 0.0
    following = [step.screenshot_s for step in plan.steps[index + 1 : index + 2]]
    high = following[0] - LEAST_GAP_S if following else plan.duration_s
    time_s = min(max(low, screenshot_s), max(low, high))
    action_s = min(plan.steps[index].action_s, *following, plan.duration_s)
    return _with_step(plan, index, screenshot_s=time_s, action_s=max(time_s, action_s))


def write_words(plan: CutPlan, index: int, text: str) -> CutPlan:
    """A person's words for all steps of a step's instruction; a step that has none gets one, typed, of no length."""
    found = plan.instruction(plan.steps[index].instruction)
    if found is not None:
        return _put(plan, replace(found, text=None if text == found.heard else text))
    at_s, free = plan.steps[index].screenshot_s, max((one.id for one in plan.instructions), default=-1) + 1
    return _with_step(_put(plan, Instruction(id=free, start_s=at_s, end_s=at_s, text=text)), index, instruction=free)


def _with_step(plan: CutPlan, index: int, **fields: float | None) -> CutPlan:
    return _with_steps(plan, (*plan.steps[:index], replace(plan.steps[index], **fields), *plan.steps[index + 1 :]))


def _with_steps(plan: CutPlan, steps: Iterable[CutStep]) -> CutPlan:
    steps = tuple(steps)
    carried = {step.instruction for step in steps}
    told = tuple(one for one in plan.instructions if one.id in carried or one.is_spoken)
    return replace(plan, steps=steps, instructions=told)


def _put(plan: CutPlan, new: Instruction) -> CutPlan:
    others = [one for one in plan.instructions if one.id != new.id]
    return replace(plan, instructions=tuple(sorted([*others, new], key=lambda one: (one.start_s, one.id))))


def read_plan(folder: Path) -> CutPlan | None:
    """The cut that is kept in a folder; None where there is none. Raises UserError: it is none, or can't be read."""
    path = folder / PLAN_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=CutPlan)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no cut of a recording ({error}): remove it to start anew") from None


def save_plan(folder: Path, plan: CutPlan) -> None:
    """Write the cut, whole or not at all. Raises SaveFailed: it cannot be written; the file is as it was."""
    path = folder / PLAN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    except OSError as error:
        raise SaveFailed(f"{in_words(error, path)}; what you did is still in this window") from None
