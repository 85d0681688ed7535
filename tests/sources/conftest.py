"""A cache folder and servers of each test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grounding.sources import option

from .web import Web

pytest.importorskip("fsspec", reason="fsspec is not installed (extra remote)")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder for data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.delenv("GROUNDING_OFFLINE", raising=False)
    monkeypatch.setattr(option, "_known", {})
    monkeypatch.setattr(option, "_ready", set())
    return tmp_path / "cache" / "grounding" / "data"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A web server over the folder ``www``."""
    folder = tmp_path / "www"
    folder.mkdir()
    with Web(folder) as server:
        yield server
