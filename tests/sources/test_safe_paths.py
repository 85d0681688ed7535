"""No name from a listing or an archive leads out of the folder that it is put into."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.sources.safe_paths import UnsafePath, check_together, safe_path

_PARTS = st.sampled_from(
    ["", ".", "..", "...", "a", "b c", "é", "~", "-", "C:", "a\\b", "x" * 300, "\0", "\n", "..\\x"]
)
_NAMES = st.one_of(st.lists(_PARTS, max_size=6).map("/".join), st.text(max_size=40))


@given(_NAMES)
def test_a_safe_path_stays_inside(name: str) -> None:
    try:
        path = safe_path(name)
    except UnsafePath:
        return
    inside = os.path.normpath(f"/folder/{path}")
    assert inside == f"/folder/{path}"  # Nothing in it that a file system would take away.
    assert inside.startswith("/folder/")
    assert safe_path(path) == path
    assert "\0" not in path


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=3), min_size=1, max_size=5))
def test_plain_names_are_left_alone(parts: list[str]) -> None:
    assert safe_path("/".join(parts)) == "/".join(parts)
    assert safe_path("./" + "/./".join(parts)) == "/".join(parts)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a/..",
        "..",
        "",
        ".",
        "a//b",
        "a/",
        "C:/x",
        "c:x",
        "a\\..\\b",
        "a\0b",
        "a\x1b",
        "\ud800",
    ],
)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(UnsafePath):
        safe_path(name)


_TREES = st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join), max_size=5)


@given(_TREES)
def test_what_passes_together_can_be_written_together(paths: list[str]) -> None:
    import tempfile

    try:
        check_together(paths)
    except UnsafePath:
        folders = {str(parent) for path in paths for parent in Path(path).parents}
        assert len(set(paths)) < len(paths) or folders & set(paths)
        return
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x"):
                pass
