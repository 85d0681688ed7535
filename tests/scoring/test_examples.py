"""The examples in the documentation hold."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["grounding.regions", "grounding.scoring.intervals", "grounding.scoring.metrics"])
def test_examples(name):
    result = doctest.testmod(import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
