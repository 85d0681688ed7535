"""The one kind of error that a user can cause: it is shown as a sentence, never as a traceback."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right: a wrong option, a missing file, a server that is not there.

    The message says what was expected, what came, where, and what to do. The command line prints it and exits
    with code 2.
    """
