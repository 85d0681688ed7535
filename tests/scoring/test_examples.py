"""The examples in the documentation hold."""

import doctest
from importlib import import_module

import pytest

MODULES = ("geometry", "scoring.intervals", "scoring.metrics", "scoring.paired", "scoring.desktop")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(import_module(f"grounding.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
