"""The errors that are shown as a sentence, never as a traceback: what a user can put right, and why a run stopped.

Text of others on its way to a terminal: control characters and marks that turn the writing round are spelled out.
"""

_KEPT = "\n\t"

_MARKS = (0x061C, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF)

_CONTROL = (*range(0x20), *range(0x7F, 0xA0))

SPELLED_OUT = {code: f"\\x{code:02x}" for code in _CONTROL if chr(code) not in _KEPT}

SPELLED_OUT |= {code: f"\\u{code:04x}" for code in (*_MARKS, *range(0xD800, 0xE000))}

"""A table for ``str.translate``. Halves of characters are in it, as no terminal can be sent one."""


def printable(text: str) -> str:
    r"""The text with everything spelled out that would change what a terminal shows beside it.

    >>> printable("\x1b[31mred\u202e")
    '\\x1b[31mred\\u202e'
    """
    return text.translate(SPELLED_OUT)


def spell_out_in_rich() -> None:
    """Have the library ``rich`` treat all text that it is given so; its own colours are no text."""
    from rich import control

    # It drops five control characters of all text by this table, and lets an escape through.
    control._CONTROL_STRIP_TRANSLATE.update(SPELLED_OUT)


DISTRIBUTION = "gui-grounding"

"""Our name on the package index, where ``grounding`` is another project."""


def install(extra: str) -> str:
    """The command that installs this package with one of its extras, for messages."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class UserError(Exception):
    """Something the user can put right: a wrong option, a missing file, a server that is not there. The message says
    what was expected, what came, where, and what to do. The command line prints it and exits with code 2.
    """


class Halted(Exception):
    """No further item can be answered, and those that were are kept: the run ends and can be continued. The message is
    the reason that the run's description gives.
    """
