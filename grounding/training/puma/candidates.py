"""All candidates of some tasks, drawn in batches, scored by the web, and kept so that a kill loses one batch at most.

Batches are fixed by the tasks and the rule and each has a seed of its own: what was drawn before a kill and what is
drawn after it are the texts that one run would have drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from grounding.errors import UserError
from grounding.journal import Journal
from grounding.training.puma.pairs import gather
from grounding.training.puma.records import CandidateRule, TaskCandidates
from grounding.training.puma.scoring import Drawn, ResultScorer
from grounding.webagents.personalwab.records import ShopTask


class Draws(Protocol):
    """Draws several texts for each of some prompts."""

    def draw(self, prompts: Sequence[str], seed: str) -> list[list[str]]:
        """The texts for each prompt."""
        ...


def candidate_batches(
    prompts: Sequence[tuple[ShopTask, str]], count: Callable[[str], int], rule: CandidateRule
) -> Iterator[tuple[tuple[ShopTask, str], ...]]:
    """Tasks of about equal length together, the longest first, so that a batch that is too large shows at once."""
    ordered = sorted(prompts, key=lambda item: (-count(item[1]), item[0].id))
    return (tuple(ordered[at : at + rule.batch]) for at in range(0, len(ordered), rule.batch))


def draw_candidates(
    path: Path,
    batches: Sequence[Sequence[tuple[ShopTask, str]]],
    open_drawer: Callable[[], Draws],
    scorer: ResultScorer,
    rule: CandidateRule,
    *,
    identity: str,
    seed: int,
    labels: Mapping[str, str] | None = None,
    told: Callable[[int, int], None] | None = None,
) -> dict[str, TaskCandidates]:
    """Draw and score what the journal at ``path`` doesn't hold yet.

    Args:
        path: ``candidates.jsonl``.
        batches: Tasks with their prompts.
        open_drawer: Opens the model; not called where nothing is left to be drawn.
        scorer: Says what a text is worth.
        rule: How candidates are drawn.
        identity: What the drawer is: weights and tokenizer.
        seed: The run's.
        labels: A further candidate of a task by its id, behind those that are drawn.
        told: Called with how many tasks are done, and of how many.

    Returns:
        The candidates by task id.

    Raises:
        UserError: the disk failed.
    """
    found: dict[str, TaskCandidates] = {}
    drawer: Draws | None = None
    total = sum(len(batch) for batch in batches)
    journal = Journal(path, TaskCandidates)
    try:
        for batch in batches:
            known = {task.id: labels[task.id] for task, _ in batch if labels and labels.get(task.id)}
            key = _key(batch, scorer, rule, identity, seed, known)
            kept = [journal.settled(task.id, key) for task, _ in batch]
            if any(one is None for one in kept):
                drawer = drawer or open_drawer()
                kept = list(_drawn(batch, drawer, scorer, key, known))
                for one in kept:
                    if one is not None:
                        journal.append(one)
            found.update({one.task: one for one in kept if one is not None})
            if told is not None:
                told(len(found), total)
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror}; what was drawn before is kept") from None
    finally:
        journal.close()
    return found


def _drawn(
    batch: Sequence[tuple[ShopTask, str]], drawer: Draws, scorer: ResultScorer, key: str, labels: Mapping[str, str]
) -> Iterator[TaskCandidates]:
    drawn = drawer.draw([prompt for _, prompt in batch], seed=key)
    for (task, _), texts in zip(batch, drawn, strict=True):
        texts += [labels[task.id]] if task.id in labels else []
    different = [
        Drawn(task=task, text=text)
        for (task, _), texts in zip(batch, drawn, strict=True)
        for text in dict.fromkeys(texts)
    ]
    scores = scorer.scores(different)
    worth = {(one.task.id, one.text): score for one, score in zip(different, scores, strict=True)}
    for (task, _), texts in zip(batch, drawn, strict=True):
        yield TaskCandidates(task=task.id, key=key, candidates=gather(texts, [worth[task.id, text] for text in texts]))


def _key(
    batch: Sequence[tuple[ShopTask, str]],
    scorer: ResultScorer,
    rule: CandidateRule,
    identity: str,
    seed: int,
    labels: Mapping[str, str],
) -> str:
    parts = (
        identity,
        scorer.identity,
        seed,
        msgspec.json.encode(rule).decode(),
        [(task.id, prompt, labels.get(task.id)) for task, prompt in batch],
    )
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]
