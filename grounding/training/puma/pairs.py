"""Candidates drawn from a model and scored by the web, and pairs of the best and the worst of a task.

Batches are fixed by the tasks and the rule and each has a seed of its own: what was drawn before a kill and what is
drawn after it are the texts that one run would have drawn.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.benchmarks.asking import StoredAnswer
from grounding.benchmarks.personalwab.agents.puma import parameter_of, read_parameter
from grounding.benchmarks.personalwab.embeddings import review_similarity
from grounding.benchmarks.personalwab.episode import view_of
from grounding.benchmarks.personalwab.records import Episode, Product, ShopTask, Turn
from grounding.benchmarks.personalwab.scoring import ShopRule, judge_shop, review_pairs
from grounding.benchmarks.personalwab.web import WebFunctions
from grounding.errors import UserError
from grounding.records import Record
from grounding.run.journal import Journal
from grounding.training.recipes import CandidateRule, Precision
from grounding.training.records import TextExample
from grounding.training.trainers import load_model, load_tokenizer


class Drawn(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One parameter and what it is worth; ``times`` is how often it was drawn."""

    text: str
    score: float
    times: int = 1


class TaskCandidates(StoredAnswer, frozen=True, kw_only=True):
    """The different candidates of one task, in the order in which they were first drawn. A line of candidates.jsonl."""

    candidates: tuple[Drawn, ...] = ()


def make_pairs(
    tasks: Sequence[ShopTask], drawn: Mapping[str, TaskCandidates], prompt_of: Callable[[ShopTask], str | None]
) -> tuple[list[TextExample], dict[str, int]]:
    """The pairs of some tasks, in their order, and the counts of ``PumaSummary``. A pair is the first of the best and
    the last of the worst, as the release takes them (PUMA/prepare_dpo_data.py).
    """
    pairs: list[TextExample] = []
    counts = dict.fromkeys(("tasks", "drawn", "repeated", "single", "equal", "too_long", "pairs"), 0)
    for task in tasks:
        candidates = drawn[task.id].candidates
        counts["tasks"] += 1
        counts["drawn"] += sum(one.times for one in candidates)
        counts["repeated"] += sum(one.times - 1 for one in candidates)
        if len(candidates) < 2:
            counts["single"] += 1
            continue
        best = max(candidates, key=lambda one: one.score)
        worst = min(reversed(candidates), key=lambda one: one.score)
        if best.score <= worst.score:
            counts["equal"] += 1
        elif (prompt := prompt_of(task)) is None:
            counts["too_long"] += 1
        else:
            pairs.append(TextExample(task=task.id, prompt=prompt, chosen=best.text, rejected=worst.text))
            counts["pairs"] += 1
    return pairs, counts


class ResultScorer:
    """Scores parameters by the result accuracy of the web's answer. ``identity`` names web and reading."""

    def __init__(self, functions: WebFunctions, products: Mapping[str, Product], rule: ShopRule) -> None:
        self._functions, self._products, self._rule = functions, products, rule
        self.identity = f"result:1|{functions.identity}|{rule}"

    def scores(self, drawn: Sequence[tuple[ShopTask, str]]) -> list[float]:
        """The result accuracy of each text, for the task's own function; reviews are compared in one go. A text that
        stands for no call of the function (it talks, stops, or is refused) is worth 0.
        """
        episodes = [(task, self._episode(task, text)) for task, text in drawn]
        pairs = list(dict.fromkeys(pair for task, one in episodes for pair in review_pairs([task], {task.id: one})))
        likeness = dict(zip(pairs, review_similarity(pairs), strict=True)) if pairs else {}
        return [judge_shop(task, episode, likeness, rule=self._rule).result for task, episode in episodes]

    def _episode(self, task: ShopTask, text: str) -> Episode:
        view = view_of(task, self._products.get(task.target_asin))
        # The release puts ASINs through a set; a seed stands for the order of one.
        shuffle = 0 if self._rule == "official" else None
        call = read_parameter(task.type, parameter_of(text), view, shuffle_seed=shuffle)
        turn = Turn(call=call, observation=self._functions.call(call))
        return Episode(task_id=task.id, key="", turns=(turn,), end="terminal-call")


def candidate_batches(
    prompts: Sequence[tuple[ShopTask, str]], count: Callable[[str], int], rule: CandidateRule
) -> list[tuple[tuple[ShopTask, str], ...]]:
    """Tasks with prompts of about equal length together, the longest first: a batch that is too large shows at once."""
    ordered = sorted(prompts, key=lambda item: (-count(item[1]), item[0].id))
    return [tuple(ordered[at : at + rule.batch]) for at in range(0, len(ordered), rule.batch)]


def draw_candidates(
    path: Path,
    batches: Sequence[Sequence[tuple[ShopTask, str]]],
    open_drawer: Callable[[], Drawer],
    scorer: ResultScorer,
    rule: CandidateRule,
    *,
    identity: str,
    seed: int,
    labels: Mapping[str, str],
    told: Callable[[int], None] = lambda _done: None,
) -> dict[str, TaskCandidates]:
    """Draw and score what the journal at ``path`` doesn't hold yet; the candidates by task id. A task's label among
    ``labels`` is a candidate too. Raises UserError: the disk failed.
    """
    found: dict[str, TaskCandidates] = {}
    drawer, journal = functools.cache(open_drawer), Journal(path, TaskCandidates)
    try:
        for batch in batches:
            asked = [(task.id, prompt, labels.get(task.id)) for task, prompt in batch]
            parts = (identity, scorer.identity, seed, msgspec.json.encode(rule).decode(), asked)
            key = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]
            kept = [one for task, _ in batch if (one := journal.settled(task.id, key)) is not None]
            if len(kept) < len(batch):
                drawn = drawer().draw([prompt for _, prompt in batch], seed=key)
                known = [[label] if (label := labels.get(task.id)) else [] for task, _ in batch]
                texts = [(task, own + more) for (task, _), own, more in zip(batch, drawn, known, strict=True)]
                kept = list(_scored(texts, scorer, key))
                for one in kept:
                    journal.append(one)
            found.update({one.step_id: one for one in kept})
            told(len(found))
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror}; what was drawn before is kept") from None
    finally:
        journal.close()
    return found


def _scored(texts: Sequence[tuple[ShopTask, list[str]]], scorer: ResultScorer, key: str) -> Iterator[TaskCandidates]:
    different = [(task, text) for task, own in texts for text in dict.fromkeys(own)]
    worth = {(task.id, text): score for (task, text), score in zip(different, scorer.scores(different), strict=True)}
    for task, own in texts:
        candidates = [Drawn(text=text, score=worth[task.id, text], times=n) for text, n in Counter(own).items()]
        yield TaskCandidates(step_id=task.id, key=key, candidates=tuple(candidates))


class Drawer:
    def __init__(self, model: str, rule: CandidateRule, precision: Precision) -> None:
        import torch

        self._tokenizer = load_tokenizer(model)
        self._tokenizer.padding_side = "left"
        self._model = load_model(model, precision).to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self._count = rule.count
        self._how: dict[str, Any] = {
            "do_sample": True,
            "num_beams": rule.beams,
            "early_stopping": rule.beams > 1,
            "num_return_sequences": rule.count,
            "temperature": rule.temperature,
            "top_k": rule.top_k,
            "top_p": 1.0,
            "max_new_tokens": rule.max_new_tokens,
            "use_cache": True,
            "pad_token_id": self._tokenizer.pad_token_id,
        }

    def draw(self, prompts: Sequence[str], seed: str) -> list[list[str]]:
        import torch

        read: Any = self._tokenizer(list(prompts), return_tensors="pt", padding=True).to(self._model.device)
        read.pop("token_type_ids", None)
        number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:7], "big")
        # Training has a state of chance of its own, which drawing must not move.
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(number)
            made = self._model.generate(**read, **self._how)
        texts = self._tokenizer.batch_decode(made[:, read["input_ids"].shape[1] :], skip_special_tokens=True)
        stripped = [text.strip() for text in texts]
        return [stripped[at : at + self._count] for at in range(0, len(stripped), self._count)]
