"""The store of plans: what is kept, for whom, and what becomes of files that are not as they were written."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import msgspec
import pytest
from fakes.make import query
from hypothesis import given
from hypothesis import strategies as st

from grounding.cache import cached_files
from grounding.errors import UserError
from grounding.planners.base import Context
from grounding.planners.store import PlanStore, StoredPlanner, plan_store_dir
from grounding.records import Call, Failure, FailureKind, Plan, Query, Usage

URL = "http://127.0.0.1:8000/v1"
KEY = "k" * 32
CALL = Call(seconds=1.5, usage=Usage(input_tokens=10, output_tokens=2), cost_usd=0.25, model="m")
PLAN = Plan(step_id="1/1", key=KEY, text="Click é 点", raw=" Click é 点\n", call=CALL)


def store(folder: Path, planner: str = "thinker", url: str = URL) -> PlanStore:
    return PlanStore(folder / "store", planner, url)


def only_file(folder: Path) -> Path:
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    return path


# --- what is kept -------------------------------------------------------------------------------------------------


plans = st.builds(
    Plan,
    step_id=st.text(max_size=20),
    key=st.text("0123456789abcdef", min_size=1, max_size=32),
    text=st.none() | st.text(),
    raw=st.none() | st.text(),
    call=st.none() | st.just(CALL),
    failure=st.none() | st.builds(Failure, kind=st.sampled_from(["unparsed", "missing"]), message=st.text()),
)


@given(plans)
def test_whatever_a_model_said_is_found_again(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> None:
    folder = tmp_path_factory.mktemp("plans")
    store(folder).put(plan)
    assert store(folder).get(plan.key) == plan


@pytest.mark.parametrize("other", [{"planner": "other"}, {"url": "http://127.0.0.1:8001/v1"}])
def test_another_planner_and_another_address_find_nothing(tmp_path: Path, other: dict[str, str]) -> None:
    store(tmp_path).put(PLAN)
    assert store(tmp_path, **other).get(KEY) is None
    assert store(tmp_path).get("l" * 32) is None


@pytest.mark.parametrize(("kind", "kept"), [("unparsed", True), ("error", False)])
def test_an_answer_without_a_plan_is_kept_and_a_broken_connection_is_not(
    tmp_path: Path, kind: FailureKind, kept: bool
) -> None:
    store(tmp_path).put(Plan(step_id="1/1", key=KEY, text=None, failure=Failure(kind=kind, message="no")))
    assert (store(tmp_path).get(KEY) is not None) == kept == store(tmp_path).holds(KEY)


def test_only_the_owner_may_read_what_users_said(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store(tmp_path).put(PLAN)
    finally:
        os.umask(before)
    assert stat.S_IMODE(only_file(tmp_path).stat().st_mode) == 0o600
    folders = [path for path in (tmp_path / "store", *(tmp_path / "store").rglob("*")) if path.is_dir()]
    assert len(folders) == 3
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


# --- what is damaged ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"plan": 1}'])
def test_a_damaged_file_is_absent_and_written_anew(tmp_path: Path, content: bytes) -> None:
    store(tmp_path).put(PLAN)
    only_file(tmp_path).write_bytes(content)
    assert store(tmp_path).get(KEY) is None
    store(tmp_path).put(PLAN)
    assert store(tmp_path).get(KEY) == PLAN


def test_a_store_that_cannot_be_written_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store").write_text("a file")
    blocked = store(tmp_path)
    blocked.put(PLAN)
    blocked.put(PLAN)
    assert capsys.readouterr().err.count("can't be written") == 1
    assert blocked.get(KEY) is None
    with pytest.raises(UserError, match=r"can't be written: .*--plan-store"):
        blocked.prepare()
    store(tmp_path / "fine").prepare()
    assert cached_files(tmp_path / "fine" / "store") == {}


# --- the planner before the store ---------------------------------------------------------------------------------


class Thinker:
    """Counts what it is asked; fails where it is told to."""

    name = "thinker"
    identity = "thinker 1"
    max_concurrency = 3
    reads: frozenset[Context] = frozenset({"history"})

    def __init__(self, failure: Failure | None = None) -> None:
        self.asked: list[str] = []
        self.failure = failure
        self.closed = False

    async def plan(self, query: Query) -> Plan:
        self.asked.append(query.step_id)
        await asyncio.sleep(0.001)
        text = None if self.failure else f"plan for {query.instruction}"
        return Plan(step_id=query.step_id, key=query.key, text=text, failure=self.failure, call=CALL)

    async def check(self) -> None:
        raise UserError("nobody is there")

    async def aclose(self) -> None:
        self.closed = True


def ask(planner: StoredPlanner, *steps: str, key: str = KEY) -> list[Plan]:
    async def run() -> list[Plan]:
        queries = [msgspec.structs.replace(query(step=step), key=key) for step in steps]
        return list(await asyncio.gather(*map(planner.plan, queries)))

    return asyncio.run(run())


def test_the_second_run_asks_nothing_and_its_plan_is_marked(tmp_path: Path) -> None:
    first, second = Thinker(), Thinker()
    (made,) = ask(StoredPlanner(first, store(tmp_path)), "1/1")
    (found,) = ask(StoredPlanner(second, store(tmp_path)), "9/9")
    assert (first.asked, second.asked) == (["1/1"], [])
    assert not made.reused
    assert found == msgspec.structs.replace(made, step_id="9/9", reused=True)
    assert found.call == CALL


def test_equal_questions_at_once_are_asked_once(tmp_path: Path) -> None:
    thinker = Thinker()
    made = ask(StoredPlanner(thinker, store(tmp_path)), "1/1", "1/2", "2/1")
    assert len(thinker.asked) == 1
    assert [one.step_id for one in made] == ["1/1", "1/2", "2/1"]
    assert sorted(one.reused for one in made) == [False, True, True]


# --- where it is --------------------------------------------------------------------------------------------------


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert plan_store_dir(None, off=False) == tmp_path / "grounding" / "plans"
    assert plan_store_dir(tmp_path / "mine", off=False) == tmp_path / "mine"
    assert plan_store_dir(None, off=True) is None
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    assert plan_store_dir(None, off=False) is None
    assert plan_store_dir(tmp_path / "mine", off=False) == tmp_path / "mine"
    with pytest.raises(UserError, match="contradict each other"):
        plan_store_dir(tmp_path, off=True)
