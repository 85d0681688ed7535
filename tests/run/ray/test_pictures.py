"""Screenshots for workers on other machines: at the same path, or from the process that writes the run, once."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from grounding.records import Screenshot, Size
from grounding.run.ray import worker
from grounding.run.ray.worker import picture_here

BYTES = b"\x89PNG picture"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(worker, "_store", lambda: tmp_path / "pictures")


def shot(path: Path | str) -> Screenshot:
    return Screenshot(path=str(path), size=Size(width=4, height=3), sha256=hashlib.sha256(BYTES).hexdigest())


class Writer:
    def __init__(self, content: bytes | None = None) -> None:
        self.content, self.asked = content, list[str]()

    async def __call__(self, path: str) -> bytes | None:
        self.asked.append(path)
        return self.content


def test_a_picture_at_its_path_is_asked_of_nobody(tmp_path: Path) -> None:
    path, writer = tmp_path / "a.png", Writer()
    path.write_bytes(BYTES)
    assert asyncio.run(picture_here(shot(path), writer)) == shot(path)
    assert writer.asked == []


def test_one_that_is_not_here_comes_once_and_is_kept_for_other_workers(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(b"another")
    writer = Writer(BYTES)
    for _ in range(2):
        for path in ("/not/here/a.png", tmp_path / "b.png"):
            found = Path(asyncio.run(picture_here(shot(path), writer)).path)
            assert (found.read_bytes(), found.suffix) == (BYTES, ".png")
            assert found.is_relative_to(tmp_path / "pictures")
    assert writer.asked == ["/not/here/a.png"]


@pytest.mark.parametrize("content", [None, b"wrong"])
def test_one_that_nobody_has_is_an_error(content: bytes | None) -> None:
    with pytest.raises(OSError, match=r"/not/here\.png is not on this machine, and the process that writes the run"):
        asyncio.run(picture_here(shot("/not/here.png"), Writer(content)))
