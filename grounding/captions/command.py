"""``grounding caption``: a model writes the history that planners are told. No logic of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from grounding.options import Display
from grounding.sources.option import DataDir

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

EXIT_OK, EXIT_PARTIAL, EXIT_INTERRUPTED = 0, 1, 130

_Count = Annotated[int, Parameter(validator=Number(gte=0))]
_Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]


def caption_command(
    *,
    dataset: str,
    captioner: str,
    out: Path,
    data_dir: DataDir | None = None,
    questions: str | None = None,
    participant: _Several = (),
    prompt: str = "consecutive",
    model: str | None = None,
    base_url: _Several = (),
    temperature: float | None = None,
    seed: Annotated[int | None, Parameter(validator=Number(gte=0))] = None,
    max_connections: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    timeout: Annotated[float | None, Parameter(validator=Number(gt=0))] = None,
    max_retries: _Count = 5,
    cost_limit: Annotated[float | None, Parameter(validator=Number(gt=0))] = None,
    fresh: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    display: Display | None = None,
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
        model: The model's name at its server, instead of the one in its card.
        base_url: The model's server, instead of the one in its card, or several that share the work.
        temperature: Sampling temperature [default: the card's].
        seed: Seed for a model that takes one.
        max_connections: Requests open at once [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        cost_limit: US dollars that the file may cost in all; it stops before and can go on with a higher limit.
        fresh: Start over; what an earlier run left is set aside, not deleted.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """
    from grounding.captions.run import INTERRUPTED, CaptionOptions, caption_dataset
    from grounding.chat import ChatOptions

    done = caption_dataset(
        CaptionOptions(
            dataset=dataset,
            captioner=captioner,
            out=out,
            data_dir=data_dir,
            questions=questions,
            participant=participant,
            prompt=prompt,
            model=model,
            chat=ChatOptions(
                base_url=" ".join(base_url) or None,
                temperature=temperature,
                seed=seed,
                max_connections=max_connections,
                timeout_s=timeout,
                max_retries=max_retries,
            ),
            cost_limit=cost_limit,
            fresh=fresh,
            display=display,
        )
    )
    if done.set_aside is not None:
        print(f"the earlier file was set aside as {done.set_aside}", file=sys.stderr)
    left = done.steps - done.captioned - done.unparsed - done.error
    cost = "cost not known" if done.cost_usd is None else f"${done.cost_usd:.4f} in all"
    print(f"{out}: {done.captioned} of {done.steps} steps described by {done.captioner}")
    print(f"no sentence in the reply: {done.unparsed} · errors: {done.error} · not asked yet: {left}")
    print(f"asked now: {done.asked} · {cost} · {done.seconds:.1f} s")
    if done.stopped:
        print(f"stopped before the end: {done.stopped}")
    if not done.complete:
        print("the same command again goes on from here", file=sys.stderr)
    if done.stopped == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_OK if done.complete else EXIT_PARTIAL
