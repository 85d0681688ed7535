"""``grounding blame``: a run folder and what can tell who was wrong in, the error split out. No logic of its own."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from grounding.data.option import DataDir
from grounding.options import Display

BLAME_EXAMPLES = """
Examples:

```
# The bundled sample, with its own reference instructions
grounding blame results/sample-web_none_ocr_0123456789

# Your instructions, your grounder, a judge, and what two people say
grounding blame RUN --reference plans.json \\
    --base-url http://127.0.0.1:8000/v1 \\
    --judge gpt-4o --labels ann.jsonl bob.jsonl
```
"""

_Several = Parameter(consume_multiple=True, negative="", show_default=False)
_Flag = Parameter(negative="", show_default=False)


def blame_command(
    run: Path,
    /,
    *,
    reference: Path | None = None,
    reference_run: Path | None = None,
    no_reference: Annotated[bool, _Flag] = False,
    dataset: str | None = None,
    data_dir: DataDir | None = None,
    grounder: str | None = None,
    base_url: Annotated[tuple[str, ...], _Several] = (),
    judge: str | None = None,
    judge_base_url: str | None = None,
    judge_model: str | None = None,
    judge_prompt: str = "error-split",
    cost_limit: float | None = None,
    labels: Annotated[tuple[Path, ...], _Several] = (),
    pictures: Annotated[bool, _Flag] = False,
    max_connections: int | None = None,
    timeout: float | None = None,
    max_retries: int = 5,
    server_wait: float = 600.0,
    per_participant: Annotated[bool, _Flag] = False,
    display: Display | None = None,
    json: Annotated[bool, _Flag] = False,
) -> int:
    """For every miss of a run, say who was wrong: the plan (reasoning), or the grounder that did not follow it.

    Up to three kinds of source tell, and are compared: a reference instruction for the same grounder (right with it,
    wrong with the plan: reasoning; wrong with both: grounding), a judge model that sees the gold place framed, and
    people's labels. Writes error_split.json and error_split.jsonl in the run's folder. The same command again asks
    nothing twice. Exit code 0: every source has said all it can; 1: answers are still to come; 2: something about the
    command or the files is wrong.

    Args:
        run: The run's folder.
        reference: Reference instructions, `{participant: {image number: text}}`; the misses are grounded again with
            them [default: those that come with the data set].
        reference_run: A finished run of the same grounder over reference instructions, instead of grounding again.
        no_reference: Leave the data set's own reference instructions out.
        dataset: The data set's name or card, if the run's command doesn't tell any more.
        data_dir: Where the data lie, if they have moved.
        grounder: The grounder's card, if it has moved.
        base_url: The grounder's server or servers [default: those of the run].
        judge: A chat model that judges: the name of a planner's card, or a path to one (.yaml).
        judge_base_url: The judge's server, instead of the one in its card; any model is asked there by its name.
        judge_model: The name of the judge's model at that server, instead of the one in its card.
        judge_prompt: What the judge is told: a name, or a path to a prompt (.yaml).
        cost_limit: US dollars that the judge may cost in all; it stops before and can go on with a higher limit.
        labels: People's labels, JSON lines such as {"step": "3/42", "label": "grounding", "labeller": "ann"}.
        pictures: Keep the screenshots of the misses, gold places framed, in error_split/pictures.
        max_connections: Requests open at once, for each model [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        server_wait: Seconds to wait for a server that is away; then the run ends, and the same command goes on with it.
        per_participant: Show the split of each participant, too.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
        json: Print error_split.json instead of the tables.
    """
    given = dict(locals())
    from grounding.analysis.showing import print_split
    from grounding.benchmarks.clicks.blaming import BlameOptions, split_errors
    from grounding.console import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL, print_json, wide_console
    from grounding.run.runner import terminated_like_interrupted

    options = BlameOptions(**{name: given[name] for name in BlameOptions.__struct_fields__})
    with terminated_like_interrupted():
        split, interrupted = split_errors(run, options)
    if json:
        print_json(split)
    else:
        print_split(wide_console(110), split, run, per_participant=per_participant)
    if interrupted:
        print("interrupted; the same command again goes on from here", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_OK if split.status == "complete" else EXIT_PARTIAL
