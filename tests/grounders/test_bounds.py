"""The floors and the ceiling: a random click depends on seed and step alone, the oracle always hits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence

import pytest
from fakes.make import query, screenshot
from hypothesis import given
from hypothesis import strategies as st

from grounding.geometry import is_hit
from grounding.grounders.base import Grounder, Oracle, Random
from grounding.records import Box, Point, Polygon, Prediction, Query, Region, Session, Step


def ask(grounder: Grounder, queries: Sequence[Query]) -> list[Prediction]:
    async def run() -> list[Prediction]:
        await grounder.check()
        answers = await asyncio.gather(*(grounder.ground(each) for each in queries))
        await grounder.aclose()
        return list(answers)

    return asyncio.run(run())


SHOT = screenshot(width=1920, height=1080)
QUERIES = [query(SHOT, step=f"{participant}/{n}") for participant in (1, 2) for n in range(200)]


def clicks(seed: int, queries: Sequence[Query]) -> dict[str, Point | None]:
    return {answer.step_id: answer.point for answer in ask(Random(seed), queries)}


def test_a_random_click_is_the_same_in_another_process() -> None:
    code = (
        "import asyncio; from grounding.grounders.base import Random; from grounding.records import *;"
        "shot = Screenshot(path='', size=Size(width=1920, height=1080), sha256='');"
        "query = Query(step_id='1/0', key='', screenshot=shot, instruction='');"
        "print(repr(asyncio.run(Random(7).ground(query)).point))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.strip() == repr(clicks(7, QUERIES[:1])["1/0"])


# --- the oracle -------------------------------------------------------------------------------------------------------


def session(region: Region | None, step_id: str = "1/1") -> Session:
    step = Step(
        id=step_id,
        participant="1",
        task="t",
        instruction_index=0,
        instruction="i",
        screenshot=SHOT,
        region=region,
    )
    return Session(participant="1", steps=(step,))


def oracle(region: Region | None) -> Prediction:
    (answer,) = ask(Oracle([session(region)]), [query(SHOT)])
    return answer


coordinate = st.floats(-1e5, 1e5, allow_subnormal=False) | st.integers(-50, 50).map(float)
corner = st.builds(Point, x_px=coordinate, y_px=coordinate)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    (left, right), (top, bottom) = (sorted(draw(st.tuples(coordinate, coordinate))) for _ in range(2))
    return Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)


polygons = st.builds(Polygon, points=st.lists(corner, min_size=3, max_size=8).map(tuple))
regions = st.builds(
    Region, boxes=st.lists(boxes(), max_size=3).map(tuple), polygons=st.lists(polygons, max_size=3).map(tuple)
)


@given(regions.filter(lambda region: bool(region.boxes or region.polygons)))
def test_the_oracle_always_hits(region: Region) -> None:
    """Also where outlines cross themselves, have no area, or are boxes of no width."""
    answer = oracle(region)
    assert answer.failure is None
    assert answer.point is not None
    assert is_hit(region, answer.point)


def outline(*corners: tuple[float, float]) -> Region:
    return Region(polygons=(Polygon(points=tuple(Point(x_px=x, y_px=y) for x, y in corners)),))


@pytest.mark.parametrize(
    "region",
    [
        outline((0, 0), (4, 0), (4, 1), (1, 1), (1, 4), (0, 4)),  # an L: the middle of its bounds is outside
        outline((0, 0), (10, 10), (10, 0), (0, 10)),  # a bow tie
        outline((0, 0), (5, 5), (10, 10)),  # no area
        outline((3, 3), (3, 3), (3, 3)),  # a single place
        # A sliver: the nearest float to a point inside it lies beside it.
        outline(
            (693.5540877327458, 779.473437865017),
            (830.22045296993, 968.4279618167845),
            (604.5804402800042, 656.4587285068799),
        ),
    ],
)
def test_the_oracle_hits_odd_outlines(region: Region) -> None:
    answer = oracle(region)
    assert answer.point is not None
    assert is_hit(region, answer.point)


@pytest.mark.parametrize("region", [Region(), None])
def test_where_nothing_can_be_hit_the_oracle_says_so(region: Region | None) -> None:
    answer = oracle(region)
    assert answer.point is None
    assert answer.failure is not None
    assert answer.failure.kind == "missing"
    assert "1/1" in answer.failure.message
