"""What a reply is worth: the evaluation's own verdict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grounding.data.images import picture_sizes
from grounding.grounders.base import read_reply
from grounding.records import Region, Size
from grounding.regions import is_hit
from grounding.training.examples import reward
from training.steps import box, example, small_card, step

CARD = small_card(image={"resize": "none"}, answer={"form": "point", "space": "original_px"})
SIZE = Size(width=300, height=400)
GOLD = box(100, 100, 140, 120)
ASKED = example(step(size=SIZE, boxes=(GOLD,)))

replies = st.one_of(
    st.text(max_size=60),
    st.builds("({},{})".format, st.integers(80, 160), st.integers(90, 130)),
    st.builds("[{:.2f}, {:.2f}]".format, st.floats(-1e12, 1e12), st.floats(-1e12, 1e12)),
    st.sampled_from(["(nan, nan)", "(1e400, 1)", "(" + "9" * 400 + ",1)", "", "(12", "(1,2,3,4)"]),
)


@given(replies)
def test_a_reply_is_worth_1_where_its_point_is_a_hit_and_else_0(text: str) -> None:
    point = read_reply(text, CARD.answer, picture_sizes(SIZE, CARD.image)).point
    assert reward(ASKED, CARD, text) == float(point is not None and is_hit(Region(boxes=(GOLD,)), point))


def test_where_the_target_is_absent_saying_so_is_right() -> None:
    card = small_card(image={"resize": "none"}, answer={"form": "point", "space": "original_px", "refusal": "none"})
    absent = example(step(region=Region(), target_absent=True))
    assert [reward(absent, card, text) for text in ("none", "(1,1)")] == [1.0, 0.0]
    assert reward(ASKED, card, "none") == 0.0
