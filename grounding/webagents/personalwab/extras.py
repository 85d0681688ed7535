"""The packages of the extra ``web``, asked for in one sentence where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grounding.errors import UserError


@contextmanager
def needs(*modules: str) -> Iterator[None]:
    """Turn the absence of one of these modules into a sentence that says what to install.

    Raises:
        UserError: one of them is not there.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in modules:
            raise
        raise UserError(f"{error.name} is not installed: pip install 'grounding[web]'") from None
