"""``python -m grounding.eval``: options to a run to the printed table. No logic of its own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from grounding.options import Backend, Display, Dtype, EvalOptions, ImageSend, ScoringName

EXAMPLES = """
Examples:

```
# The bundled sample with the offline grounder, which needs no model
grounding eval

# A grounder on your own server, over your own data
grounding eval --dataset realwebassist --data-dir DATA \\
    --grounder gta1 --base-url http://127.0.0.1:8000/v1

# The pair of the paper, the planner at its vendor
grounding eval --planner o3 --grounder gta1 \\
    --base-url http://127.0.0.1:8000/v1

# Plans made earlier, answers recorded elsewhere
grounding eval --plans plans.json --predictions answers.jsonl
```
"""

_Several = Parameter(consume_multiple=True, negative="", show_default=False)


def evaluate_command(
    *,
    dataset: str = "sample-web",
    data_dir: Path | None = None,
    planner: str = "none",
    grounder: str | None = None,
    plans: Path | None = None,
    predictions: Path | None = None,
    base_url: Annotated[tuple[str, ...], _Several] = (),
    replicas: int = 1,
    server_command: str | None = None,
    send: ImageSend | None = None,
    backend: Backend | None = None,
    model_path: str | None = None,
    dtype: Dtype | None = None,
    device: str | None = None,
    batch_size: int | None = None,
    planner_base_url: str | None = None,
    history: int | None = None,
    history_file: str | None = None,
    questions: str | None = None,
    participant: Annotated[tuple[str, ...], _Several] = (),
    sample_id: Annotated[tuple[str, ...], _Several] = (),
    limit: int | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    max_connections: int | None = None,
    timeout: float | None = None,
    max_retries: int = 5,
    cost_limit: float | None = None,
    no_probe: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    scoring: ScoringName = "paper",
    log_dir: Path = Path("results"),
    fresh: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    display: Display | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Run a planner and a grounder over a data set and score every click.

    The same command again continues a run that stopped and asks nothing twice. Exit code 0: everything was
    answered; 1: errors or unanswered steps are left; 2: something about the command or the data is wrong.

    Args:
        dataset: Which data set; `grounding list datasets` shows them.
        data_dir: Where the data lie, for a data set that is not bundled.
        planner: Who rewrites the instruction: `none`, `replay`, a card's name or a path to a card (.yaml).
        grounder: Who finds the place: `ocr` (default), `replay`, `center`, `random`, `oracle`, a card's name or a path.
        plans: Saved plans to replay, `{participant: {image number: text}}` (means --planner replay).
        predictions: Recorded answers to replay, JSON lines (means --grounder replay).
        base_url: The grounder's server, such as http://127.0.0.1:8000/v1, or several that share the work. Without one,
            a card that vLLM serves gets a server of its own for the run, where there is a GPU.
        replicas: How many servers to start, where this command starts them.
        server_command: What starts a server, instead of `vllm serve`; asked for, it is used without a GPU as well.
        send: How screenshots are sent: `base64` in the request, or `file` for a server that reads the same disk
            [default: the card's].
        backend: Who runs the model of a card: a `server`, or transformers in this process (`hf`)
            [default: a server, or what the card needs].
        model_path: Weights for --backend hf: a folder or an id on the hub [default: the card's].
        dtype: Their precision [default: bfloat16].
        device: Where they run, such as cuda:0 or cpu [default: the GPU where there is one].
        batch_size: How many steps at once [default: 8].
        planner_base_url: The planner's server, instead of the one in its card.
        history: How many earlier steps models are told of [default: 10 where a prompt has a place for them].
        history_file: Which history file, whatever the case of its name.
        questions: Which questions file, such as questions_Wlarge.json.
        participant: Only these participants.
        sample_id: Only these steps, such as 3/42.
        limit: Only the first so many scored steps.
        temperature: Sampling temperature [default: the card's].
        seed: Seed of the bootstrap, the random grounder and models that take one [default: 0].
        max_connections: Requests open at once, for each model, over all its servers [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        cost_limit: US dollars that a run may cost in all; it stops before and can go on with a higher limit.
        no_probe: Don't ask a chat grounder about a dozen drawn screenshots first, to see that its card fits.
        scoring: Which definition the table shows; summary.json has both.
        log_dir: Where run folders are made.
        fresh: Start over; what an earlier run left is set aside, not deleted.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
        json: Print summary.json instead of the table.
    """
    options = EvalOptions(
        dataset=dataset,
        data_dir=data_dir,
        questions=questions,
        history_file=history_file,
        planner=planner,
        grounder=grounder if grounder is not None else ("ocr" if predictions is None else "replay"),
        plans=plans,
        predictions=predictions,
        history=history,
        limit=limit,
        sample_id=sample_id,
        participant=participant,
        max_connections=max_connections,
        base_url=base_url,
        replicas=replicas,
        server_command=server_command,
        send=send,
        backend=backend,
        model_path=model_path,
        dtype=dtype,
        device=device,
        batch_size=batch_size,
        planner_base_url=planner_base_url,
        temperature=temperature,
        seed=seed,
        timeout=timeout,
        max_retries=max_retries,
        cost_limit=cost_limit,
        no_probe=no_probe,
        log_dir=log_dir,
        fresh=fresh,
        display=display,
        command=shlex.join(["grounding", "eval", *_arguments()]),
    )
    from grounding.display import Progress
    from grounding.evaluation import INTERRUPTED, evaluate
    from grounding.report.show import show_result

    result = evaluate(options, Progress(display))
    return show_result(result, scoring=scoring, as_json=json, interrupted=result.info.stopped == INTERRUPTED)


def _arguments() -> list[str]:
    given = sys.argv[1:]
    return given[1:] if given[:1] == ["eval"] else given


def main() -> None:
    """Entry point of ``python -m grounding.eval``."""
    from grounding.cli import run

    run(["eval", *sys.argv[1:]])


if __name__ == "__main__":
    main()
