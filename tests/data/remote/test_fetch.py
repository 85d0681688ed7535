"""A folder elsewhere and its copy here: fetched once, continued after a kill, never half."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grounding.data import fetch as fetching
from grounding.data import filesystems
from grounding.data.fetch import cached_sources, forget
from grounding.data.option import local_folder
from grounding.errors import UserError

from .conftest import content, fetch
from .test_archives import make_zip
from .web import Web

PATIENCE_S = 120


def fill(web: Web, count: int = 12, size: int = 1000) -> dict[str, bytes]:
    files = {f"{number % 3}/p {number}.png": bytes([number]) * size for number in range(count)} | {"ü&<x>.json": b"{}"}
    for name, each in files.items():
        path = web.folder / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(each)
    return files


def elsewhere(url: str) -> subprocess.Popen[str]:
    """Another process that fetches, says what came, and reads it until its input ends."""
    code = """import sys
from grounding.data.option import local_folder, ready
folder = ready(local_folder(sys.argv[1]))
print(sum(1 for one in folder.rglob("*") if one.is_file()), flush=True)
sys.stdin.read()
"""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code, url], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_only_what_is_new_or_changed_comes_again(web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    files, url = fill(web), f"{web.url}set/"
    web.broken = {"/set/0/p 3.png": 2, "/set/1/p 1.png": 1}  # A connection that breaks is tried again.
    assert fetch(url) == files
    assert f"{url}: 13 files, 12.0 kB in" in capsys.readouterr().err
    web.asked.clear()
    assert fetch(url) == files
    assert (web.gets(), capsys.readouterr().err) == ([], "")
    (web.folder / "set/0/p 3.png").write_bytes(b"new")
    (web.folder / "set/7.png").write_bytes(b"more")
    shutil.rmtree(web.folder / "set/1")
    (web.folder / "set/1").write_bytes(b"a folder became a file")
    assert fetch(url) == {
        **{name: each for name, each in files.items() if not name.startswith("1/")},
        **{"0/p 3.png": b"new", "7.png": b"more", "1": b"a folder became a file"},
    }
    assert sorted(web.gets()) == ["/set/0/p 3.png", "/set/1", "/set/7.png"]


def test_a_server_that_says_no(web: Web) -> None:
    fill(web)
    web.statuses["/set/0/p 3.png"] = 403
    web.redirects["/set/x.zip"] = "http://198.51.100.1/x.zip"
    for url, said in (
        (f"{web.url}set/", "may not be read"),
        (f"{web.url}other/", "nothing there"),
        (f"{web.url}set/x.zip", "x.zip"),
        ("https://127.0.0.1:1/x/", "nobody answers"),
        ("nosuch://bucket/x", "fsspec can't open it"),
    ):
        with pytest.raises(UserError, match=said):
            fetch(url)
    assert cached_sources() == ()  # Nothing came: no folder was made.


def test_large_files_go_on_where_they_broke_off(web: Web, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "CHUNK_BYTES", 100_000)
    (web.folder / "set").mkdir()
    large, url = os.urandom(1_050_000), f"{web.url}set/"
    (web.folder / "set" / "large.bin").write_bytes(large)
    web.statuses_after = {"/set/large.bin": (5, 403)}
    with pytest.raises(UserError, match="may not be read"):
        fetch(url)
    assert not list(cache.glob("*/files"))
    web.statuses_after = {}
    web.asked.clear()
    assert fetch(url) == {"large.bin": large}
    ranges = [asked for method, path, asked in web.asked if method == "GET" and path.endswith(".bin")]
    assert int(ranges[0].removeprefix("bytes=").partition("-")[0]) >= 300_000
    web.ranges = False  # Then it comes in one piece.
    (web.folder / "set" / "large.bin").write_bytes(large[::-1])
    assert fetch(url) == {"large.bin": large[::-1]}


@pytest.mark.slow
def test_killed_in_the_middle_and_resumed(web: Web, cache: Path) -> None:
    files, url = fill(web, count=60, size=300_000), f"{web.url}set/"
    web.slow_s = 0.05
    process, deadline = elsewhere(url), time.monotonic() + PATIENCE_S
    while sum(1 for _ in cache.glob("*/partial/set/*/*.png")) < 10 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    there = content(next(cache.glob("*/partial/set")))
    assert 10 <= len(there) < len(files)
    assert all(files[name] == each for name, each in there.items())
    assert not list(cache.glob("*/files"))
    assert "(not all of it)" in cached_sources()[0].shown
    web.slow_s = 0.0
    web.asked.clear()
    assert fetch(url) == files
    assert len(web.gets()) == len(files) - len(there)


@pytest.mark.slow
def test_two_processes_fetch_once(web: Web) -> None:
    files, url = fill(web, count=40, size=100_000), f"{web.url}set/"
    web.slow_s = 0.05
    said = [process.communicate(input="", timeout=PATIENCE_S) for process in [elsewhere(url) for _ in range(2)]]
    assert [out for out, _ in said] == [f"{len(files)}\n"] * 2
    assert sorted(web.gets()) == sorted(f"/set/{name}" for name in files)


def test_the_cache_is_listed_and_cleared(web: Web) -> None:
    fill(web)
    fetch(f"{web.url}set/")
    (kept,) = cached_sources()
    assert (kept.shown, kept.size_bytes > 11_000) == (f"{web.url}set/", True)
    assert cached_sources(before=time.time() - 3600) == ()
    forget(kept)
    assert cached_sources() == ()


def test_without_a_network(web: Web, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    files, url = fill(web), f"{web.url}set/"
    monkeypatch.setenv("GROUNDING_OFFLINE", "1")
    with pytest.raises(UserError, match="no copy from before"):
        fetch(url)
    monkeypatch.setenv("GROUNDING_OFFLINE", "0")
    fetch(url)
    monkeypatch.setenv("GROUNDING_OFFLINE", "1")
    web.asked.clear()
    assert (fetch(url), web.asked) == (files, [])
    monkeypatch.delenv("GROUNDING_OFFLINE")
    web.__exit__()
    capsys.readouterr()
    assert fetch(url) == files
    assert "nobody answers" in (said := capsys.readouterr().err)
    assert "the copy from before is used" in said


def test_no_room_no_package_and_no_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(UserError, match="make room"):
        fetch(make_zip(tmp_path / "data.zip"))
    for gone, url in (
        ("s3fs", "zip::s3://bucket/x.zip"),
        ("huggingface_hub", "owner/name"),
        ("fsspec", "memory://bucket/x"),
    ):
        monkeypatch.setattr(filesystems, "find_spec", lambda name, gone=gone: None if name == gone else object())
        with pytest.raises(UserError, match=rf"pip install '.*\[(s3|remote)\]' \(or pip install {gone}\)"):
            fetch(url)
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    with pytest.raises(UserError, match="unset GROUNDING_NO_CACHE"):
        local_folder("memory://bucket/x")


def test_nothing_secret_is_written(web: Web, cache: Path) -> None:
    files = fill(web)
    assert fetch(f"{web.url.replace('://', '://user:geheim@')}set/?sig=s3cr3t") == files
    written = b"".join(path.read_bytes() for path in cache.rglob("*") if path.is_file())
    assert b"geheim" not in written
    assert b"s3cr3t" not in written
    assert "…@127.0.0.1" in cached_sources()[0].shown
