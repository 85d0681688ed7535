"""Changes of a screen that are known to the frame, from pictures that never were a video."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from screenplay import Picture, Screenplay

from annotate.recording.changes import ChangeFinder, ScreenChange, user_actions

SIZE, SMALL, FPS = (960, 540), (480, 270), 20


def page(seed: int) -> Picture:
    """Something like a page: coloured boxes and lines of text."""
    rng = np.random.default_rng(seed)
    picture = np.full((SIZE[1], SIZE[0], 3), 250, np.uint8)
    for _ in range(12):
        x, y = int(rng.integers(0, 800)), int(rng.integers(20, 480))
        cv2.rectangle(picture, (x, y), (x + 120, y + 50), rng.integers(60, 220, 3).tolist(), -1)
    for row in range(14):
        words = "".join(rng.choice(list("abcdefgh     "), 60))
        cv2.putText(picture, words, (20, 40 + 36 * row), 0, 0.6, (40, 40, 40), 1, cv2.LINE_AA)
    return picture


def watch(play: Screenplay, *, fps: int = FPS, noise: int = 0) -> list[ScreenChange]:
    finder = ChangeFinder(SMALL, SIZE[0] / SMALL[0])
    rng = np.random.default_rng(0)
    last = None
    for number in range(round(play.duration_s * fps)):
        picture = play.picture(number / fps)
        # Screen recorders write a frame only when something changed.
        if last is not None and np.array_equal(picture, last):
            continue
        last = picture
        grey = cv2.resize(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), SMALL, interpolation=cv2.INTER_AREA)
        if noise:
            grey = np.clip(grey.astype(int) + rng.integers(-noise, noise + 1, grey.shape), 0, 255).astype(np.uint8)
        finder.feed(number / fps, grey)
    return finder.finish()


def test_a_page_is_found_to_the_frame_with_the_pointer_whatever_the_noise() -> None:
    play = Screenplay(SIZE, 6.0, [(0.0, page(0))], pointer=[(0.0, 100.0, 100.0)])
    play.click(3.0, 400, 300, page(1))
    (change,) = watch(play)
    assert change.onset_s == pytest.approx(3.0)
    assert change.kind == "click"
    assert change.pointer is not None
    assert abs(change.pointer.x_px - 400) < 8
    assert abs(change.pointer.y_px - 300) < 8
    assert change.rested_s == pytest.approx(0.4, abs=0.11)
    assert [round(one.onset_s, 2) for one in watch(play, noise=6)] == [3.0]


def wandering(play: Screenplay) -> None:
    play.pointer += [(1.0, 100, 100), (2.0, 700, 400), (3.0, 200, 450), (3.5, 220, 440), (5.0, 600, 100)]


def caret(play: Screenplay) -> None:
    play.blink(300, 200, 18, 1.0, 6.0)


def typing(play: Screenplay) -> None:
    play.screens[0][1][:] = 255
    play.blink(300, 186, 18, 0.5, 8.0)
    play.type("running shoes for winter", 304, 200, 2.0, 8.0, per_s=6.0)


def film_begins(play: Screenplay) -> None:
    play.click(3.0, 600, 280)
    play.play(500, 200, 300, 200, 3.0, 8.0)


def film_beside_a_menu(play: Screenplay) -> None:
    def menu(time_s: float, screen: Picture) -> None:
        if time_s >= 6.0:
            screen[60:160, 40:300] = 230

    play.play(500, 200, 300, 200, 0.0, 8.0)
    play.click(6.0, 60, 50)
    play.layers.append(menu)


def scrolling(play: Screenplay) -> None:
    play.scroll(3.0, 4.0, 7.0, 300, np.vstack([page(0), page(3), page(4)]), (0, SIZE[1]))
    play.duration_s = 7.0


def hovering(play: Screenplay) -> None:
    def light(time_s: float, screen: Picture) -> None:
        if 2.4 <= time_s < 5.05:
            screen[280:320, 360:480] = (screen[280:320, 360:480] * 0.7).astype(np.uint8)

    play.layers.append(light)
    play.pointer += [(2.0, 100, 100), (2.5, 420, 300), (5.0, 420, 300), (5.5, 800, 400)]


def waves(play: Screenplay) -> None:
    half = page(1)
    half[200:] = 255
    play.click(3.0, 400, 300)
    play.screens += [(3.0, half), (3.6, page(2)), (4.4, page(5))]


def fading(play: Screenplay) -> None:
    play.click(3.0, 400, 300)
    one, other = page(0), page(1)
    play.screens += [(3.0 + k * 0.1, cv2.addWeighted(one, 1 - (k + 1) / 10, other, (k + 1) / 10, 0)) for k in range(10)]


def two_clicks(play: Screenplay) -> None:
    play.click(3.0, 400, 300, page(1), reach_s=0.3)
    play.click(4.2, 700, 200, page(2), reach_s=0.3)


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        (wandering, []),
        (caret, []),
        (hovering, []),
        (typing, [("type", 2.0)]),
        (film_begins, [("click", 3.0)]),
        (film_beside_a_menu, [("click", 6.0)]),
        (scrolling, [("scroll", 3.0)]),
        (waves, [("click", 3.0)]),
        (fading, [("click", 3.0)]),
        (two_clicks, [("click", 3.0), ("click", 4.2)]),
    ],
)
def test_what_the_user_did_and_nothing_else(
    happens: Callable[[Screenplay], None], expected: list[tuple[str, float]]
) -> None:
    play = Screenplay(SIZE, 8.0, [(0.0, page(0))], pointer=[(0.0, 100.0, 100.0)])
    happens(play)
    # A film that runs from the beginning on is something that begins to move.
    found = [one for one in user_actions(watch(play)) if one.onset_s > 1.5]
    assert [one.kind for one in found] == [kind for kind, _ in expected]
    assert [one.onset_s for one in found] == pytest.approx([at_s for _, at_s in expected], abs=0.21)
