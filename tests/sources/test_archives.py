"""Archives, honest and hostile, on this machine and on a web server."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.sources import bounds, zips
from grounding.sources.address import parse_address
from grounding.sources.syncing import sync
from grounding.sources.zips import Zip, ZipMember, grouped

from .web import Web

FILES = {"set/1/a.png": b"a" * 70_000, "set/1/b.png": bytes(range(256)) * 300, "set/ä ö.json": b"{}", "x": b""}


def fetch(url: str | Path) -> dict[str, bytes]:
    address = parse_address(str(url))
    assert address is not None
    folder = sync(address)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def make_zip(path: Path, files: Mapping[str, bytes] = FILES, *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        packed.mkdir("set")
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def make_tar(path: Path, files: Mapping[str, bytes] = FILES, *, mode: str = "w:gz", prefix: str = "./") -> Path:
    with tarfile.open(path, mode) as packed:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_of_this_machine(tmp_path: Path, method: int) -> None:
    assert fetch(make_zip(tmp_path / "data.zip", method=method)) == FILES


@pytest.mark.parametrize(
    ("name", "mode"),
    [("d.tar.gz", "w:gz"), ("d.tgz", "w:gz"), ("d.tar", "w"), ("d.tar.bz2", "w:bz2"), ("d.txz", "w:xz")],
)
def test_a_tar_of_this_machine(tmp_path: Path, name: str, mode: str) -> None:
    assert fetch(make_tar(tmp_path / name, mode=mode)) == FILES


def test_only_a_folder_of_an_archive(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "data.zip")
    assert fetch(f"zip://set/1::{archive}") == {"a.png": FILES["set/1/a.png"], "b.png": FILES["set/1/b.png"]}
    archive = make_tar(tmp_path / "data.tgz")
    assert fetch(f"tar://set/1::{archive}") == {"a.png": FILES["set/1/a.png"], "b.png": FILES["set/1/b.png"]}
    with pytest.raises(UserError, match="no file in its folder nothing"):
        fetch(f"zip://nothing::{tmp_path / 'data.zip'}")


def test_a_remote_zip_is_read_in_parts(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "_GROUP_BYTES", 100_000)
    big = {f"set/{number}.png": bytes([number]) * 90_000 for number in range(30)}
    make_zip(web.folder / "data.zip", big, method=zipfile.ZIP_STORED)
    assert fetch(f"{web.url}data.zip") == big
    assert all(asked for method, _, asked in web.asked if method == "GET")
    before = len(web.asked)
    # Of one folder of a large zip no more comes than the directory and that folder.
    assert fetch(f"zip://set::{web.url}data.zip").keys() == {name.removeprefix("set/") for name in big}
    assert len(web.asked) > before


def test_only_changed_members_of_a_remote_zip_come_again(web: Web) -> None:
    files = {f"{number}.bin": bytes([number]) * 400_000 for number in range(12)}
    make_zip(web.folder / "data.zip", files, method=zipfile.ZIP_STORED)
    assert fetch(f"{web.url}data.zip") == files
    web.asked.clear()
    assert fetch(f"{web.url}data.zip") == files
    assert web.gets() == []  # The same archive: nothing but its size and ETag is looked at.
    files["5.bin"] = b"new" * 100_000
    del files["6.bin"]
    make_zip(web.folder / "data.zip", files, method=zipfile.ZIP_STORED)
    assert fetch(f"{web.url}data.zip") == files
    asked = [one.removeprefix("bytes=").split("-") for method, _, one in web.asked if method == "GET"]
    assert sum(int(last) - int(first) + 1 for first, last in asked) < 2_000_000  # Of 4.7 MB.


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_server_without_ranges(web: Web, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    web.ranges = False
    files = {f"{number}.bin": bytes([number % 250]) * 100_000 for number in range(30)}
    path = web.folder / f"data.{kind}"
    (make_zip(path, files, method=zipfile.ZIP_STORED) if kind == "zip" else make_tar(path, files))
    assert fetch(f"{web.url}data.{kind}") == files
    said = capsys.readouterr().err
    assert ("sends no parts of files" in said) == (kind == "zip")
    assert "30 files" in said


def test_a_download_link_without_a_telling_name(web: Web) -> None:
    (web.folder / "files").mkdir()
    make_zip(web.folder / "files" / "content")
    make_tar(web.folder / "files" / "other")
    assert fetch(f"{web.url}files/content?download=1") == FILES
    assert fetch(f"{web.url}files/other") == FILES
    web.types["/files/content"] = "application/zip"
    assert fetch(f"{web.url}files/content?download=2") == FILES
    (web.folder / "picture").write_bytes(b"\x89PNG")
    with pytest.raises(UserError, match="neither zip nor tar"):
        fetch(f"{web.url}picture")


HOSTILE = ["../out", "/abs", "a/../../out", "a\\b", "a//b", "C:/x", ".."]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    before = set(tmp_path.parent.rglob("out")) | set(Path("/").glob("abs"))
    make_tar(tmp_path / "bad.tar", {"fine": b"1", name: b"2"}, mode="w", prefix="")
    with pytest.raises(UserError, match="not unpacked"):
        fetch(tmp_path / "bad.tar")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as packed:
        info = zipfile.ZipInfo("x")
        info.filename = name
        packed.writestr(info, b"2")
    with pytest.raises(UserError, match="not unpacked"):
        fetch(tmp_path / "bad.zip")
    assert set(tmp_path.parent.rglob("out")) | set(Path("/").glob("abs")) == before


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_tar_with_links_or_devices(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "bad.tar", "w") as packed:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        packed.addfile(info)
    with pytest.raises(UserError, match="link or a device"):
        fetch(tmp_path / "bad.tar")


def test_a_zip_with_a_link_or_a_password(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as packed:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(info, "/etc/passwd")
    with pytest.raises(UserError, match="is a link"):
        fetch(tmp_path / "bad.zip")
    content = bytearray(make_zip(tmp_path / "locked.zip", {"a": b"1"}).read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    with pytest.raises(UserError, match="encrypted"):
        fetch(tmp_path / "locked.zip")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "HARMLESS_BYTES", 1 << 20)
    bomb = {"zeros": bytes(8 << 20)}
    make_zip(tmp_path / "bomb.zip", bomb)
    make_tar(tmp_path / "bomb.tar.gz", bomb)
    for name in ("bomb.zip", "bomb.tar.gz"):
        with pytest.raises(UserError, match="made to fill a disk"):
            fetch(tmp_path / name)
    monkeypatch.setattr(bounds, "MOST_RATIO", 2000)
    assert fetch(tmp_path / "bomb.zip") == bomb


def test_too_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(UserError, match="make room"):
        fetch(make_zip(tmp_path / "data.zip"))


def test_damaged_archives(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "data.zip", {"a": b"a" * 1000}, method=zipfile.ZIP_STORED)
    content = archive.read_bytes()
    archive.write_bytes(content.replace(b"aaaa", b"aaab", 1))
    with pytest.raises(UserError, match="can't be unpacked"):
        fetch(archive)
    archive.write_bytes(content[:-30])
    with pytest.raises(UserError, match="not a whole zip"):
        fetch(archive)
    archive = make_tar(tmp_path / "data.tar.gz", {"a": bytes(range(256)) * 1000})
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(UserError, match="not a whole tar"):
        fetch(archive)
    make_tar(tmp_path / "twice.tar", {"a": b"1"}, mode="w")
    with tarfile.open(tmp_path / "twice.tar", "a") as packed:
        packed.addfile(tarfile.TarInfo("a"))
    with pytest.raises(UserError, match="there twice"):
        fetch(tmp_path / "twice.tar")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from([f"{folder}/{name}" for folder in "abc" for name in "123456"]),
        st.binary(max_size=3000),
        min_size=1,
    ),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]),
    st.integers(100, 4000),
)
def test_any_zip_comes_out_as_it_went_in(
    tmp_path: Path, files: dict[str, bytes], method: int, group_bytes: int
) -> None:
    content = make_zip(tmp_path / "any.zip", files, method=method).read_bytes()
    before, zips._GROUP_BYTES = zips._GROUP_BYTES, group_bytes
    found: dict[str, bytes] = {}

    def read(start: int, end: int) -> bytes:
        assert 0 <= start < end <= len(content)
        return content[start:end]

    try:
        packed = Zip("any", read, len(content))
        for group in grouped(packed.members()):
            part = tmp_path / "part"

            def put(member: ZipMember, part: Path = part) -> None:
                found[member.path] = part.read_bytes()

            packed.unpack(group, part, put)
    finally:
        zips._GROUP_BYTES = before
    assert found == files
