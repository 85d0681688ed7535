"""Steps to examples: the same questions with the same history as in the evaluation. Pure but for ``examples.jsonl``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from grounding.cards import CardPart, GrounderCard
from grounding.chat import too_long
from grounding.errors import UserError
from grounding.pictures import picture_sizes
from grounding.records import Query, Session
from grounding.steps import StepItem, step_items, tell
from grounding.training.grounder.gold import gold_answer, knows_form
from grounding.training.grounder.records import Counted, GrounderExample, GrounderRecipe, HistoryForm, Prepared

EXAMPLES_FILE = "examples.jsonl"
HELD_OUT_FILE = "held_out.jsonl"

HISTORY_PART = "What was said and done before, the oldest first:\n{history}\n\n"
"""Ours: the paper says what the tuned model was told, and not in what words."""

NO_HISTORY = "(nothing yet)"


def trained_card(card: GrounderCard, *, history: int, form: HistoryForm = "before") -> GrounderCard:
    """The card whose prompt is trained: the asked one, with a place for the history where it needs one.

    The card's own parts and their order stay as they are. With ``history`` 0 it is the asked card.

    Args:
        card: What was asked for.
        history: How many earlier steps are told.
        form: What to do where the card has no place for them.
    """
    if not history or card.uses_history or form == "card":
        return card
    return msgspec.structs.replace(
        card, user=(CardPart(text=HISTORY_PART), *card.user), no_history=card.no_history or NO_HISTORY
    )


def prepare(
    sessions: Sequence[Session], selected: Collection[str], card: GrounderCard, recipe: GrounderRecipe
) -> Prepared:
    """The examples among the selected steps; every other one is counted by why it is none.

    Args:
        sessions: Whole sessions: the history of a selected step may lie outside the selection.
        selected: Ids of the steps of one side of the split.
        card: As it is trained.
        recipe: Its history is used, and whether it supervises.

    Raises:
        UserError: it supervises, and the card doesn't say how its model writes an answer.
    """
    counted: Counter[str] = Counter()
    examples: list[GrounderExample] = []
    form_known = recipe.sft is not None or knows_form(card)
    for item in step_items(sessions, frozenset(selected), recipe.history, recipe.history_scope):
        reason = _no_example(item, card)
        if reason is not None:
            counted[reason] += 1
            continue
        example = example_of(item, card)
        examples.append(example)
        counted["with_history"] += bool(example.query.history)
        # Without a known form nothing can be supervised, and nothing is counted.
        counted["unreachable"] += form_known and gold_answer(card, example) is None
    names = ("with_history", "no_click", "unheard", "too_long", "absent", "unreadable", "unreachable")
    return Prepared(
        examples=tuple(examples), counted=Counted(examples=len(examples), **{name: counted[name] for name in names})
    )


def example_of(item: StepItem, card: GrounderCard) -> GrounderExample:
    """What the model is asked about a step when no planner stands before it."""
    told = tell(item, card.reads)
    return GrounderExample(
        step=item.step,
        query=Query(
            step_id=item.step.id,
            key="",
            screenshot=item.step.screenshot,
            instruction=item.step.instruction,
            history=told.history,
            goal=told.goal,
            steps_done=told.steps_done,
        ),
    )


def _no_example(item: StepItem, card: GrounderCard) -> str | None:
    step = item.step
    if step.region is None:
        return "no_click"
    if step.unheard is not None:
        return "unheard"
    if too_long(card, step.instruction) is not None:
        return "too_long"
    if step.target_absent and card.answer.refusal is None:
        return "absent"
    try:
        picture_sizes(step.screenshot.size, card.image)
    except ValueError:
        return "unreadable"
    return None


def write_examples(path: Path, examples: Iterable[GrounderExample]) -> None:
    """Write one example a line; the steps stand in full, with their gold shapes."""
    path.write_bytes(b"".join(msgspec.json.encode(example) + b"\n" for example in examples))


def read_examples(path: Path) -> tuple[GrounderExample, ...]:
    """Read what ``write_examples`` wrote.

    Raises:
        UserError: the file is not there or damaged.
    """
    decoder = msgspec.json.Decoder(GrounderExample)
    try:
        return tuple(decoder.decode(line) for line in path.read_bytes().splitlines())
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(
            f"{path}: the examples of this stage can't be read: {error}; train anew with --fresh"
        ) from error
