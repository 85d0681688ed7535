"""A folder elsewhere and its copy here: fetched once, continued after a kill, never half."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from grounding.errors import UserError
from grounding.sources import bounds, reading
from grounding.sources.address import parse_address
from grounding.sources.kept import SourceFolder, SourceState, forget, kept_sources
from grounding.sources.syncing import sync

from .web import Web

PATIENCE_S = 120


def fetch(url: str) -> dict[str, bytes]:
    address = parse_address(url)
    assert address is not None
    return content(sync(address))


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fill(web: Web, count: int = 12, size: int = 1000) -> dict[str, bytes]:
    files = {f"set/{number % 3}/p {number}.png": bytes([number]) * size for number in range(count)}
    files["set/ü&<x>.json"] = b"{}"
    for name, each in files.items():
        path = web.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(each)
    return {name.removeprefix("set/"): each for name, each in files.items()}


def elsewhere(url: str, cache: Path, **environment: str) -> subprocess.Popen[str]:
    """Another process that fetches, and says what came."""
    code = (
        "import sys\nfrom grounding.sources.option import local_folder, ready\nfrom grounding.errors import UserError\n"
        "try:\n    folder = ready(local_folder(sys.argv[1]))\n"
        "except UserError as error:\n    sys.exit(f'no: {error}')\n"
        "print(sum(1 for one in folder.rglob('*') if one.is_file()), flush=True)\nsys.stdin.read()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache.parent.parent), **environment},
    )


def test_only_what_is_missing_or_changed_comes_again(web: Web, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, url = fill(web), f"{web.url}set/"
    assert fetch(url) == files
    assert sorted(web.gets()) == sorted(f"/set/{name}" for name in files)
    assert f"{url}: 13 files, 12.0 kB in" in capsys.readouterr().err
    web.asked.clear()
    assert fetch(url) == files
    assert (web.gets(), capsys.readouterr().err) == ([], "")

    folder = next(cache.glob("set-*/files/set"))
    (web.folder / "set/0/p 3.png").write_bytes(b"new")  # Changed there,
    (web.folder / "set/1/p 4.png").unlink()  # gone there,
    (web.folder / "set/7.png").write_bytes(b"more")  # new there,
    (folder / "2/p 2.png").unlink()  # gone here,
    (folder / "2/p 5.png").write_bytes(files["2/p 5.png"])  # touched here,
    (folder / "0/strange.png").write_bytes(b"")  # and what never was there.
    files |= {"0/p 3.png": b"new", "7.png": b"more"}
    del files["1/p 4.png"]
    assert fetch(url) == files
    assert sorted(web.gets()) == ["/set/0/p 3.png", "/set/2/p 2.png", "/set/2/p 5.png", "/set/7.png"]


def test_a_folder_becomes_a_file_and_back(web: Web) -> None:
    (web.folder / "set" / "a").mkdir(parents=True)
    (web.folder / "set" / "a" / "b").write_bytes(b"1")
    assert fetch(f"{web.url}set/") == {"a/b": b"1"}
    shutil.rmtree(web.folder / "set" / "a")
    (web.folder / "set" / "a").write_bytes(b"2")
    assert fetch(f"{web.url}set/") == {"a": b"2"}


def test_a_broken_connection_is_tried_again(web: Web) -> None:
    files = fill(web)
    web.broken = {"/set/0/p 3.png": 2, "/set/1/p 1.png": 1}
    assert fetch(f"{web.url}set/") == files


def test_a_server_that_says_no(web: Web) -> None:
    fill(web)
    web.statuses["/set/0/p 3.png"] = 403
    with pytest.raises(UserError, match="may not be read"):
        fetch(f"{web.url}set/")
    with pytest.raises(UserError, match="nothing there"):
        fetch(f"{web.url}other/")
    with pytest.raises(UserError, match="nobody answers"):
        fetch("https://127.0.0.1:1/x/")
    assert [one.shown for one in kept_sources()] == []  # Nothing came: no folder was made.


def test_no_redirection_to_plain_http(web: Web) -> None:
    fill(web)
    web.redirects["/set/x.zip"] = "http://198.51.100.1/x.zip"
    with pytest.raises(UserError):
        fetch(f"{web.url}set/x.zip")


def test_large_files_come_in_parts_and_go_on(web: Web, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK_BYTES", 100_000)
    (web.folder / "set").mkdir()
    large = os.urandom(1_050_000)
    (web.folder / "set" / "large.bin").write_bytes(large)
    url, real = f"{web.url}set/", reading.Ranges._read
    left = 4

    def failing(self: reading.Ranges, start: int, end: int) -> bytes:
        nonlocal left
        left -= 1
        if left < 0:
            raise PermissionError("enough")
        return real(self, start, end)

    monkeypatch.setattr(reading.Ranges, "_read", failing)
    with pytest.raises(UserError, match="enough"):
        fetch(url)
    assert not list(cache.glob("*/files/set/*"))
    monkeypatch.setattr(reading.Ranges, "_read", real)
    web.asked.clear()
    assert fetch(url) == {"large.bin": large}
    ranges = [asked for method, path, asked in web.asked if method == "GET" and path.endswith(".bin")]
    assert ranges[0] == "bytes=400000-499999"
    # Without ranges it comes in one piece.
    web.ranges = False
    (web.folder / "set" / "large.bin").write_bytes(large[::-1])
    assert fetch(url) == {"large.bin": large[::-1]}


@pytest.mark.slow
def test_killed_in_the_middle_and_resumed(web: Web, cache: Path) -> None:
    files, url = fill(web, count=60, size=300_000), f"{web.url}set/"
    web.slow_s = 0.05
    process = elsewhere(url, cache)
    deadline = time.monotonic() + PATIENCE_S
    while sum(1 for _ in cache.glob("*/files/set/*/*.png")) < 10 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    there = content(next(cache.glob("*/files/set")))
    assert 10 <= len(there) < len(files)
    assert all(files[name] == each for name, each in there.items())
    state = msgspec.json.decode(next(cache.glob("*/source.json")).read_bytes(), type=SourceState)
    assert not state.complete
    web.slow_s = 0.0
    web.asked.clear()
    assert fetch(url) == files
    assert len(web.gets()) <= len(files) - len(there) + 1  # One may have been moved and not yet noted.


@pytest.mark.slow
def test_two_processes_fetch_once(web: Web, cache: Path) -> None:
    files, url = fill(web, count=40, size=100_000), f"{web.url}set/"
    web.slow_s = 0.05
    both = [elsewhere(url, cache) for _ in range(2)]
    said = [process.communicate(input="", timeout=PATIENCE_S) for process in both]
    assert [out for out, _ in said] == [f"{len(files)}\n"] * 2
    assert sorted(web.gets()) == sorted(f"/set/{name}" for name in files)
    assert sum("waiting for it" in err for _, err in said) <= 1


def test_data_in_use_are_not_replaced(web: Web, cache: Path) -> None:
    files, url = fill(web), f"{web.url}set/"
    reader = elsewhere(url, cache)
    assert reader.stdout is not None
    assert reader.stdout.readline() == f"{len(files)}\n"
    (web.folder / "set/more.json").write_bytes(b"[]")
    assert fetch(url) == files | {"more.json": b"[]"}  # More may come;
    (web.folder / "set/0/p 3.png").write_bytes(b"new")
    with pytest.raises(UserError, match="another process works with the copy"):
        fetch(url)  # what is read may not go.
    with pytest.raises(UserError, match="another process works with"):
        forget(kept_sources()[0])
    reader.communicate(input="", timeout=PATIENCE_S)
    assert fetch(url)["0/p 3.png"] == b"new"


def test_without_a_network(
    web: Web, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, url = fill(web), f"{web.url}set/"
    monkeypatch.setenv("GROUNDING_OFFLINE", "1")
    with pytest.raises(UserError, match="no complete copy"):
        fetch(url)
    monkeypatch.setenv("GROUNDING_OFFLINE", "0")
    fetch(url)
    monkeypatch.setenv("GROUNDING_OFFLINE", "1")
    web.asked.clear()
    assert fetch(url) == files
    assert web.asked == []
    monkeypatch.delenv("GROUNDING_OFFLINE")
    web.server.shutdown()
    web.server.server_close()
    capsys.readouterr()
    assert fetch(url) == files
    assert "nobody answers" in (said := capsys.readouterr().err)
    assert "the copy from before is used" in said
    next(cache.glob("*/files/set/*.json")).unlink()
    with pytest.raises(UserError, match="nobody answers"):
        fetch(url)


def test_memory_as_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    fs = fsspec.filesystem("memory")
    fs.pipe({"/bucket/set/1/a.png": b"a", "/bucket/set/b.json": b"b", "/bucket/other": b"c"})
    assert fetch("memory://bucket/set") == {"1/a.png": b"a", "b.json": b"b"}
    fs.pipe("/bucket/bad/..\\x", b"")
    with pytest.raises(UserError, match="backslash"):
        fetch("memory://bucket/bad")
    with pytest.raises(UserError, match="one file and no folder"):
        fetch("memory://bucket/other")
    monkeypatch.setattr(bounds, "_SPARE_BYTES", 1 << 60)
    fs.pipe("/bucket/set/more.png", b"a")
    with pytest.raises(UserError, match="make room"):
        fetch("memory://bucket/set")


def test_no_package_and_no_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    from grounding.sources import opening

    monkeypatch.setattr(opening, "find_spec", lambda name: None if name == "s3fs" else object())
    with pytest.raises(UserError, match=r"pip install \"grounding\[s3\]\" \(or pip install s3fs\)"):
        fetch("s3://bucket/x")
    with pytest.raises(UserError, match=r"grounding\[s3\]"):
        fetch("zip::s3://bucket/x.zip")
    monkeypatch.setattr(opening, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"grounding\[remote\]"):
        fetch("memory://bucket/x")
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    with pytest.raises(UserError, match="unset GROUNDING_NO_CACHE"):
        fetch("memory://bucket/x")


def test_unknown_file_systems() -> None:
    with pytest.raises(UserError, match="fsspec can't open it"):
        fetch("nosuch://bucket/x")


def test_nothing_secret_is_written(web: Web, cache: Path) -> None:
    files = fill(web)
    fetch(f"{web.url.replace('://', '://user:geheim@')}set/?sig=s3cr3t")
    assert content(next(cache.glob("*/files/set"))) == files
    written = b"".join(path.read_bytes() for path in cache.glob("*/*") if path.is_file())
    assert b"geheim" not in written
    assert b"s3cr3t" not in written
    assert "…@127.0.0.1" in kept_sources()[0].shown


def test_the_cache_forgets(web: Web) -> None:
    fill(web)
    address = parse_address(f"{web.url}set/")
    assert address is not None
    sync(address)
    (kept,) = kept_sources()
    assert (kept.shown, kept.size_bytes > 12_000) == (f"{web.url}set/", True)
    assert kept_sources(before=time.time() - 3600) == ()
    forget(kept)
    assert kept_sources() == ()
    assert not SourceFolder(address).path.exists()
