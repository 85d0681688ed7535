"""``grounding sweep``: options of ``grounding eval`` with several values, every combination run, one table and plot."""

import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from grounding.data.option import without_secrets
from grounding.errors import UserError
from grounding.eval import EACH, evaluate_command
from grounding.options import EvalOptions

SWEEP_EXAMPLES = """
Examples:

```
# How much history helps (the paper's Figure 6)
grounding sweep --history 0 1 2 5 10 15 20 \\
    --planner gemini-2.5-flash --grounder gta1

# What plans are worth to the offline grounder
grounding sweep --plans none plans.json

# What memory is worth to an agent on a desktop
grounding sweep --dataset sample-desktop \\
    --memory thought none other-step shuffled

# What recognition errors do to an agent (the paper's Table 4)
grounding sweep --transcript truth pocketsphinx \\
    pocketsphinx@babble:10dB pocketsphinx@typing:0dB

# Every combination of two prompts and two grounders
grounding sweep --planner o3 --planner-prompt official explicit \\
    --grounder gta1 ui-tars
```
"""

ONE_FOR_ALL = frozenset(
    {
        *("log_dir", "display", "fresh", "json", "scoring", "baseline", "cost_limit"),
        *("plan_store", "no_plan_store", "no_probe", "no_report", "dry_run", "tolerance", "published"),
        *("clusters", "epochs", "asr_base_url", "noise_dir", "executor", "workers", "ray_address"),
    }
)  # Options of `eval` that say how the command works and not what is run: they have one value in a sweep as well.
_DOC = """Run every combination of options that have several values, and show how the scores change.

Takes the options of `grounding eval`; each may have several values (`true` and `false` for a switch, `none` for an
option's absence). Each combination is an ordinary run in its own folder; runs share stored plans and readings. A
folder `sweep_…` beside them gets sweep.json, sweep.csv and the plot as sweep.png and sweep.svg. The same command again
goes on where it stopped. Exit codes are those of `eval`.
"""


def sweepable() -> tuple[str, ...]:
    hints = get_type_hints(evaluate_command, include_extras=True)
    return tuple(
        name
        for name in inspect.signature(evaluate_command).parameters
        if name not in ONE_FOR_ALL and (_is_each(hints[name]) or get_origin(_plain(hints[name])) is not tuple)
    )


def _is_each(hint: Any) -> bool:
    return get_origin(hint) is Annotated and EACH in get_args(hint)[1:]


def _plain(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _several(hint: Any) -> Any:
    """The type of an option of ``eval`` with several values: of numbers a tuple of numbers, of a switch of words."""
    if _is_each(hint):
        return hint
    one: Any = Literal["true", "false"] if _plain(hint) is bool else _plain(hint)
    several: Any = tuple.__class_getitem__((one, ...))
    return Annotated[several, Parameter(consume_multiple=True, negative="", show_default=False)]


def _signature() -> inspect.Signature:
    hints, several = get_type_hints(evaluate_command, include_extras=True), sweepable()
    return inspect.Signature(
        [
            parameter.replace(annotation=_several(hints[name]), default=())
            if name in several
            else parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(evaluate_command).parameters.items()
        ],
        return_annotation=int,
    )


def _documented(command: Callable[..., int]) -> Callable[..., int]:
    signature = _signature()
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()} | {"return": int}
    _, _, arguments = inspect.cleandoc(evaluate_command.__doc__ or "").partition("\nArgs:\n")
    command.__doc__ = f"{_DOC}\nArgs:\n{arguments}"
    return command


@_documented
def sweep_command(**given: Any) -> int:
    values = swept_values(given)
    varying = tuple(name for name, found in values.items() if len(found) > 1)
    if given.get("epochs", 1) != 1:
        raise UserError("--epochs repeats a run and a sweep changes it: sweep --seed instead, as in --seed 0 1 2")
    if not varying:
        raise UserError(
            "nothing is swept: give an option of `grounding eval` several values, as in --history 0 1 2 5 10 15 20"
        )
    from grounding.run.benchmark import benchmark_for

    found = {benchmark_for(name) for name in values["dataset"]}
    if len(found) > 1:
        raise UserError("--dataset: these data sets have different scores; sweep them one by one")
    (benchmark,) = found
    from grounding.report.html.written import write_runs_page
    from grounding.report.plot import x_axis
    from grounding.run.several import evaluate_command as run_command

    # The option along the plot's axis changes fastest, so that the rows of one line follow one another.
    along = x_axis({name: values[name] for name in varying})
    axes = (*(name for name in values if name != along), *((along,) if along else ()))
    usual = {name: parameter.default for name, parameter in inspect.signature(evaluate_command).parameters.items()}
    command = shlex.join(["grounding", *without_secrets(sys.argv[1:])])
    given = {**usual, **given, **values}
    return run_command(benchmark, given, usual, axes=axes, swept=varying, command=command, write_page=write_runs_page)


def swept_values(given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    defaults = inspect.signature(evaluate_command).parameters
    found = {}
    for name in sweepable():
        values = given.get(name, ())
        default = defaults[name].default
        if not values:
            values = default if isinstance(default, tuple) else (default,)
        found[name] = tuple(dict.fromkeys(_value(name, default, one) for one in values))
    return found


def _value(name: str, default: Any, value: Any) -> Any:
    if isinstance(default, bool):
        return value if isinstance(value, bool) else value == "true"
    absent = getattr(EvalOptions(), name, default) is None
    return None if absent and value is not None and str(value).lower() == "none" else value
