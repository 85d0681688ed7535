"""``grounding check``: every problem of a data set at once."""

import sys

from grounding.console import EXIT_USAGE, wide_console
from grounding.data.option import DataDir
from grounding.errors import UserError

CHECK_EXAMPLES = "Example: grounding check --dataset realwebassist --data-dir DATA"


def check_command(
    dataset: str, *, data_dir: DataDir | None = None, questions: str | None = None, history_file: str | None = None
) -> int:
    """List every problem of a data set at once, with file, item, field, value and what to do.

    `eval` checks the same at its start, damaged pictures included; here every PNG is decoded to its last pixel, too.
    Exit code 0: the data set can be used; 2: it can't. A warning is what `eval` takes as it stands, such as a box that
    no click can hit, and any count other than that of the data set's card.

    Args:
        dataset: Which data set or layout; `grounding list datasets` shows them.
        data_dir: Where the data lie: a folder, an archive or a URL, as for `eval`.
        questions: Which questions file.
        history_file: Which history file; asked for and absent is a problem [default: the one that is there].
    """
    from grounding.data import inspect_dataset
    from grounding.data.registry import layout_of

    layout = layout_of(dataset)
    if layout in ("personalwab", "agenticshop"):
        from grounding.benchmarks.agenticshop.loader import inspect_curation
        from grounding.benchmarks.personalwab.loader import inspect_shop

        if questions is not None or history_file is not None:
            raise UserError(f"--questions and --history-file have no meaning for {dataset}: leave them out")
        found = (inspect_shop if layout == "personalwab" else inspect_curation)(dataset, data_dir)
    else:
        found = inspect_dataset(dataset, data_dir, questions=questions, history=history_file or "if-present")
    console = wide_console(markup=False, emoji=False, highlight=False)
    for problem in found.problems:
        console.print(str(problem), soft_wrap=True)
    for warning in found.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr)
    if found.problems:
        print(f"{len(found.problems)} problems", file=sys.stderr)
        return EXIT_USAGE
    print(f"no problems found: {found.summary}")
    return 0
