"""The errors that are shown as a sentence, never as a traceback: what a user can put right, and why a run stopped."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right: a wrong option, a missing file, a server that is not there.

    The message says what was expected, what came, where, and what to do. The command line prints it and exits
    with code 2.
    """


class Halted(Exception):
    """No further item can be answered, and those that were are kept: the run ends and can be continued.

    The message is the reason that the run's description gives.
    """
