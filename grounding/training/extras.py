"""The packages of the extra ``train``, asked for in one sentence where they are missing."""

from __future__ import annotations

import importlib.metadata

from grounding.errors import UserError

_LEAST = {
    "torch": (2, 8),
    "torchvision": (0, 23),
    "transformers": (5, 16),
    "trl": (1, 16),
    "peft": (0, 21),
    "datasets": (4,),
    "accelerate": (1, 6),
    "tensorboard": (2, 18),
}
"""Every package of the extra, and the first version that is known to serve."""


def needs_training() -> None:
    """Make sure that everything training imports is there, without importing it.

    Raises:
        UserError: packages are missing or too old; says which and what to install.
    """
    problems = []
    for name, least in _LEAST.items():
        wanted = ".".join(str(part) for part in least)
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{name} is not installed")
            continue
        if _numbers(found, len(least)) < least:
            problems.append(f"{name} is {found}, {wanted} or later is needed")
    if problems:
        raise UserError(f"training needs more packages ({'; '.join(problems)}): pip install 'grounding[train]'")


def training_libraries() -> tuple[str, ...]:
    """The names of these packages, for the versions in ``run.json``."""
    return tuple(_LEAST)


def _numbers(version: str, count: int) -> tuple[int, ...]:
    """The first numbers of a version: ``2.13.0+cpu`` is (2, 13)."""
    numbers = []
    for part in version.split("+")[0].split(".")[:count]:
        digits = "".join(character for character in part if character.isdigit())
        numbers.append(int(digits or 0))
    return tuple(numbers)
