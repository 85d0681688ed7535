"""Looking again at a crop: where it lies, what an answer in it means, and that no look is paid for twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import shell
from fakes.make import MODELS, picture_file, query
from fakes.slow_server import slow_server
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from shell import CONNECTIONS, STEPS, Bench

import grounding
from grounding.cards.schema import ZoomRule
from grounding.errors import UserError
from grounding.grounders.zoom import Zoom, ZoomGrounder, crop_around, find_zoom, rounded, to_original, whole
from grounding.records import Failure, Point, Prediction, Query, Size

PRESETS = msgspec.yaml.decode((MODELS / "zoom.yaml").read_bytes(), type=dict[str, ZoomRule])
SIDES = st.integers(50, 4000)


@given(SIDES, SIDES, st.floats(0.1, 0.9), st.floats(-0.2, 1.2), st.floats(-0.2, 1.2), st.data())
def test_a_crop_keeps_its_size_stays_inside_and_places_answers_to_the_digit(
    width: int, height: int, share: float, x: float, y: float, data: st.DataObject
) -> None:
    size, rule = Size(width=width, height=height), ZoomRule(share=share)
    crop = crop_around(rule, whole(size), Point(x_px=x * width, y_px=y * height))
    assert crop is not None
    left, top, right, bottom = crop.cut
    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height
    assert (right - left, bottom - top) == (max(1, round(width * share)), max(1, round(height * share)))
    at = data.draw(st.integers(0, right - left)), data.draw(st.integers(0, bottom - top))
    found = to_original(Point(x_px=at[0], y_px=at[1]), crop, crop.size)
    assert (found.x_px, found.y_px) == (left + at[0], top + at[1])


@given(st.sampled_from(sorted(PRESETS)), SIDES, SIDES, st.floats(0, 1), st.floats(0, 1))
def test_every_recipe_shows_a_part_of_the_screenshot_that_holds_the_answer(
    name: str, width: int, height: int, x: float, y: float
) -> None:
    at = Point(x_px=x * width, y_px=y * height)
    crop = crop_around(PRESETS[name], whole(Size(width=width, height=height)), at)
    if crop is None:
        assert name in ("reground", "zoomclick"), "only crops of so many pixels can be as large as the screenshot"
        return
    view = crop.view
    assert 0 <= crop.cut[0] < crop.cut[2] <= width
    assert 0 <= crop.cut[1] < crop.cut[3] <= height
    assert view.left_px - 0.5 <= at.x_px <= view.right_px + 0.5
    assert view.top_px - 0.5 <= at.y_px <= view.bottom_px + 0.5


AUTHORS = {
    # recipe, size, first answer in thousandths: the rectangle of the authors' code; answer in it; its final point
    "gemini": ((1366, 768), (189, 958), (87.424, 576.0, 428.924, 768.0), (512, 307), (192 * 1.366, 827 * 0.768)),
    "seed": ((1920, 1080), (964, 6), (960.0, 0.0, 1920.0, 540.0), (164, 438), (582 * 1.92, 219 * 1.08)),
    "reground": ((1920, 1080), (102, 669), (0.0, 56.0, 1024.0, 1080.0), (37, 104), (37.888, 162.496)),
    "iterative-narrowing": ((1920, 1080), (100, 0), (0.0, 0.0, 672.0, 270.0), None, None),
    "zoomclick": ((1366, 768), (900, 100), (845.0, 0.0, 1366.0, 461.0), None, None),
}


@pytest.mark.parametrize("name", AUTHORS)
def test_rectangles_and_points_are_those_of_the_authors_code(name: str) -> None:
    (width, height), first, rectangle, second, final = AUTHORS[name]
    size, rule = Size(width=width, height=height), PRESETS[name]
    crop = crop_around(rule, whole(size), Point(x_px=first[0] * width / 1000, y_px=first[1] * height / 1000))
    assert crop is not None
    view = crop.view
    assert (view.left_px, view.top_px, view.right_px, view.bottom_px) == pytest.approx(rectangle)
    if second is not None:
        shown = Size(width=rule.resize[0], height=rule.resize[1]) if rule.resize else crop.size
        at = Point(x_px=second[0] * shown.width / 1000, y_px=second[1] * shown.height / 1000)
        point = rounded(to_original(at, crop, shown), rule, size)
        assert (point.x_px, point.y_px) == pytest.approx(final)


class Scripted:
    """Answers each look by its number, in pixels of what it is shown, and keeps what that was; None is no answer."""

    name, identity, max_concurrency = "scripted", "scripted", 4

    def __init__(self, *answers: Point | Failure | None) -> None:
        self.answers, self.sizes = list(answers), list[tuple[int, int]]()

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...

    async def ground(self, asked: Query) -> Prediction:
        with Image.open(asked.screenshot.path) as image:
            self.sizes.append(image.size)
        found = self.answers[int(asked.step_id.partition("#")[2] or 1) - 1]
        none = Failure(kind="unparsed", message="no point")
        failure = found if isinstance(found, Failure) else none if found is None else None
        point = found if isinstance(found, Point) else None
        return Prediction(step_id=asked.step_id, key=asked.key, point=point, failure=failure)


def looked(tmp_path: Path, rule: ZoomRule, *answers: Point | Failure | None) -> tuple[Prediction, Scripted]:
    grounder = Scripted(*answers)
    zoom = ZoomGrounder(grounder, Zoom(name="tried", rule=rule))
    zoom.keep_in(tmp_path)
    shot = picture_file(tmp_path / "1.png", 400, 200)
    return asyncio.run(zoom.ground(query(shot))), grounder


def test_the_second_answer_counts_and_both_looks_are_kept(tmp_path: Path) -> None:
    rule = ZoomRule(share=0.5, resize=(800, 400))
    found, grounder = looked(tmp_path, rule, Point(x_px=390, y_px=100), Point(x_px=80, y_px=40))
    assert grounder.sizes == [(400, 200), (800, 400)]
    assert found.point == Point(x_px=220, y_px=60)
    first, second = found.passes
    assert (first.crop, first.point) == (None, Point(x_px=390, y_px=100))
    assert second.crop is not None
    assert (second.crop.left_px, second.crop.right_px, second.point) == (200, 400, found.point)
    assert not list((tmp_path / "crops").iterdir())


def test_what_becomes_of_a_second_look_without_an_answer(tmp_path: Path) -> None:
    first = Point(x_px=100, y_px=100)
    kept, _ = looked(tmp_path, ZoomRule(share=0.5), first, None)
    assert (kept.point, kept.failure) == (first, None)
    assert kept.passes[1].failure is not None
    counted, _ = looked(tmp_path, ZoomRule(share=0.5, unparsed="counts"), first, None)
    assert counted.point is None
    assert counted.failure is not None
    down, _ = looked(tmp_path, ZoomRule(share=0.5), first, Failure(kind="error", message="502"))
    assert down.point is None
    assert down.failure == Failure(kind="error", message="502")
    assert len(looked(tmp_path, ZoomRule(share=0.5), None)[0].passes) == 1


def test_a_patch_near_the_first_answer_is_where_the_next_look_goes(tmp_path: Path) -> None:
    rule = msgspec.structs.replace(PRESETS["zoomclick"], least=0, passes=2)
    middle, far = Point(x_px=100, y_px=50), Point(x_px=0, y_px=0)
    found, grounder = looked(tmp_path, rule, Point(x_px=90, y_px=50), middle, far, far, far, Point(x_px=10, y_px=10))
    assert grounder.sizes == [(400, 200), *[(200, 100)] * 4, (200, 100)]
    assert found.passes[-1].crop is not None
    assert found.passes[-1].crop.left_px == 0  # Around (100, 50), the first patch's, clipped at the edge or not.
    assert found.point == Point(x_px=10, y_px=10)


def test_what_zoom_can_be_called(tmp_path: Path) -> None:
    assert find_zoom("none", None) is None
    assert find_zoom("card", None) == Zoom(name="half", rule=PRESETS["half"])
    sizes = {text: found.rule for text in ("0.3", "512", "640x360") if (found := find_zoom(text, None))}
    assert (sizes["0.3"].share, sizes["512"].size, sizes["640x360"].size) == (0.3, (512, 512), (640, 360))
    (tmp_path / "mine.yaml").write_text("share: 0.4\nsize: [10, 10]\n")
    for wrong in ("nearer", str(tmp_path / "mine.yaml"), str(tmp_path / "gone.yaml")):
        with pytest.raises(UserError):
            find_zoom(wrong, None)


def args(bench: Bench, server: Any, *more: str) -> list[str]:
    return bench.args(server, "--zoom", "half", "--no-probe", *more)


def test_killed_between_two_looks_nothing_is_paid_for_twice(bench: Bench) -> None:
    price = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
    bench.card.write_text(bench.card.read_text() + price)

    def says(_model: str, _words: str) -> str:
        return "(20,12)"

    with slow_server(says) as server:
        planned = shell.call(*args(bench, server, "--dry-run", "--json"))
        assert planned.returncode == 0, planned.stderr
        assert [one["requests"] for one in json.loads(planned.stdout)["models"]] == [2 * STEPS]
        server.let_go(41)
        process = shell.start(*args(bench, server), cwd=bench.folder)
        shell.wait_until(lambda: server.answered >= 41, process)
        (folder,) = bench.results.glob("realwebassist_*")
        shell.wait_until(lambda: len(shell.lines(folder / "passes.jsonl")) >= 38, process)
        # Held back as the server is, all connections come to wait there.
        shell.wait_until(lambda: server.most_at_once >= CONNECTIONS, process)
        process.kill()
        process.communicate()
        server.stop()
        server.start()
        server.let_go(None)
        paid = len(shell.lines(folder / "passes.jsonl"))
        asked = server.requests
        left = json.loads(shell.call(*args(bench, server, "--dry-run", "--json")).stdout)["models"]
        assert [one["requests"] for one in left] == [2 * STEPS - paid]
        done = shell.run(*args(bench, server), cwd=bench.folder)
        assert done.returncode == 0, done.stderr
        assert server.requests - asked == 2 * STEPS - paid
    assert "+zoom-half@" in shell.summary(folder)["signature"]
    assert shell.summary(folder)["cost"]["usd"] == pytest.approx(2 * STEPS * (100 * 10 + 10 * 100) / 1e6)
    assert all(len(one["passes"]) == 2 for one in shell.records(folder / "predictions.jsonl"))
    assert not (folder / "crops").exists()
    audited = json.loads(shell.call("audit", folder, "--json", module="grounding").stdout)
    assert (audited["declared"], audited["replied"]) == ("sent_px", STEPS)


def test_a_function_looks_again_and_what_has_no_picture_is_refused(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def middle(image: Image.Image, _instruction: str) -> tuple[float, float]:
        seen.append(image.size)
        return image.width / 2, image.height / 2

    run = grounding.evaluate("sample-web", grounder=middle, zoom="0.25", limit=2, log_dir=tmp_path)
    assert len(run.scores) > 0
    assert len(set(seen)) == 2
    with pytest.raises(UserError, match="oracle"):
        grounding.evaluate("sample-web", grounder="oracle", zoom=True, limit=2, log_dir=tmp_path)
