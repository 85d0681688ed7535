"""Cohen's kappa and its standard error against statsmodels, on random tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as their_kappa

from grounding.scoring.kappa import cohens_kappa


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 40), min_size=k, max_size=k), min_size=k, max_size=k)
    )
)
def test_it_is_that_of_statsmodels(table: list[list[int]]) -> None:
    counts = np.array(table)
    rows, columns, total = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    assume(total > 0 and (rows * columns).sum() < total**2)
    ours = cohens_kappa(table)
    with np.errstate(invalid="ignore"):
        theirs = their_kappa(table)
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-9)
    # Theirs is the root of a variance that may come out a hair below 0 where it is 0.
    assert ours.standard_error == pytest.approx(math.sqrt(max(0.0, theirs.var_kappa)), abs=1e-7)
