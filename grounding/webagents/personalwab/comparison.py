"""Scored runs over one shop as they can be compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.scoring.intervals import RESAMPLES
from grounding.webagents.comparison import RunComparison, ScoredRun, TaskResult, chosen_paths, compare_runs
from grounding.webagents.personalwab.runfiles import ShopFolder, is_shop_run
from grounding.webagents.personalwab.scores import TYPES
from grounding.webagents.personalwab.verdicts import ShopRule, ShopVerdict

Measure = Callable[[ShopVerdict], float]
_MEASURES: tuple[tuple[str, Measure], ...] = (
    ("function", lambda one: float(one.function)),
    ("result", lambda one: one.result),
    ("outcome", lambda one: one.outcome),
    ("steps", lambda one: float(one.steps)),
)


def compare_shops(
    paths: Sequence[Path],
    *,
    baseline: Path | None = None,
    rule: ShopRule = "paper",
    force: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> RunComparison:
    """Every run beside the baseline, paired by task. Judges nothing and writes nothing.

    Args:
        paths: Run folders, each scored.
        baseline: The run that the others are compared with; None for the first.
        rule: The reading that is compared.
        force: Compare what differs in data or track, too, over the tasks that both have.
        seed: Of the bootstrap.
        resamples: Its size.

    Raises:
        UserError: a folder holds no scored run over a shop, there is one run only, or two can't be compared.
    """
    return compare_runs(
        [_load(path, rule) for path in chosen_paths(paths, baseline)],
        [name for name, _ in _MEASURES],
        TYPES,
        rule=rule,
        right="right function",
        force=force,
        seed=seed,
        resamples=resamples,
    )


def _load(path: Path, rule: ShopRule) -> ScoredRun:
    if not is_shop_run(path):
        raise UserError(f"{path} is no run over a shop: runs of one kind only can be compared with each other")
    info = ShopFolder(path).read_info()
    try:
        decoder = msgspec.json.Decoder(ShopVerdict)
        found = [decoder.decode(line) for line in (path / "verdicts.jsonl").read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the scores can't be read: {error}; `grounding score {path}` makes them") from error
    asked = info.asked
    model = f" ({asked.model})" if asked.model else ""
    return ScoredRun(
        path=path,
        name=f"{asked.agent}, memory {asked.memory}{model}",
        status=info.status,
        same={
            "the data set": asked.dataset,
            "the data: fingerprint": asked.fingerprint[:12],
            "the track": asked.track,
            "the attempt that counts": info.attempt or "the reading's own",
        },
        results={
            one.task_id: TaskResult(
                user=one.user_id,
                group=one.type,
                values=tuple(measure(one) for _, measure in _MEASURES),
                right=one.function,
            )
            for one in found
            if one.rule == rule
        },
    )
