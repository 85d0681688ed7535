"""Which words were said for which actions: from speech and actions on one clock to steps and instructions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from annotate.recording.records import CutStep, Instruction, ScreenChange, Utterance
from grounding.records import Record

JUST_BEFORE_S = 0.02
"""The last frame before an action may be old, on a screen that stood still: it is still what was seen just before."""
ACTION_WORDS = {"change": "click", "playing": "click", "typing": "type", "scroll": "scroll"}


class Aligned(Record, frozen=True, kw_only=True):
    """Steps in order of time, the instructions in order of time, and the ids of those that no step carries out."""

    steps: tuple[CutStep, ...]
    instructions: tuple[Instruction, ...]
    unused: tuple[int, ...]


def align(actions: Sequence[ScreenChange], utterances: Sequence[Utterance], *, task: str) -> Aligned:
    """Give every action the words that were said for it.

    An utterance is for the first action after half of its words: a user who acts in the middle of a sentence has said
    enough by then. All utterances for one action are one instruction. An action without any carries out the one before
    it: an instruction that needs several steps is the same at each of them (RealWebAssist, "Annotations"). Scrolling
    is a step only where an instruction led to nothing else, as in "scroll down": it stays in the history and is not
    scored (RealWebAssist, appendix).

    Args:
        actions: The user's actions, in order of time.
        utterances: What was said, in order of time.
        task: The label of the task, the same for every step.
    """
    onsets = [action.onset_s for action in actions]
    groups: dict[int, list[Utterance]] = {}
    for utterance in utterances:
        groups.setdefault(bisect_left(onsets, half_said_s(utterance)), []).append(utterance)
    instructions: list[Instruction] = []
    leads_to: dict[int, int] = {}
    for first_action in sorted(groups):
        leads_to[first_action] = len(instructions)
        instructions.append(_as_one(len(instructions), groups[first_action]))
    steps: list[CutStep] = []
    current: int | None = None
    for index, action in enumerate(actions):
        current = leads_to.get(index, current)
        steps.append(
            CutStep(
                screenshot_s=max(action.before_s, action.onset_s - JUST_BEFORE_S),
                action_s=action.onset_s,
                action=ACTION_WORDS[action.kind],
                task=task,
                instruction=current,
                pointer=action.pointer,
            )
        )
    kept = _without_scrolling(steps)
    carried = {step.instruction for step in kept}
    unused = tuple(one.id for one in instructions if one.id not in carried)
    return Aligned(steps=kept, instructions=tuple(instructions), unused=unused)


def half_said_s(utterance: Utterance) -> float:
    """When half of an utterance's words had been said; half of its time where there are no words."""
    if not utterance.words:
        return (utterance.start_s + utterance.end_s) / 2
    return utterance.words[(len(utterance.words) - 1) // 2].end_s


def _as_one(number: int, utterances: Sequence[Utterance]) -> Instruction:
    return Instruction(
        id=number,
        start_s=utterances[0].start_s,
        end_s=utterances[-1].end_s,
        heard=" ".join(one.text for one in utterances if one.text),
        words=tuple(word for one in utterances for word in one.words),
    )


def _without_scrolling(steps: Sequence[CutStep]) -> tuple[CutStep, ...]:
    does_more = {step.instruction for step in steps if step.action != "scroll"}
    kept: list[CutStep] = []
    for step in steps:
        if step.action == "scroll":
            said_for_it = step.instruction is not None and step.instruction not in does_more
            # Scrolling on is not a second step.
            if not said_for_it or (kept and kept[-1].instruction == step.instruction):
                continue
        kept.append(step)
    return tuple(kept)
