"""What a person does to a proposal: merge, split, drop, retime, correct. Pure functions from plan to plan.

Steps stay in order of time. What a machine heard is never changed, except that words follow the cut of their
instruction; what a person wrote goes into ``Instruction.text``. An instruction that no step carries out any more is
kept as unused: nothing that was said is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from annotate.recording.records import CutPlan, CutStep, Instruction

LEAST_GAP_S = 0.01


def merge_with_next(plan: CutPlan, index: int) -> CutPlan:
    """A step and the one after it are one step: the first one's screenshot and action, and the words of both."""
    if not 0 <= index < len(plan.steps) - 1:
        return plan
    first, second = plan.steps[index], plan.steps[index + 1]
    steps = (*plan.steps[: index + 1], *plan.steps[index + 2 :])
    if first.instruction is None:
        steps = _replace_step(steps, index, instruction=second.instruction)
        return _with(plan, steps=steps)
    plan = _with(plan, steps=steps)
    if second.instruction is None or second.instruction == first.instruction:
        return plan
    return join_instructions(plan, first.instruction, second.instruction)


def split_at(plan: CutPlan, time_s: float, *, task: str = "") -> CutPlan:
    """A new step whose screenshot is that of ``time_s``; it carries out the instruction of the step before it.

    A step that is there already, within a hundredth of a second, stays alone.
    """
    time_s = min(max(0.0, time_s), plan.duration_s)
    if any(abs(step.screenshot_s - time_s) < LEAST_GAP_S for step in plan.steps):
        return plan
    before = [step for step in plan.steps if step.screenshot_s < time_s]
    after = [step for step in plan.steps if step.screenshot_s > time_s]
    like = before[-1] if before else (after[0] if after else None)
    new = CutStep(
        screenshot_s=time_s,
        action_s=time_s,
        task=task if like is None else like.task,
        instruction=None if like is None else like.instruction,
    )
    return _with(plan, steps=(*before, new, *after))


def drop(plan: CutPlan, index: int) -> CutPlan:
    """Without this step."""
    return _with(plan, steps=(*plan.steps[:index], *plan.steps[index + 1 :]))


def retime(plan: CutPlan, index: int, screenshot_s: float) -> CutPlan:
    """The step's screenshot is that of another time, between those of the steps before and after it."""
    low = plan.steps[index - 1].screenshot_s + LEAST_GAP_S if index > 0 else 0.0
    high = plan.steps[index + 1].screenshot_s - LEAST_GAP_S if index + 1 < len(plan.steps) else plan.duration_s
    time_s = min(max(low, screenshot_s), max(low, high))
    action_s = max(plan.steps[index].action_s, time_s)
    if index + 1 < len(plan.steps):
        action_s = max(time_s, min(action_s, plan.steps[index + 1].screenshot_s))
    return _with(plan, steps=_replace_step(plan.steps, index, screenshot_s=time_s, action_s=action_s))


def set_action(plan: CutPlan, index: int, action: str) -> CutPlan:
    """What the user did at a step, in a word."""
    return _with(plan, steps=_replace_step(plan.steps, index, action=action))


def set_task(plan: CutPlan, index: int, task: str) -> CutPlan:
    """The task's label, for this step and those after it that had the same one: a task begins here."""
    old = plan.steps[index].task
    end = index
    while end < len(plan.steps) and plan.steps[end].task == old:
        end += 1
    changed = tuple(msgspec.structs.replace(step, task=task) for step in plan.steps[index:end])
    return _with(plan, steps=(*plan.steps[:index], *changed, *plan.steps[end:]))


def correct(plan: CutPlan, instruction: int, text: str) -> CutPlan:
    """What a person says was said, for all steps of the instruction; the machine's own words are no correction."""
    found = instruction_of(plan, instruction)
    wording = None if text == found.heard else text
    return _with(plan, instructions=_put(plan.instructions, msgspec.structs.replace(found, text=wording)))


def write_instruction(plan: CutPlan, index: int, text: str) -> CutPlan:
    """Words for a step that has no instruction: a new one, typed, around the time of the step."""
    step = plan.steps[index]
    new = Instruction(id=_free_id(plan), start_s=step.screenshot_s, end_s=step.screenshot_s, text=text)
    return _with(
        plan,
        instructions=_put(plan.instructions, new),
        steps=_replace_step(plan.steps, index, instruction=new.id),
    )


def carry_out(plan: CutPlan, index: int, instruction: int | None) -> CutPlan:
    """The step carries out another instruction, or none."""
    return _with(plan, steps=_replace_step(plan.steps, index, instruction=instruction))


def join_instructions(plan: CutPlan, first: int, second: int) -> CutPlan:
    """Two instructions are one, from the start of the earlier to the end of the later one; all their steps carry it."""
    if first == second:
        return plan
    one, other = sorted((instruction_of(plan, first), instruction_of(plan, second)), key=lambda each: each.start_s)
    corrected = one.text is not None or other.text is not None
    joined = Instruction(
        id=one.id,
        start_s=min(one.start_s, other.start_s),
        end_s=max(one.end_s, other.end_s),
        heard=" ".join(text for text in (one.heard, other.heard) if text),
        words=(*one.words, *other.words),
        text=" ".join(text for text in (one.wording, other.wording) if text) if corrected else None,
    )
    steps = tuple(
        msgspec.structs.replace(step, instruction=one.id) if step.instruction == other.id else step
        for step in plan.steps
    )
    kept = tuple(each for each in plan.instructions if each.id != other.id)
    return _with(plan, steps=steps, instructions=_put(kept, joined))


def split_instruction(plan: CutPlan, instruction: int, time_s: float) -> CutPlan:
    """What is said from ``time_s`` on is an instruction of its own, for the steps whose action is later.

    The machine's words are dealt out by their times; a correction stays with the first part, as nobody knows which of
    its words belong where.
    """
    found = instruction_of(plan, instruction)
    if not found.start_s < time_s < found.end_s:
        return plan
    early = tuple(word for word in found.words if (word.start_s + word.end_s) / 2 < time_s)
    late = found.words[len(early) :]
    first = msgspec.structs.replace(
        found, end_s=time_s, words=early, heard=_spoken(early) if found.words else found.heard
    )
    second = Instruction(id=_free_id(plan), start_s=time_s, end_s=found.end_s, words=late, heard=_spoken(late))
    own = [index for index, step in enumerate(plan.steps) if step.instruction == instruction]
    later = {index for index in own if plan.steps[index].action_s > time_s} - set(own[:1])
    steps = tuple(
        msgspec.structs.replace(step, instruction=second.id) if index in later else step
        for index, step in enumerate(plan.steps)
    )
    return _with(plan, steps=steps, instructions=_put(_put(plan.instructions, first), second))


def retime_instruction(plan: CutPlan, instruction: int, start_s: float, end_s: float) -> CutPlan:
    """The instruction's clip goes from one time to another; machine's words that are outside then are left out."""
    found = instruction_of(plan, instruction)
    start_s = min(max(0.0, start_s), plan.duration_s)
    end_s = min(max(start_s, end_s), plan.duration_s)
    words = tuple(word for word in found.words if start_s <= (word.start_s + word.end_s) / 2 <= end_s)
    heard = found.heard if len(words) == len(found.words) else _spoken(words)
    moved = msgspec.structs.replace(found, start_s=start_s, end_s=end_s, words=words, heard=heard)
    return _with(plan, instructions=_put(plan.instructions, moved))


def instruction_of(plan: CutPlan, instruction: int) -> Instruction:
    """The instruction with this id.

    Raises:
        KeyError: There is none.
    """
    for found in plan.instructions:
        if found.id == instruction:
            return found
    raise KeyError(instruction)


def _spoken(words: Iterable[Any]) -> str:
    return " ".join(word.text.strip() for word in words)


def _free_id(plan: CutPlan) -> int:
    return max((one.id for one in plan.instructions), default=-1) + 1


def _put(instructions: tuple[Instruction, ...], new: Instruction) -> tuple[Instruction, ...]:
    others = [one for one in instructions if one.id != new.id]
    return tuple(sorted([*others, new], key=lambda one: (one.start_s, one.id)))


def _replace_step(steps: tuple[CutStep, ...], index: int, **fields: Any) -> tuple[CutStep, ...]:
    return (*steps[:index], msgspec.structs.replace(steps[index], **fields), *steps[index + 1 :])


def _with(
    plan: CutPlan,
    *,
    steps: tuple[CutStep, ...] | None = None,
    instructions: tuple[Instruction, ...] | None = None,
) -> CutPlan:
    steps = plan.steps if steps is None else steps
    instructions = plan.instructions if instructions is None else instructions
    carried = {step.instruction for step in steps}
    # Words that were typed for a step that is gone were never said.
    instructions = tuple(one for one in instructions if one.id in carried or one.end_s > one.start_s)
    unused = tuple(one.id for one in instructions if one.id not in carried)
    return msgspec.structs.replace(plan, steps=steps, instructions=instructions, unused=unused)
