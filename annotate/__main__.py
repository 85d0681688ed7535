"""``python -m annotate``: the window for a folder, and the commands that need none.

A command's module is imported when it is asked for, and the window's when a window is to be opened.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.config import Env

from grounding import __version__
from grounding.commandline import leave
from grounding.errors import UserError
from grounding.records import Record

EXAMPLES = """
Examples:

```
# Boxes and words for one participant in the release layout
python -m annotate DATA/3 --annotator ann

# A plain folder of screenshots; the questions file is made there
python -m annotate screenshots/

# Other keys; every key is listed in the window with ? or F1
python -m annotate DATA/3 --keys keys.yaml

# What a run got wrong, step by step
python -m annotate DATA/3 --run results/sample-web_none_ocr_0123456789
```

A file of keys names actions with their keys, in YAML or TOML:

```
next-step: ["D", "Mod+Right"]    # Mod is Ctrl, or Command on a Mac
no-click: ["0"]
crosshair: []                    # no key
```
"""


class Command(Record, frozen=True, kw_only=True):
    """A command in a module of its own: ``<name>_command`` there, and ``<NAME>_EXAMPLES`` for its help."""

    name: str
    help: str


COMMANDS: tuple[Command, ...] = (
    Command(name="review", help="Go through the misses of a run and say whose fault each was."),
    Command(name="agree", help="Compare two annotators: box IoU, agreement, and what to look at together."),
    Command(name="check", help="List everything that is wrong with boxes and files."),
    Command(name="convert", help="Turn native folders into COCO, YOLO, VOC, labelme or CSV, and back."),
    Command(name="stats", help="Count steps, boxes, sizes and annotators."),
    Command(name="segment", help="Cut a screen recording into steps."),
    Command(name="transcribe", help="Let a speech recogniser hear the audio clips."),
)

app = App(
    name="annotate",
    help="Annotate GUI grounding: boxes on screenshots, words beside them, recordings cut into steps.",
    version=__version__,
    result_action="return_value",
    exit_on_error=False,
    print_error=True,
    help_on_error=False,
    suppress_keyboard_interrupt=False,
    help_format="markdown",
    config=Env("ANNOTATE_"),
    default_parameter=Parameter(show_env_var=False),
    help_epilogue=EXAMPLES,
)


@app.default
def window_command(
    data_dir: Path,
    /,
    *,
    annotator: str = "",
    questions: str | None = None,
    run: Path | None = None,
    step: int | None = None,
    keys: Path | None = None,
    keep_zoom: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    scale: float | None = None,
) -> int:
    """Open a participant's folder, or a folder of images, in a window.

    Work is saved a second after the last change, and nothing is lost when the program is killed. Exit code 0: the
    window was closed; 2: something about the command, the data or the display is wrong.

    Args:
        data_dir: A participant's folder in the release layout, or a plain folder of images.
        annotator: Who annotates; written into each step that is changed.
        questions: Which questions file [default: questions_with_task_updated.json].
        run: The folder of a run to review beside the boxes.
        step: Which step to begin at, from 1 [default: the first that is still to do].
        keys: A file of keys (.yaml or .toml) that replaces some of the window's own.
        keep_zoom: Keep the zoom when the step changes.
        scale: How large everything is, 1.5 for 150 % [default: what the display says].
    """
    _check_options(data_dir, scale, step)
    from annotate.display import require_display

    require_display()
    from annotate.window.main_window import annotate
    from annotate.window.panels import WindowOptions

    annotate(
        WindowOptions(
            folder=data_dir,
            annotator=annotator,
            questions=questions or "",
            run=run,
            keys=keys,
            keep_zoom=keep_zoom,
            scale=scale,
            step=None if step is None else step - 1,
        )
    )
    return 0


def _check_options(data_dir: Path, scale: float | None, step: int | None) -> None:
    if not data_dir.is_dir():
        commands = ", ".join(command.name for command in COMMANDS)
        raise UserError(f"{data_dir}: there is no such folder (and no such command; there are {commands})")
    if scale is not None and not 0.5 <= scale <= 4:
        raise UserError(f"--scale: expected 0.5 to 4, got {scale:g}")
    if step is not None and step < 1:
        raise UserError(f"--step: steps are counted from 1, got {step}")


def _register(asked: str) -> None:
    """Make the commands known: the one that was asked for with its help, the others by their names alone."""
    for command in COMMANDS:
        place = f"annotate.{command.name}"
        if command.name == asked:
            module = import_module(place)
            examples = getattr(module, f"{command.name.upper()}_EXAMPLES")
            app.command(getattr(module, f"{command.name}_command"), name=command.name, help_epilogue=examples)
        else:
            app.command(f"{place}:{command.name}_command", name=command.name, help=command.help)


def run(arguments: Sequence[str]) -> None:
    """Run a command line and leave the process with its exit code."""

    def command() -> object:
        _register(arguments[0] if arguments else "")
        return app(list(arguments))

    leave(command, "annotate")


def main() -> None:
    """Entry point of ``python -m annotate``."""
    run(sys.argv[1:])


if __name__ == "__main__":
    main()
