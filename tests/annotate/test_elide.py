"""Words cut to a width, against a ruler that needs no display."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotate.window.elide import Elider


def ruler(words: str) -> int:
    """A font whose capitals are wide."""
    return sum(12 if letter.isupper() else 3 if letter in " …il" else 7 for letter in words)


@given(st.text("aliW M", max_size=40), st.integers(0, 300))
def test_what_is_shown_fits_and_says_whether_it_is_all(words: str, width_view: int) -> None:
    shown = Elider(ruler).cut(words, width_view)
    if ruler(words) <= width_view:
        assert shown == words
        return
    kept = shown.removesuffix("…")
    assert shown != kept
    assert words.startswith(kept)
    assert ruler(shown) <= max(width_view, ruler("…"))
    # Not one letter more would fit, unless it is a space.
    more = words[: len(kept) + 1]
    assert more.endswith(" ") or ruler(more + "…") > width_view


def test_a_font_is_asked_once_for_each_character() -> None:
    asked: list[str] = []
    elider = Elider(lambda words: asked.append(words) or ruler(words))  # type: ignore[func-returns-value]
    for _ in range(3):
        elider.cut("lilac and all", 50)
    assert len(asked) == len(set(asked))
