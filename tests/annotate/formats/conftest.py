"""Pictures that all round trips share."""

from __future__ import annotations

import pytest

from formats.making import Gallery


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    return Gallery(tmp_path_factory.mktemp("gallery"))
