"""A cache folder and a web server of each test's own, and what a fetch brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grounding.data import fetch as fetching
from grounding.data import option
from grounding.data.address import parse_address

from .web import Web

pytest.importorskip("fsspec", reason="fsspec is not installed (extra remote)")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder for data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("GROUNDING_NO_CACHE", "GROUNDING_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
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


def fetch(url: str | Path) -> dict[str, bytes]:
    """The files of an address, as they lie in the cache afterwards."""
    address = parse_address(url)
    assert address is not None
    fetching.fetch(address)
    return content(address.data)


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
