"""Screenshots for workers: found at their path, where the data came from, or at the writer; fetched once, checked."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from pathlib import Path

import pytest

from grounding.executors.recipe import DataPlace
from grounding.records import Screenshot, Size
from grounding.sources import pictures, single
from grounding.sources.picture_store import PictureStore, stored_pictures
from grounding.sources.pictures import located

from .test_archives import make_tar, make_zip
from .web import Web

BYTES = b"\x89PNG picture"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_checked", {})
    for cached in (pictures._store, single._opened, single._zip):
        cached.cache_clear()


def shot(path: Path | str, content: bytes = BYTES) -> Screenshot:
    return Screenshot(path=str(path), size=Size(width=4, height=3), sha256=hashlib.sha256(content).hexdigest())


class Writer:
    """The process that writes the run: sends what it has, slowly."""

    def __init__(self, content: bytes | None = None) -> None:
        self.content, self.asked = content, 0

    async def __call__(self, _: Screenshot) -> bytes | None:
        self.asked += 1
        await asyncio.sleep(0.05)
        return self.content


def test_a_picture_at_its_path(tmp_path: Path) -> None:
    path, writer = tmp_path / "a.png", Writer()
    path.write_bytes(BYTES)
    one = shot(path)

    async def both() -> None:
        assert await located(one, None, writer) is one
        assert await located(one, None, writer) == one
        path.write_bytes(b"another")
        with pytest.raises(OSError, match="another one here; the process that writes the run can't read it"):
            await located(one, None, writer)

    asyncio.run(both())
    assert writer.asked == 1


def test_the_usual_case_takes_microseconds(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(os.urandom(1 << 20))
    one = shot(path, path.read_bytes())

    async def often() -> float:
        await located(one, None, Writer())
        started = time.process_time()
        for _ in range(10_000):
            await located(one, None, Writer())
        return (time.process_time() - started) / 10_000

    assert asyncio.run(often()) < 100e-6  # Of the processor's time; a hash of this file takes half a millisecond.


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_from_where_the_data_came(web: Web, kind: str, cache: Path) -> None:
    files = {"1/images/a b.png": BYTES, "1/images/c.png": b"c" * 50}
    (web.folder / "set/1/images").mkdir(parents=True)
    for name, content in files.items():
        (web.folder / "set" / name).write_bytes(content)
    make_zip(web.folder / "set.zip", files)
    make_tar(web.folder / "set.tar.gz", files)
    address = {"folder": "set/", "zip": "set.zip", "tar": "set.tar.gz"}[kind]
    place = DataPlace(root="/not/here/set", url=f"{web.url}{address}")
    writer = Writer(BYTES)

    async def several() -> None:
        one = shot("/not/here/set/1/images/a b.png")
        found = await asyncio.gather(*(located(one, place, writer) for _ in range(20)))
        assert len(set(found)) == 1
        path = Path(found[0].path)
        assert (path.read_bytes(), path.suffix) == (BYTES, ".png")
        assert path.is_relative_to(cache.parent / "pictures")
        asked = len(web.asked)
        assert (await located(one, place, writer)) == found[0]
        # Another step over the same picture, in another data set, needs no request either.
        assert (await located(shot("/other/a.png"), None, writer)).path == found[0].path
        assert len(web.asked) == asked

    asyncio.run(several())
    assert writer.asked == (1 if kind == "tar" else 0)
    assert web.gets().count("/set/1/images/a b.png") == (1 if kind == "folder" else 0)


def test_what_was_tried_is_said(web: Web) -> None:
    (web.folder / "a.png").write_bytes(b"changed")
    place, other = DataPlace(root="/not/here", url=web.url), DataPlace(root="/not/here", url="https://…@h.org/x/?…")

    async def trying() -> list[str]:
        said = []
        for one, where, writer in (
            (shot("/not/here/a.png"), place, Writer()),
            (shot("/not/here/b.png"), place, Writer(b"wrong")),
            (shot("/not/here/../../etc/passwd"), place, Writer()),
            (shot("/elsewhere/b.png"), place, Writer()),
            (shot("/not/here/b.png"), other, Writer()),
            (shot("/not/here/b.png"), None, Writer()),
        ):
            with pytest.raises(OSError, match="can't be read on this machine") as raised:
                await located(one, where, writer)
            said.append(str(raised.value))
        return said

    said = asyncio.run(trying())
    assert "another picture by now at" in said[0]
    assert "not from http" in said[1]
    assert "has another picture there" in said[1]
    assert "leads out of its folder" in said[2]
    assert "not one of the files of" in said[3]
    assert "single files of https://…@h.org/x/?… can't be read" in said[4]
    assert all("not at this path" in each for each in said)
    assert pictures._under_way == {}


def test_who_asks_first_may_leave() -> None:
    async def leaving() -> Screenshot:
        writer = Writer(BYTES)
        first = asyncio.create_task(located(shot("/not/here.png"), None, writer))
        await asyncio.sleep(0)
        second = asyncio.create_task(located(shot("/not/here.png"), None, writer))
        await asyncio.sleep(0.01)
        first.cancel()
        found = await second
        assert (first.cancelled(), writer.asked) == (True, 1)
        return found

    assert Path(asyncio.run(leaving()).path).read_bytes() == BYTES


def test_pictures_that_vanish_are_fetched_again() -> None:
    async def twice() -> int:
        writer = Writer(BYTES)
        found = await located(shot("/not/here.png"), None, writer)
        Path(found.path).unlink()
        assert Path((await located(shot("/not/here.png"), None, writer)).path).read_bytes() == BYTES
        return writer.asked

    assert asyncio.run(twice()) == 2


def test_the_store_stays_bounded(tmp_path: Path) -> None:
    store = PictureStore(tmp_path / "p", most_bytes=10_000)
    paths = []
    for number in range(30):
        content = bytes([number]) * 1000
        paths.append(store.put(hashlib.sha256(content).hexdigest(), content, ".png"))
        if number < 20:
            # As if it was last used hours ago, the first one longest.
            old = time.time() - 100_000 + number
            os.utime(paths[-1], (old, old))
    left = [path for path in paths if path.exists()]
    assert left == paths[-len(left) :]
    assert 9 <= len(left) <= 11  # The last ten are of this hour and stay.
    assert stored_pictures(tmp_path / "p", before=time.time() - 3600) == tuple(
        sorted(path for path in left if path.stat().st_mtime < time.time() - 3600)
    )


def test_the_store_trusts_nobody(tmp_path: Path) -> None:
    store = PictureStore(tmp_path / "p", most_bytes=10_000)
    digest = hashlib.sha256(BYTES).hexdigest()
    with pytest.raises(ValueError, match="another hash"):
        store.put("0" * 64, BYTES)
    path = store.put(digest, BYTES, "../../x")
    assert path.name == digest
    assert store.get(digest) == path
    assert store.get("../../etc/passwd") is None
    path.write_bytes(b"damaged")
    assert store.get(digest) is None


def test_no_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    found = asyncio.run(located(shot("/not/here.png"), None, Writer(BYTES)))
    assert Path(found.path).read_bytes() == BYTES
