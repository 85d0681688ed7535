"""The private attributes of TRL that are read, held against the version that is installed."""

from __future__ import annotations

import importlib.metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from fakes.make import REPOSITORY

from grounding.training.trl_private import BETWEEN_STEPS, TRL


def test_the_version_is_the_one_that_was_read() -> None:
    assert importlib.metadata.version("trl").startswith(f"{TRL}.")
    assert f'"trl>={TRL},<1.17"' in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("trainer", list(BETWEEN_STEPS))
def test_trainers_have_what_is_saved_of_them(trainer: str) -> None:
    # Read, not imported: TRL imports vLLM where that is installed.
    found = find_spec("trl")
    assert found is not None
    assert found.origin is not None
    file = f"{trainer.removesuffix('Trainer').lower()}_trainer.py"
    source = (Path(found.origin).parent / "trainer" / file).read_text(encoding="utf-8")
    for name in BETWEEN_STEPS[trainer]:
        assert f"self.{name} =" in source, name
