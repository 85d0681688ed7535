"""Elements by words and by points."""

from __future__ import annotations

import asyncio

import pytest

from grounding.records import Call, Failure, Point, Prediction, Query, Screenshot, Size
from grounding.webagents.agenticshop.agents.browsing.elements import read_elements
from grounding.webagents.agenticshop.agents.browsing.grammar import Mistake
from grounding.webagents.agenticshop.agents.browsing.observation import Observation
from grounding.webagents.agenticshop.agents.browsing.pointing import element_at, element_named, find_point

from .elements import button, field, page, told

ELEMENTS = read_elements(
    page(
        told(name="Oak lamp $49", box=[0, 0, 400, 300]),
        told(name="Pine lamp $39", box=[0, 310, 400, 400]),
        button("More", box=[10, 10, 60, 30]),
        button("More", box=[10, 320, 60, 340]),
        field(box=[500, 0, 700, 40]),
    )
).elements
SEEN = Observation(
    url="http://shop.test/", title="Shop", place="0-720 of 900 px", elements=ELEMENTS, withheld=(), evidence="a.png",
    screenshot=Screenshot(path="a.png", size=Size(width=1280, height=720), sha256="a" * 64), state="s",
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "number"), [("oak lamp", 1), ("Pine lamp $39", 2), ("search", 5), ("field Search", 5), ("the OAK", None)]
)
def test_words_mean_one_element(words: str, number: int | None) -> None:
    if number is None:
        with pytest.raises(Mistake, match="no element in view"):
            element_named(words, ELEMENTS)
    else:
        assert element_named(words, ELEMENTS).number == number


def test_words_for_several_elements_are_a_mistake_that_names_them() -> None:
    with pytest.raises(Mistake, match=r"\[3\], \[4\]"):
        element_named("more", ELEMENTS)
    with pytest.raises(Mistake, match="no element"):
        element_named("???", ELEMENTS)


def test_the_smallest_element_at_a_point_is_meant() -> None:
    found = [element_at(Point(x_px=x, y_px=y), ELEMENTS) for x, y in ((20, 20), (300, 200), (600, 20), (900, 700))]
    assert [one and one.number for one in found] == [3, 1, 5, None]


class Pointing:
    """A grounder that answers as it is told."""

    name, identity, max_concurrency = "pointing", "pointing:1", 1

    def __init__(self, point: Point | None) -> None:
        self.point, self.queries = point, list[Query]()

    async def ground(self, query: Query) -> Prediction:
        self.queries.append(query)
        failure = None if self.point else Failure(kind="unparsed", message="nothing like it")
        call = Call(seconds=0.5, cost_usd=0.01)
        return Prediction(step_id=query.step_id, key=query.key, point=self.point, failure=failure, call=call)

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...


def test_a_grounder_is_asked_with_the_words_over_the_picture() -> None:
    finder = Pointing(Point(x_px=5.0, y_px=6.0))
    found = asyncio.run(find_point(finder, "the oak lamp", SEEN, "task/1"))
    assert found.point == finder.point
    assert found.call is not None
    assert found.call.cost_usd == 0.01
    assert (finder.queries[0].instruction, finder.queries[0].screenshot) == ("the oak lamp", SEEN.screenshot)
    assert finder.queries[0].step_id == "task/1"


def test_a_grounder_that_finds_nothing_is_a_problem_and_no_exception() -> None:
    found = asyncio.run(find_point(Pointing(None), "the oak lamp", SEEN, "task/1"))
    assert found.point is None
    assert "nothing like it" in found.problem
    assert found.call is not None
