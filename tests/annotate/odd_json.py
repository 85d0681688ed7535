"""JSON as people and programs write it: odd blanks, number forms, escapes, keys in any order."""

from __future__ import annotations

import json

from hypothesis import strategies as st

BLANKS = st.sampled_from(["", "", " ", "  ", "\n", "\n  ", "\t", "\r\n "])
NUMBERS = st.sampled_from(
    ["0", "-0", "1", "1.0", "1.00", "1e0", "1E+2", "-2.5e-3", "12345678901234567890", "0.1", "0.10", "1e400", "3.5"]
)
STRINGS = st.one_of(
    st.sampled_from(
        ['""', '"\\u00e9"', '"é"', '"\\/"', '"\\ud83d\\ude00"', '"\\ud800"', '"a\\nb"', '"[{\\"x\\":1}"', '"😀"']
    ),
    st.text(max_size=8).map(lambda text: json.dumps(text)),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(
        lambda text: json.dumps(text, ensure_ascii=False)
    ),
)
SCALARS = st.one_of(NUMBERS, STRINGS, st.sampled_from(["true", "false", "null"]))


@st.composite
def lists(draw: st.DrawFn, parts: st.SearchStrategy[str], *, min_size: int = 0, max_size: int = 4) -> str:
    found = draw(st.lists(parts, min_size=min_size, max_size=max_size))
    body = ",".join(draw(BLANKS) + part + draw(BLANKS) for part in found)
    return f"[{body or draw(BLANKS)}]"


@st.composite
def objects(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    """An object with these members (key as JSON text, value as JSON text), blanks anywhere."""
    parts = [f"{draw(BLANKS)}{key}{draw(BLANKS)}:{draw(BLANKS)}{value}{draw(BLANKS)}" for key, value in members]
    return "{" + (",".join(parts) or draw(BLANKS)) + "}"


@st.composite
def any_objects(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    return draw(objects(draw(st.lists(st.tuples(STRINGS, values), max_size=4))))


VALUES: st.SearchStrategy[str] = st.recursive(
    SCALARS, lambda inner: st.one_of(lists(inner), any_objects(inner)), max_leaves=6
)
