"""``grounding caption``: a model writes the history that planners are told. No logic of its own."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from grounding.benchmarks.flags import AS_THE_CARD, Flag, ModelFlags, Several, exit_code
from grounding.data.option import DataDir

CAPTION_EXAMPLES = """
Examples:

```
# What happened in every step, told by gpt-4o from the screenshots
grounding caption --dataset realwebassist --data-dir DATA \\
    --captioner gpt-4o --out captions.json

# A run whose planner is told of the last ten of them
grounding eval --dataset realwebassist --data-dir DATA \\
    --planner o3 --history 10 --history-file ./captions.json
```
"""


def caption_command(
    *,
    dataset: str,
    captioner: str,
    out: Path,
    data_dir: DataDir | None = None,
    questions: str | None = None,
    participant: Several = (),
    prompt: str = "consecutive",
    flags: ModelFlags = AS_THE_CARD,
    seed: Annotated[int | None, Parameter(validator=Number(gte=0))] = None,
    fresh: Annotated[bool, Flag] = False,
) -> int:
    """Have a model write what was done at each step, from consecutive screenshots and the instruction, as a history.

    One request a step, scored or not, with the screenshot of the step and the next one of the session. The gold boxes,
    the data set's own actions and its task labels take no part. A step for which no sentence comes is kept with the
    reason and says nothing in the history. The same command again continues a run that stopped and asks nothing twice:
    the replies are kept beside the file, in FILE.replies.jsonl. Exit code 0: every step was asked about; 1: errors or
    steps that were not asked are left; 2: something about the command or the data is wrong.

    Args:
        dataset: Which data set; `grounding list datasets` shows them.
        captioner: Who writes: the card of a chat model, by its name in `grounding list planners` or its path (.yaml).
        out: The history file to write; give its path to `grounding eval --history-file`.
        data_dir: Where the data lie, for a data set that is not bundled.
        questions: Which questions file, such as questions_Wlarge.json.
        participant: Only these participants.
        prompt: How it is asked: a prompt's name or the path of one (.yaml).
        flags: How the model is asked.
        seed: Seed for a model that takes one.
        fresh: Start over; what an earlier run left is set aside, not deleted.
    """
    from grounding.benchmarks.captions import caption_dataset

    done = caption_dataset(
        dataset=dataset,
        captioner=captioner,
        out=out,
        data_dir=data_dir,
        questions=questions,
        participants=participant,
        prompt=prompt,
        model=flags.model,
        chat=flags.asking(captioner, seed).chat,
        cost_limit=flags.cost_limit,
        fresh=fresh,
        display=flags.display,
    )
    if done.set_aside is not None:
        print(f"the earlier file was set aside as {done.set_aside}", file=sys.stderr)
    tally = done.tally
    left = tally.items - tally.done - tally.unparsed - tally.error
    cost = "cost not known" if done.cost_usd is None else f"${done.cost_usd:.4f} in all"
    print(f"{out}: {tally.done} of {tally.items} steps described by {done.captioner}")
    print(f"no sentence in the reply: {tally.unparsed} · errors: {tally.error} · not asked yet: {left}")
    print(f"asked now: {done.asked} · {cost} · {done.seconds:.1f} s")
    if done.stopped:
        print(f"stopped before the end: {done.stopped}")
    return exit_code(done.stopped, complete=tally.complete)
