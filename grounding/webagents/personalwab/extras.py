"""The packages of the extra ``web``, asked for in one sentence where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

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
        raise _lacking(error.name) from None


def check_there(*modules: str) -> None:
    """Find each of these modules without importing it, which takes seconds for some.

    Raises:
        UserError: one of them is not there.
    """
    for module in modules:
        if find_spec(module) is None:
            raise _lacking(module)


def _lacking(module: str | None) -> UserError:
    return UserError(f"{module} is not installed: pip install 'grounding[web]'")
