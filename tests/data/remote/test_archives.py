"""Archives, honest and hostile, on this machine and on a web server, and the names in them."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.data import fetch as fetching
from grounding.data.address import UnsafePath, safe_path
from grounding.errors import UserError

from .conftest import fetch
from .web import Web

FILES = {"set/1/a.png": b"a" * 70_000, "set/1/b.png": bytes(range(256)) * 300, "set/ä ö.json": b"{}", "x": b""}


def make_zip(path: Path, files: Mapping[str, bytes] = FILES, *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        packed.mkdir("set")
        for name, each in files.items():
            packed.writestr(name, each)
    return path


def make_tar(path: Path, files: Mapping[str, bytes] = FILES, *, mode: str = "w:gz", prefix: str = "./") -> Path:
    with tarfile.open(path, mode) as packed:  # type: ignore[call-overload]
        for name, each in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(each)
            packed.addfile(info, io.BytesIO(each))
    return path


def test_archives_of_this_machine(tmp_path: Path) -> None:
    assert fetch(make_zip(tmp_path / "data.zip", method=zipfile.ZIP_LZMA)) == FILES
    for name, mode in (("d.tar.gz", "w:gz"), ("d.tar", "w"), ("d.tar.bz2", "w:bz2"), ("d.txz", "w:xz")):
        assert fetch(make_tar(tmp_path / name, mode=mode)) == FILES
    part = {"a.png": FILES["set/1/a.png"], "b.png": FILES["set/1/b.png"]}
    assert fetch(f"zip://set/1::{tmp_path / 'data.zip'}") == fetch(f"tar://set/1::{tmp_path / 'd.tar'}") == part
    with pytest.raises(UserError, match="no file in its folder nothing"):
        fetch(f"zip://nothing::{tmp_path / 'data.zip'}")
    with pytest.raises(UserError, match="no such file"):
        fetch(tmp_path / "none.zip")


def test_a_remote_archive_comes_once_and_goes_on_where_it_broke_off(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "CHUNK_BYTES", 1_000_000)
    files = {f"{number // 10}/{number}.bin": os.urandom(500_000) for number in range(20)}
    make_zip(web.folder / "data.zip", files, method=zipfile.ZIP_STORED)
    web.statuses_after = {"/data.zip": (5, 403)}
    with pytest.raises(UserError, match="may not be read"):
        fetch(f"{web.url}data.zip")
    web.statuses_after = {}
    web.asked.clear()
    assert fetch(f"{web.url}data.zip") == files
    ranges = [asked for method, _, asked in web.asked if method == "GET"]
    assert int(ranges[0].removeprefix("bytes=").partition("-")[0]) >= 3_000_000
    assert fetch(f"zip://1::{web.url}data.zip") == {
        f"{number}.bin": files[f"1/{number}.bin"] for number in range(10, 20)
    }
    web.asked.clear()
    assert fetch(f"{web.url}data.zip") == files
    assert web.gets() == []  # The same archive: nothing but its size and ETag is looked at.
    make_zip(web.folder / "data.zip", files := {"0/5.bin": b"new"}, method=zipfile.ZIP_STORED)
    assert fetch(f"{web.url}data.zip") == files


@pytest.mark.parametrize("name", ["../out", "/abs", "a/../../out", "a\\b", "a//b", "C:/x", ".."])
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    make_tar(tmp_path / "bad.tar", {"fine": b"1", name: b"2"}, mode="w", prefix="")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as packed:
        info = zipfile.ZipInfo("x")
        info.filename = name
        packed.writestr(info, b"2")
    before = set(tmp_path.parent.rglob("out")) | set(Path("/").glob("abs"))
    for archive in ("bad.tar", "bad.zip"):
        with pytest.raises(UserError, match="not unpacked"):
            fetch(tmp_path / archive)
    assert set(tmp_path.parent.rglob("out")) | set(Path("/").glob("abs")) == before


def test_links_devices_passwords_and_two_of_a_name(tmp_path: Path) -> None:
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
        with tarfile.open(tmp_path / "bad.tar", "w") as packed:
            member = tarfile.TarInfo("link")
            member.type, member.linkname = kind, "/etc/passwd"
            packed.addfile(member)
        with pytest.raises(UserError, match="link or a device"):
            fetch(tmp_path / "bad.tar")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as zipped:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        zipped.writestr(info, "/etc/passwd")
    with pytest.raises(UserError, match="is a link"):
        fetch(tmp_path / "bad.zip")
    content = bytearray(make_zip(tmp_path / "locked.zip", {"a": b"1"}).read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    with pytest.raises(UserError, match="encrypted"):
        fetch(tmp_path / "locked.zip")
    make_tar(tmp_path / "twice.tar", {"a": b"1"}, mode="w")
    with tarfile.open(tmp_path / "twice.tar", "a") as packed:
        packed.addfile(tarfile.TarInfo("a"))
    with pytest.raises(UserError, match="there twice"):
        fetch(tmp_path / "twice.tar")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "HARMLESS_BYTES", 1 << 20)
    bomb = {"zeros": bytes(8 << 20)}
    for archive in (make_zip(tmp_path / "bomb.zip", bomb), make_tar(tmp_path / "bomb.tar.gz", bomb)):
        with pytest.raises(UserError, match="made to fill a disk"):
            fetch(archive)
    with tarfile.open(tmp_path / "header.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as packed:
        packed.addfile(tarfile.TarInfo("a" * (4 << 20)))
    with pytest.raises(UserError, match="a header of"):
        fetch(tmp_path / "header.tar.gz")
    monkeypatch.setattr(fetching, "MOST_RATIO", 2000)
    assert fetch(tmp_path / "bomb.zip") == bomb


_PARTS = st.sampled_from(["", ".", "..", "a", "b c", "é", "~", "C:", "a\\b", "x" * 300, "\0", "\n", "..\\x"])


@given(st.one_of(st.lists(_PARTS, max_size=6).map("/".join), st.text(max_size=40)))
def test_a_safe_path_stays_inside(name: str) -> None:
    try:
        path = safe_path(name)
    except UnsafePath:
        return
    assert os.path.normpath(f"/folder/{path}") == f"/folder/{path}"  # Nothing that a file system would take away.
    assert safe_path(path) == path
    assert "\0" not in path
