from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.personalwab.embeddings import FILE, CachedEmbeddings, Rows


class Counting:
    """A model whose rows are the bytes of a text, and which remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Rows:
        self.asked += texts
        return np.array([[len(text), sum(text.encode("utf-8", "surrogatepass"))] for text in texts], dtype=np.float32)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=12))
def test_rows_are_the_models_own_and_each_is_made_once(texts: list[str]) -> None:
    model = Counting()
    embed = CachedEmbeddings(model, "model", None)
    assert np.array_equal(embed(texts), Counting()(texts))
    assert np.array_equal(embed(texts[::-1]), Counting()(texts[::-1]))
    assert sorted(model.asked) == sorted(set(texts))


def test_another_run_finds_what_was_made(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    made = CachedEmbeddings(first, "model", tmp_path / "kept")(["a", "b", "\ud800"])
    found = CachedEmbeddings(second, "model", tmp_path / "kept")(["b", "\ud800", "c"])
    assert np.array_equal(found, [[1, 98], made[2], [1, 99]])
    assert second.asked == ["c"]


def test_a_store_that_cannot_be_used_is_told_of_and_done_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all, but long enough to be read as the head of one" * 20)
    embed = CachedEmbeddings(Counting(), "model", tmp_path)
    assert embed(["a"]).tolist() == [[1, 97]]
    assert capsys.readouterr().err.count("embeddings are not kept") == 1
    (tmp_path / "file").write_text("")
    assert CachedEmbeddings(Counting(), "model", tmp_path / "file")(["b"]).tolist() == [[1, 98]]
