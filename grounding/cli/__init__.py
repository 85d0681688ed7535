"""The command ``grounding`` and its sub-commands. Errors of the user end with a sentence and exit code 2."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal

from cyclopts import App, CycloptsError, CycloptsPanel, Parameter, UnusedCliTokensError
from cyclopts.config import Env

from grounding import __version__
from grounding.console import answer, command_names, leave

# A wheel holds the annotation program inside this package, so that it takes no other name; a checkout beside it.
_ANNOTATE = "grounding.annotate" if find_spec("grounding.annotate") else "annotate"

COMMANDS = {
    "annotate": (
        f"{_ANNOTATE}.__main__:app",
        "Annotate GUI grounding: boxes on screenshots, words beside them, recordings cut into steps.",
    ),
    "audit": ("grounding.run.probe.command:audit_command", "Read a run's replies again in every coordinate space."),
    "blame": ("grounding.cli.blame:blame_command", "Say of every miss who was wrong: the planner or the grounder."),
    "board": ("grounding.cli.reporting:board_command", "Show runs among the published figures of a data set."),
    "cache": (
        "grounding.cli.cache:cache_app",
        "Show where plans, readings of screens, transcripts of speech and fetched data are kept, and how much there "
        "is.",
    ),
    "caption": ("grounding.cli.caption:caption_command", "Have a model write what was done, as a history."),
    "check": ("grounding.cli.check:check_command", "List every problem of a data set at once."),
    "compare": ("grounding.cli.reporting:compare_command", "Compare runs over the same steps: differences, p-values."),
    "curation": (
        "grounding.benchmarks.agenticshop.commands:curation_app",
        "Curated products: making users, walking through shops, the release's layout, agreement with people.",
    ),
    "eval": ("grounding.eval:evaluate_command", "Run a planner and a grounder over a data set and score every click."),
    "export": ("grounding.cli.reporting:export_command", "Write runs' scores as a table, or a run for another viewer."),
    "probe": ("grounding.run.probe.command:probe_command", "Ask a grounder about drawn pictures: does its card fit?"),
    "report": ("grounding.cli.reporting:report_command", "Show scored runs again, by any column, or beside papers."),
    "score": ("grounding.cli.reporting:score_command", "Score a run again from its stored answers. Asks no model."),
    "serve": ("grounding.cli.serve:serve_command", "Serve a grounder with vLLM, until Ctrl-C."),
    "shop": (
        "grounding.benchmarks.personalwab.commands:shop_app",
        "Make a shop from real reviews, and judge the profiles of its users.",
    ),
    "sweep": ("grounding.cli.sweep:sweep_command", "Run every combination of options that have several values."),
    "train": ("grounding.cli.train:train_app", "Tune a grounder on other people's clicks, or a web agent on its user."),
    "transcribe": ("grounding.asr.commands:transcribe_recordings", "Have recordings heard by a recogniser."),
    "view": ("grounding.cli.view:view_command", "Show runs in the browser, also while they go on."),
}  # Where each command is, and the line that stands for it: a command is imported when it is asked for.


def _panel(error: CycloptsError) -> object:
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens and error.app is not None:
        from grounding.cli.catalogue import meant_by

        word, command = error.unused_tokens[0], " ".join(error.command_chain or ())
        meant = meant_by(word, command, command_names(error.app))
        text = f'"{word}" is one word too many. {meant or f"`grounding {command} --help` shows what it takes."}'
        return CycloptsPanel(CycloptsError(msg=text))
    return CycloptsPanel(error)


app = App(
    name="grounding",
    help="Evaluate GUI grounding: from a screenshot and a spoken instruction to a scored click.",
    version=__version__,
    result_action="return_value",
    exit_on_error=False,
    print_error=True,
    error_formatter=_panel,
    help_on_error=False,
    suppress_keyboard_interrupt=False,
    help_format="plaintext",
    config=Env("GROUNDING_"),
    # Named once, below, instead of at every option.
    default_parameter=Parameter(show_env_var=False),
    help_epilogue="Any option can be set in the environment, too: `GROUNDING_EVAL_GROUNDER=gta1`.",
)
for _name, (_place, _line) in COMMANDS.items():
    app.command(_place, name=_name, help=_line)


@app.command(name="list", help_epilogue="Example: grounding list grounders")
def list_command(what: Literal["datasets", "planners", "grounders", "agents", "search"] | None = None, /) -> int:
    """Show the data sets, planners, grounders, agents or models with a search tool that there are.

    Args:
        what: What to list [default: what there is to list, and how much of each].
    """
    from grounding.cli.catalogue import print_catalogue, print_kinds

    if what is None:
        print_kinds()
    else:
        print_catalogue(what)
    return 0


def run(arguments: Sequence[str], commands: App = app) -> None:
    """Run a command line and leave the process with its exit code.

    Args:
        arguments: What stands behind the program's name.
        commands: Those of another program of this package.
    """
    if list(arguments[:2]) == ["train", "puma"]:  # what the option was called before
        arguments = [word.replace("--eval-limit", "--test-limit") for word in arguments]

    def command() -> object:
        if arguments[:1] == ["eval"] and not {"--help", "-h"}.isdisjoint(arguments):
            from grounding.cli.help import show_help_for
            from grounding.eval import evaluate_command

            show_help_for(arguments, evaluate_command)
        return answer(commands, arguments)

    leave(command, "grounding")


def main() -> None:
    run(sys.argv[1:])
