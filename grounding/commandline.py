"""How every program of ours ends: with a sentence instead of a traceback, and the exit code that it stands for."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from grounding.errors import UserError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_READER_LEFT = 141


def leave(command: Callable[[], Any], program: str) -> NoReturn:
    """Run a command and leave the process with its exit code.

    Args:
        command: What is run; an int that it returns is the exit code.
        program: The name that messages begin with.
    """
    from cyclopts import CycloptsError

    try:
        code = command()
        sys.stdout.flush()
    except UserError as error:
        print(f"{program}: {error}", file=sys.stderr)
        code = EXIT_USAGE
    except CycloptsError:
        code = EXIT_USAGE
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except OSError as error:
        code = _output_failed(error, program) if error.filename is None else _file_failed(error, program)
    sys.exit(code if isinstance(code, int) else 0)


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
