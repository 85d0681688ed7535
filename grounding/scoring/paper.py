"""The measures as the paper defines them: RealWebAssist, sections 3.1 and 3.2.

One scored task in, its part of a ratio out. A task belongs to one participant; only steps with a region count;
whatever is not a hit is wrong.
"""

from __future__ import annotations

from itertools import takewhile

from grounding.scoring.metrics import Part, metric
from grounding.scoring.scored import ScoredTask


@metric("step_accuracy")
def step_accuracy(task: ScoredTask) -> Part:
    """Share of scored steps that are hits (section 3.2, "step success rate"; "step accuracy" in the tables)."""
    return Part(numerator=sum(scored.is_hit for scored in task.steps), denominator=len(task.steps))


@metric("instruction_accuracy")
def instruction_accuracy(task: ScoredTask) -> Part:
    """Share of instructions whose scored steps are all hits.

    An instruction of several steps is right only if all of them are (section 3.1); the paper prints no such figure.
    """
    hits = task.instruction_hits()
    return Part(numerator=sum(hits), denominator=len(hits))


@metric("average_progress", counted=False)
def average_progress(task: ScoredTask) -> Part:
    """Mean over tasks of the share of consecutive instructions done before the first error (section 3.2)."""
    hits = task.instruction_hits()
    leading = sum(takewhile(bool, hits))
    return Part(numerator=leading / len(hits), denominator=1)


@metric("task_success")
def task_success(task: ScoredTask) -> Part:
    """Share of tasks whose instructions are all right (section 3.2)."""
    return Part(numerator=all(task.instruction_hits()), denominator=1)
