"""How every program of ours ends: with a sentence instead of a traceback, and the exit code that it stands for."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from grounding.errors import Halted, UserError, printable, spell_out_in_rich

if TYPE_CHECKING:
    from cyclopts import App
    from rich.console import Console

EXIT_OK = 0
EXIT_PARTIAL = 1
EXIT_WRONG = 2
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_READER_LEFT = 141

stuck: list[str] = []
"""What has threads that never come back: the interpreter can't be taken down around them, and the process just ends."""


def say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: never broken, and with nothing in it taken for markup."""
    from rich.text import Text

    console.print(Text(text, style=style), soft_wrap=True, highlight=False)


def leave(command: Callable[[], Any], program: str) -> NoReturn:
    """Run a command and leave the process with its exit code.

    Args:
        command: What is run; an int that it returns is the exit code.
        program: The name that messages begin with.
    """
    from cyclopts import CycloptsError

    spell_out_in_rich()
    if sys.stderr.isatty():
        from grounding.terminal import Folding

        sys.stderr = Folding(sys.stderr)
    try:
        code = command()
        sys.stdout.flush()
    except (UserError, Halted) as error:
        print(f"{program}: {printable(str(error))}", file=sys.stderr)
        code = EXIT_USAGE
    except CycloptsError:
        code = EXIT_USAGE
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except OSError as error:
        code = _output_failed(error, program) if error.filename is None else _file_failed(error, program)
    code = code if isinstance(code, int) else 0
    if stuck:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def command_names(app: App) -> list[str]:
    return [name for name in app if not name.startswith("-")]


def answer(app: App, arguments: Sequence[str]) -> object:
    """Run a command line of an app whose commands have a line each, and are imported when they are asked for. The one
    that is asked for gets the help of its docstring, and at its end ``NAME_EXAMPLES`` of its module.
    """
    wants_help = not {"--help", "-h"}.isdisjoint(arguments)
    at = app
    for word in arguments:
        if word not in command_names(at):
            break
        at = at[word]
        if at.default_command is not None and not command_names(at):
            module = sys.modules[at.default_command.__module__]
            at.help, at.help_epilogue = None, getattr(module, f"{word.upper()}_EXAMPLES", at.help_epilogue)
    if wants_help:
        _as_plain_text(at)
    return app(list(arguments))


def _as_plain_text(app: App) -> None:
    """Have help say what the docstring says without its line breaks, and examples without what marks them as code. To
    render them as Markdown takes longer than everything else of ``--help``, and fills lines of code with blanks.
    """
    if (command := app.default_command) is not None:
        command.__doc__ = re.sub(r"(?<=\S)\n(?: {8})?(?=\S)", " ", inspect.cleandoc(command.__doc__ or ""))
    width, is_code, lines = shutil.get_terminal_size().columns, False, []
    for line in (app.help_epilogue or "").strip().splitlines():
        if line.startswith("```"):
            is_code = not is_code
        else:
            lines.append(folded(line, width) if is_code else line)
    app.help_epilogue = "\n".join(lines)


def folded(line: str, width: int, indent: int = 4) -> str:
    """A command or a comment in lines of at most ``width``: a command goes on behind a backslash, and can be copied."""
    between, indented = ("\n", "# ") if line.startswith("#") else (" \\\n", " " * indent)
    room = {"subsequent_indent": indented, "break_long_words": False, "break_on_hyphens": False}
    return between.join(textwrap.wrap(line, width - 2, **room))  # type: ignore[arg-type]


def _file_failed(error: OSError, program: str) -> int:
    print(f"{program}: {error.filename}: {error.strerror}", file=sys.stderr)
    return EXIT_USAGE


def _output_failed(error: OSError, program: str) -> int:
    """Standard output is full or its reader has left (``| head``): say so and have nothing more written to it."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return EXIT_READER_LEFT
    print(f"{program}: the output can't be written: {error.strerror}", file=sys.stderr)
    return EXIT_USAGE


def wide_console(width: int = 100, **more: Any) -> Console:
    """As wide as the terminal; where the output is not one, ``width`` characters, enough for the table."""
    from grounding.terminal import Terminal

    return Terminal(width=None if sys.stdout.isatty() else width, **more)


def print_json(value: Any) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
