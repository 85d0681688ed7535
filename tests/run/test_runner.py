from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.llm.budget import BudgetReached
from grounding.records import Failure, Record
from grounding.run.journal import Journal
from grounding.run.runner import MIN_ERRORS_IN_A_ROW, Runner

ERROR = Failure(kind="error", message="the pump is down")


class Word(Record, frozen=True, kw_only=True):
    """A record that knows nothing of screenshots: the runner must be content with it."""

    step_id: str
    key: str
    text: str
    failure: Failure | None = None


Work = Callable[[str, "Word | None"], "str | Failure"]


class Toy:
    """A stage over plain strings. ``fail`` maps an item to what becomes of it instead."""

    def __init__(self, name: str, folder: Path, work: Work, *, max_concurrency: int = 4) -> None:
        self.name = name
        self.journal = Journal(folder / f"{name}.jsonl", Word)
        self.max_concurrency = max_concurrency
        self.asked: Counter[str] = Counter()
        self.at_work = 0
        self.most_at_work = 0
        self.version = "1"
        self._work = work

    def item_id(self, item: str) -> str:
        return item

    def key(self, item: str, earlier: Word | None) -> str:
        return f"{self.version}:{item}:{earlier.text if earlier else ''}"

    async def run(self, item: str, earlier: Word | None, key: str) -> Word:
        self.asked[item] += 1
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            made = self._work(item, earlier)
        finally:
            self.at_work -= 1
        failure = made if isinstance(made, Failure) else None
        return Word(step_id=item, key=key, text="" if isinstance(made, Failure) else made, failure=failure)


def upper(item: str, _: Word | None) -> str | Failure:
    return item.upper()


def doubled(_: str, earlier: Word | None) -> str | Failure:
    assert earlier is not None
    return earlier.text * 2


def counted(_: str, earlier: Word | None) -> str | Failure:
    assert earlier is not None
    return str(len(earlier.text))


def three(folder: Path, first: Work = upper, **options: Any) -> tuple[Toy, Toy, Toy]:
    return (
        Toy("upper", folder, first, **options),
        Toy("double", folder, doubled, **options),
        Toy("count", folder, counted, **options),
    )


def go(stages: tuple[Toy, ...], items: Iterable[str], **options: Any) -> str:
    return asyncio.run(Runner[str](stages, **options).run(items))


def names(count: int) -> list[str]:
    return [f"w{number}" for number in range(count)]


def test_no_stage_works_on_more_than_it_wants(tmp_path: Path) -> None:
    stages = (
        Toy("upper", tmp_path, upper, max_concurrency=7),
        Toy("double", tmp_path, doubled, max_concurrency=3),
        Toy("count", tmp_path, counted, max_concurrency=1),
    )
    assert go(stages, names(60)) == ""
    assert [stage.most_at_work for stage in stages] == [7, 3, 1]
    assert all(stage.asked == Counter(names(60)) for stage in stages)


def test_items_are_drawn_only_as_fast_as_they_are_worked_off(tmp_path: Path) -> None:
    stages = three(tmp_path, max_concurrency=2)
    drawn = through = most = 0

    def items() -> Iterator[str]:
        nonlocal drawn, most
        for item in names(300):
            drawn += 1
            most = max(most, drawn - through)
            yield item

    def count(_item: str, _last: Word) -> None:
        nonlocal through
        through += 1

    assert go(stages, items(), on_item=count) == ""
    assert (drawn, through) == (300, 300)
    assert most <= 3 * 2 + 1


def test_what_is_stored_is_not_asked_again(tmp_path: Path) -> None:
    go(three(tmp_path), names(5))
    again = three(tmp_path)
    done: list[tuple[str, bool]] = []
    texts: list[str] = []
    go(again, names(7), on_record=lambda *one: done.append(one), on_item=lambda _item, last: texts.append(last.text))
    assert all(stage.asked == Counter(["w5", "w6"]) for stage in again)
    assert len(texts) == 7
    assert Counter(done) == {
        (name, stored): count for name in ("upper", "double", "count") for stored, count in ((True, 5), (False, 2))
    }
    assert all(stage.journal.path.read_bytes().count(b"\n") == 7 for stage in again)


@pytest.mark.parametrize("kind", ["error", "unparsed", "missing"])
def test_a_failed_record_ends_its_chain_and_no_other(tmp_path: Path, kind: Any) -> None:
    failure = Failure(kind=kind, message="no")
    stages = three(tmp_path, lambda item, _: failure if item == "b" else item)
    last: dict[str, Word] = {}
    assert go(stages, "abc", on_item=lambda item, found: last.update({item: found})) == ""
    assert last["b"].failure == failure
    assert [stage.asked for stage in stages] == [Counter("abc"), Counter("ac"), Counter("ac")]
    again = three(tmp_path, lambda item, _: item)
    go(again, "abc")
    assert again[0].asked == (Counter("b") if kind == "error" else Counter())


def test_many_errors_in_a_row_end_the_run(tmp_path: Path) -> None:
    stages = three(tmp_path, lambda _item, _earlier: ERROR)
    stopped = go(stages, names(10_000))
    assert "errors in a row" in stopped
    assert "the pump is down" in stopped
    assert "upper" in stopped
    asked = stages[0].asked.total()
    assert MIN_ERRORS_IN_A_ROW <= asked <= MIN_ERRORS_IN_A_ROW + 3 * 4
    assert len(stages[0].journal) == asked


def test_an_answer_now_and_then_keeps_the_run_going(tmp_path: Path) -> None:
    every = MIN_ERRORS_IN_A_ROW - 10
    work: Work = lambda item, _: "fine" if int(item[1:]) % every == 0 else ERROR  # noqa: E731
    stages = three(tmp_path, work, max_concurrency=1)
    assert go(stages, names(1_000)) == ""
    assert stages[0].asked.total() == 1_000


def test_the_cost_limit_ends_the_run_and_what_is_in_flight_is_kept(tmp_path: Path) -> None:
    sent = 0

    def paid(item: str, _: Word | None) -> str | Failure:
        nonlocal sent
        sent += 1
        if sent > 10:
            raise BudgetReached("the cost limit of $1 is reached")
        return item

    stages = three(tmp_path, paid)
    items = iter(names(1_000))
    assert go(stages, items) == "the cost limit of $1 is reached"
    assert len(list(items)) > 1_000 - 10 - 2 * 3 * 4, "nothing more is drawn after the halt"
    assert len(stages[0].journal) == 10
    assert stages[0].asked.total() <= 10 + 3 * 4
    again = three(tmp_path)
    assert go(again, names(20)) == ""
    assert again[0].asked.total() == 10


def test_a_disk_that_is_full_comes_out_once_as_itself(tmp_path: Path) -> None:
    stages = three(tmp_path)
    real = stages[1].journal.append

    def full(record: Word) -> None:
        if len(stages[1].journal) >= 5:
            raise OSError(28, "No space left on device")
        real(record)

    stages[1].journal.append = full  # type: ignore[method-assign]
    with pytest.raises(OSError, match="No space left") as caught:
        go(stages, names(100))
    assert type(caught.value) is OSError
    assert len(stages[1].journal) == 5


def test_cancelled_in_mid_run_what_was_answered_is_kept(tmp_path: Path) -> None:
    stages = three(tmp_path)

    async def cancelled() -> None:
        def stop_at_ten(_item: str, _last: Word) -> None:
            if len(stages[2].journal) == 10:
                running.cancel()

        running = asyncio.ensure_future(Runner[str](stages, on_item=stop_at_ten).run(names(1_000)))
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert 10 <= len(stages[2].journal) < 100
    again = three(tmp_path)
    assert go(again, names(50)) == ""
    assert again[2].asked.total() == 50 - len(list(stages[2].journal))


@given(
    count=st.integers(0, 40),
    widths=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)),
    failing=st.sets(st.integers(0, 39)),
    first_part=st.integers(0, 40),
)
def test_any_split_into_two_runs_ends_as_one_run_does(
    count: int, widths: tuple[int, int, int], failing: set[int], first_part: int
) -> None:
    def work(item: str, _: Word | None) -> str | Failure:
        return Failure(kind="unparsed", message="?") if int(item[1:]) in failing else item

    def stages(folder: Path) -> tuple[Toy, Toy, Toy]:
        made = three(folder, work)
        for stage, width in zip(made, widths, strict=True):
            stage.max_concurrency = width
        return made

    def content(made: tuple[Toy, ...]) -> list[list[Word]]:
        return [sorted(stage.journal, key=lambda record: record.step_id) for stage in made]

    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        whole = stages(Path(one))
        go(whole, names(count))
        begun = stages(Path(two))
        go(begun, names(min(first_part, count)))
        resumed = stages(Path(two))
        go(resumed, names(count))
        assert content(resumed) == content(whole)
        assert all(len(list(stage.journal)) == stage.journal.path.read_bytes().count(b"\n") for stage in resumed)
        for stage in (*whole, *begun, *resumed):
            stage.journal.close()
