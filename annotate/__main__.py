"""``grounding annotate``, in a checkout also ``python -m annotate``; modules are imported when they are asked for."""

import sys
from pathlib import Path

from cyclopts import App, Parameter
from cyclopts.config import Env

from grounding import __version__
from grounding.console import answer, leave
from grounding.errors import UserError

from .display import WindowOptions, require_display

ANNOTATE_EXAMPLES = """
Examples:

```
# Boxes and words for one participant in the release layout
grounding annotate DATA/3 --annotator ann

# A plain folder of screenshots; the questions file is made there
grounding annotate screenshots/

# What a run got wrong, step by step
grounding annotate review results/sample-web_none_ocr_0123456789
```
"""

COMMANDS = {
    "review": ("review", "Go through the misses of a run and say whose fault each was."),
    "agree": ("agreement", "Compare two annotators: box IoU, agreement, and what to look at together."),
    "check": ("formats", "List everything that is wrong with boxes and files."),
    "convert": ("formats", "Turn native folders into COCO, YOLO or VOC, and back."),
    "segment": ("recording", "Cut a screen recording into steps."),
}  # Each command, `NAME_command` in the module `commands` of a room, and the line that stands for it.
app = App(
    name="annotate",
    help="Annotate GUI grounding: boxes on screenshots, words beside them, recordings cut into steps.",
    version=__version__,
    result_action="return_value",
    exit_on_error=False,
    print_error=True,
    help_on_error=False,
    suppress_keyboard_interrupt=False,
    help_format="plaintext",
    config=Env("ANNOTATE_"),
    default_parameter=Parameter(show_env_var=False),
    help_epilogue=ANNOTATE_EXAMPLES,
)
for _name, (_room, _line) in COMMANDS.items():
    app.command(f"{__package__}.{_room}.commands:{_name}_command", name=_name, help=_line)


@app.default
def window_command(
    data_dir: Path,
    /,
    *,
    annotator: str = "",
    step: int | None = None,
    keys: Path | None = None,
    scale: float | None = None,
) -> int:
    """Open a participant's folder, or a folder of images, in a window.

    Work is saved a second after the last change, and nothing is lost when the program is killed. Exit code 0: the
    window was closed; 2: something about the command, the data or the display is wrong.

    Args:
        data_dir: A participant's folder in the release layout, or a plain folder of images.
        annotator: Who annotates; written into each step that is changed.
        step: Which step to begin at, from 1 [default: the first that is still to do].
        keys: A file of keys (YAML) in place of some of the window's, such as `next-step: ["D", "Mod+Right"]`.
        scale: How large everything is, 1.5 for 150 % [default: what the display says].
    """
    if not data_dir.is_dir():
        commands = ", ".join(COMMANDS)
        raise UserError(f"{data_dir}: there is no such folder (and no such command; there are {commands})")
    if scale is not None and not 0.5 <= scale <= 4:
        raise UserError(f"--scale: expected 0.5 to 4, got {scale:g}")
    if step is not None and step < 1:
        raise UserError(f"--step: steps are counted from 1, got {step}")
    require_display()
    from .window.main import annotate

    options = WindowOptions(
        folder=data_dir, annotator=annotator, keys=keys, scale=scale, step=None if step is None else step - 1,
    )  # fmt: skip
    annotate(options)
    return 0


def main() -> None:
    leave(lambda: answer(app, sys.argv[1:]), "annotate")


if __name__ == "__main__":
    main()
