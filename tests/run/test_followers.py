"""Passes that follow another work on what it gives while it is still at work."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from grounding.errors import UserError
from grounding.records import Failure, Record
from grounding.run.benchmark import Pass
from grounding.run.display import Progress
from grounding.run.journal import Journal
from grounding.run.session import _stream


class Made(Record, frozen=True, kw_only=True):
    step_id: str
    key: str
    failure: Failure | None = None


class Making:
    """A stage that notes when it makes what."""

    max_concurrency = 1

    def __init__(self, name: str, folder: Path, log: list[str], fails: str = "") -> None:
        self.name, self.log, self.fails = name, log, fails
        self.journal: Journal[Made] = Journal(folder / f"{name}.jsonl", Made)

    def item_id(self, item: str) -> str:
        return item

    def key(self, item: str, earlier: Any) -> str:  # noqa: ARG002
        return "k"

    async def run(self, item: str, earlier: Any, key: str) -> Made:  # noqa: ARG002
        await asyncio.sleep(0.02)
        if item == self.fails:
            raise UserError(f"{self.name} can't go on")
        self.log.append(f"{self.name} {item}")
        return Made(step_id=item, key=key)


def passes(folder: Path, log: list[str], fails: str = "") -> Pass:
    def one(name: str, **more: Any) -> Pass:
        progress = Progress("none", {"made": "green"}, ("made",))
        stage = Making(name, folder, log, fails if name == "judge" else "")

        async def check() -> None:
            log.append(f"check {name}")

        return Pass(stage=stage, items=(), progress=progress, outcome=lambda *_: "made", check=check, **more)

    judge = one("judge")
    read = one("read", gives=lambda item, _: [item], followers=(judge,))
    find = one("find", gives=lambda item, _: [f"{item}1", f"{item}2"], followers=(read,))
    return Pass(**{**{name: getattr(find, name) for name in Pass.__dataclass_fields__}, "items": ("a", "b", "c")})


def test_what_is_found_is_read_and_judged_while_more_is_looked_for(tmp_path: Path) -> None:
    log: list[str] = []
    first = passes(tmp_path, log)
    assert asyncio.run(_stream(first)) == ""
    # All are checked before anything is asked, and the first is judged before the last is found.
    assert log[:3] == ["check find", "check read", "check judge"]
    assert log.index("judge a1") < log.index("find c")
    assert [one for one in log if one.startswith("judge")] == [f"judge {x}{n}" for x in "abc" for n in (1, 2)]
    again: list[str] = []
    assert asyncio.run(_stream(passes(tmp_path, again))) == ""
    assert again == []


def test_one_that_can_not_go_on_ends_the_others_with_what_they_had_begun(tmp_path: Path) -> None:
    log: list[str] = []
    first = passes(tmp_path, log, fails="a1")
    with pytest.raises(UserError, match="judge can't go on"):
        asyncio.run(_stream(first))
    kept = (tmp_path / "find.jsonl").read_text().splitlines()
    assert 1 <= len(kept) <= 3
    assert len([one for one in log if one.startswith("find")]) == len(kept)
