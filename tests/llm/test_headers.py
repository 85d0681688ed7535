"""Every form in which providers ask for a pause."""

from __future__ import annotations

import email.utils

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from grounding.llm.http import retry_after_s

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


@given(st.text(max_size=30))
def test_no_header_can_do_harm(text: str) -> None:
    wait = retry_after_s({"Retry-After": text}, NOW)
    assert wait is None or wait >= 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "20"}, 20.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After-Ms": "250", "Retry-After": "20"}, 0.25),
        ({"Retry-After-Ms": "soon", "Retry-After": "20"}, 20.0),
        ({"Retry-After": email.utils.formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"Retry-After": email.utils.formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_after_a_refusal(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(CIMultiDict(headers), NOW) == seconds
