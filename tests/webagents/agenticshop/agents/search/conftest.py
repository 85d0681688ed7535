from __future__ import annotations

from collections.abc import Iterator

import pytest
from fakes.search_vendor_shapes import KEY
from fakes.search_vendors import SearchVendors

from webagents.agenticshop.agents.search.helpers import KEY_VARIABLES, PAGES


@pytest.fixture
def vendors() -> Iterator[SearchVendors]:
    with SearchVendors(PAGES) as running:
        yield running


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEY_VARIABLES:
        monkeypatch.setenv(name, KEY)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
