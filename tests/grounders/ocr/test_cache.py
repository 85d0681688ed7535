from __future__ import annotations

from pathlib import Path

import pytest

from grounding.grounders.ocr.cache import BoundedCache, DiskCache
from tests.grounders.ocr.screens import line, screen

SHA256 = "ab" * 32


def test_the_value_used_longest_ago_gives_way() -> None:
    cache: BoundedCache[int] = BoundedCache(2)
    cache.put(b"a", 1)
    cache.put(b"b", 2)
    assert cache.get(b"a") == 1
    cache.put(b"c", 3)
    assert cache.get(b"b") is None
    assert (cache.get(b"a"), cache.get(b"c")) == (1, 3)
    assert (cache.hits, cache.misses) == (3, 1)


def test_a_value_is_made_once() -> None:
    cache: BoundedCache[int] = BoundedCache(2)
    made: list[int] = []
    for _ in range(3):
        assert cache.get_or_make(b"a", lambda: made.append(1) or 7) == 7
    assert len(made) == 1


def test_a_screen_survives_the_process(tmp_path: Path) -> None:
    read = screen(line("Add to cart", 10, 10))
    DiskCache(tmp_path).put(SHA256, read)
    assert DiskCache(tmp_path).get(SHA256) == read
    assert [path.name for path in tmp_path.iterdir()] == [f"{SHA256}.json"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"lines": 3}', b"\xff\xfe", b"null"])
def test_a_corrupt_file_is_no_screen(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"{SHA256}.json").write_bytes(content)
    cache = DiskCache(tmp_path)
    assert cache.get(SHA256) is None
    cache.put(SHA256, screen())
    assert cache.get(SHA256) == screen()


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file" / "ocr")
    cache.put(SHA256, screen())
    assert cache.get(SHA256) is None


def test_a_folder_in_the_place_of_the_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / f"{SHA256}.json" / "x").mkdir(parents=True)
    cache = DiskCache(tmp_path)
    cache.put(SHA256, screen())
    assert cache.get(SHA256) is None
    assert not list(tmp_path.glob(".new-*"))


def test_only_hashes_become_file_names(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "ocr")
    cache.put("../escape", screen())
    assert list(tmp_path.rglob("*")) == []


def test_the_folder_is_the_users_and_the_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    DiskCache.for_engine("one engine").put(SHA256, screen())
    (file,) = tmp_path.rglob("*.json")
    assert file.relative_to(tmp_path).parts[:2] == ("grounding", "ocr")
    assert DiskCache.for_engine("another engine").get(SHA256) is None
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    assert DiskCache.for_engine("one engine").get(SHA256) is None
