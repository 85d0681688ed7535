"""Changes of a screen that are known to the frame, from pictures that never were a video."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from screenplay import Picture, Screenplay

from annotate.recording.acts import mark_animations, user_actions
from annotate.recording.changes import ChangeFinder
from annotate.recording.records import ScreenChange
from annotate.recording.video import SmallFrame

SIZE = (960, 540)
SMALL = (480, 270)
FPS = 20


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
        finder.feed(SmallFrame(time_s=number / fps, luma=grey))
    return finder.finish()


def still(seconds: float = 6.0) -> Screenplay:
    return Screenplay(SIZE, seconds, [(0.0, page(0))], pointer=[(0.0, 100.0, 100.0)])


def test_a_page_that_comes_at_once_is_found_to_the_frame_with_the_pointer() -> None:
    play = still()
    play.click(3.0, 400, 300, page(1))
    (change,) = watch(play)
    assert change.onset_s == pytest.approx(3.0)
    assert change.before_s < 3.0
    assert change.kind == "change"
    assert change.pointer is not None
    assert abs(change.pointer.x_px - 400) < 8
    assert abs(change.pointer.y_px - 300) < 8
    assert change.rested_s == pytest.approx(0.4, abs=0.11)


def test_noise_of_compression_is_no_change_and_hides_none() -> None:
    play = still()
    play.click(3.0, 400, 300, page(1))
    changes = watch(play, noise=6)
    assert [round(one.onset_s, 2) for one in changes] == [3.0]


def test_a_pointer_that_wanders_changes_nothing() -> None:
    play = still()
    play.pointer += [(1.0, 100, 100), (2.0, 700, 400), (3.0, 200, 450), (3.5, 220, 440), (5.0, 600, 100)]
    assert watch(play) == []


def test_a_caret_that_blinks_changes_nothing() -> None:
    play = still()
    play.blink(300, 200, 18, 1.0, 6.0)
    assert watch(play) == []


def test_characters_that_are_typed_are_one_action_from_the_first_one_on() -> None:
    play = Screenplay(SIZE, 8.0, [(0.0, np.full((SIZE[1], SIZE[0], 3), 255, np.uint8))], pointer=[(0.0, 100.0, 100.0)])
    play.blink(300, 186, 18, 0.5, 8.0)
    play.type("running shoes for winter", 304, 200, 2.0, 8.0, per_s=6.0)
    (action,) = user_actions(watch(play))
    assert action.kind == "typing"
    assert action.onset_s == pytest.approx(2.0, abs=1 / 6 + 0.01)


def test_a_film_is_no_action_but_a_click_beside_it_is() -> None:
    play = still(12.0)
    play.play(500, 200, 300, 200, 0.0, 12.0)

    def menu(time_s: float, screen: Picture) -> None:
        if time_s >= 7.0:
            screen[60:160, 40:300] = 230

    play.click(7.0, 60, 50)
    play.layers.append(menu)
    found = [one for one in user_actions(watch(play)) if one.onset_s > 2]
    assert [round(one.onset_s, 2) for one in found] == [7.0]


def test_what_begins_to_play_under_a_resting_pointer_was_clicked_on() -> None:
    play = still(8.0)
    play.click(3.0, 600, 280)
    play.play(500, 200, 300, 200, 3.0, 8.0)
    (change,) = user_actions(watch(play))
    assert change.kind == "playing"
    assert change.onset_s == pytest.approx(3.0, abs=0.11)


def test_scrolling_is_one_change_of_its_own_kind() -> None:
    play = still(7.0)
    play.scroll(3.0, 4.0, 7.0, 300, np.vstack([page(0), page(3), page(4)]), (0, SIZE[1]))
    changes = user_actions(watch(play))
    assert [one.kind for one in changes] == ["scroll"]
    assert changes[0].onset_s == pytest.approx(3.0, abs=0.11)


def test_what_lights_up_under_a_moving_pointer_is_doubted_and_so_is_its_end() -> None:
    play = still(8.0)

    def light(time_s: float, screen: Picture) -> None:
        if 2.4 <= time_s < 5.05:
            screen[280:320, 360:480] = (screen[280:320, 360:480] * 0.7).astype(np.uint8)

    play.layers.append(light)
    play.pointer += [(2.0, 100, 100), (2.5, 420, 300), (5.0, 420, 300), (5.5, 800, 400)]
    changes = watch(play)
    assert changes, "the light itself is seen"
    assert user_actions(changes) == []


def test_a_slide_show_is_no_action() -> None:
    play = still(26.0)

    def slides(time_s: float, screen: Picture) -> None:
        screen[100:300, 500:800] = 40 + 50 * (int(time_s / 3.0) % 4)

    play.layers.append(slides)
    changes = watch(play, fps=10)
    assert len(changes) >= 7
    assert {one.doubt for one in mark_animations(changes)} == {"animation"}
    assert user_actions(changes) == []


def test_a_page_that_comes_in_waves_is_one_action() -> None:
    play = still(8.0)
    half = page(1)
    half[200:] = 255
    play.click(3.0, 400, 300)
    play.screens += [(3.0, half), (3.6, page(2)), (4.4, page(5))]
    (action,) = user_actions(watch(play))
    assert action.onset_s == pytest.approx(3.0)
    assert action.settled_s == pytest.approx(4.4, abs=0.1)


def test_a_slow_fade_is_one_change() -> None:
    play = still(8.0)
    play.click(3.0, 400, 300)
    one, other = page(0), page(1)
    play.screens += [(3.0 + k * 0.1, cv2.addWeighted(one, 1 - (k + 1) / 10, other, (k + 1) / 10, 0)) for k in range(10)]
    (action,) = user_actions(watch(play))
    assert action.onset_s == pytest.approx(3.0, abs=0.21)


def test_two_clicks_in_quick_succession_are_two_actions() -> None:
    play = still(8.0)
    play.click(3.0, 400, 300, page(1), reach_s=0.3)
    play.click(4.2, 700, 200, page(2), reach_s=0.3)
    assert [round(one.onset_s, 2) for one in user_actions(watch(play))] == [3.0, 4.2]
