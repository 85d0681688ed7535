"""``grounding compare``: run folders to printed differences. No logic of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from grounding.errors import UserError

COMPARE_EXAMPLES = """
Examples:

```
# Is the second run better than the first?
grounding compare results/sample-web_none_ocr_1234567890 results/sample-web_replay_ocr_0123456789

# Three runs beside a fourth, participants drawn as wholes
grounding compare RUN RUN RUN --baseline BASELINE --clusters participant
```
"""

_Flag = Parameter(negative="", show_default=False)


def compare_command(
    *runs: Path,
    baseline: Path | None = None,
    clusters: Literal["task", "participant"] = "task",
    intervals: Literal["bootstrap", "wald"] = "bootstrap",
    seed: int = 0,
    force: Annotated[bool, _Flag] = False,
    flips: Annotated[bool, _Flag] = False,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """Compare runs over the same steps: differences with intervals, p-values, and the steps that flipped.

    Runs over other data, other steps or with another way of scoring are refused. Asks no model.

    Args:
        runs: Run folders; the first is the baseline unless --baseline names another.
        baseline: The run that all others are compared with.
        clusters: What the bootstrap draws as a whole: each task, or everything of one participant.
        intervals: `bootstrap` (paired, right), or `wald` (unpaired, as papers print it; only proportions have one).
        seed: Seed of the bootstrap.
        force: Compare anyway what differs in data or scoring, over the steps that both have.
        flips: List the steps that only one of two runs hit.
        json: Print everything as JSON, with the flipped steps.
    """
    if not runs:
        raise UserError("which runs? Name their folders, such as results/sample-web_none_ocr_1234567890")
    if seed < 0:
        raise UserError(f"--seed {seed}: expected 0 or more")
    import msgspec

    from grounding.comparison import compare_runs
    from grounding.comparison.table import print_comparison
    from grounding.report.matrix import WIDE
    from grounding.report.show import wide_console
    from grounding.webagents.agenticshop.runfiles import is_curation_run
    from grounding.webagents.comparing import print_run_comparison
    from grounding.webagents.personalwab.runfiles import is_shop_run

    every = (*runs, *([baseline] if baseline else []))
    over_shops = any(is_shop_run(path) for path in every)
    if over_shops or any(is_curation_run(path) for path in every):
        if clusters != "task" or intervals != "bootstrap" or flips:
            flag = "flips" if flips else "clusters" if clusters != "task" else "intervals"
            raise UserError(f"--{flag}: runs of web agents are compared by a bootstrap over users; leave it out")
        if over_shops:
            from grounding.webagents.personalwab.comparison import compare_shops

            compared = compare_shops(runs, baseline=baseline, force=force, seed=seed)
        else:
            from grounding.webagents.agenticshop.comparison import compare_curations

            compared = compare_curations(runs, baseline=baseline, force=force, seed=seed)
        if json:
            print(msgspec.json.format(msgspec.json.encode(compared), indent=2).decode())
        else:
            print_run_comparison(wide_console(WIDE), compared)
        return 0
    result = compare_runs(runs, baseline=baseline, clusters=clusters, intervals=intervals, force=force, seed=seed)
    if json:
        print(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    else:
        print_comparison(wide_console(WIDE), result, flips=flips)
    return 0
