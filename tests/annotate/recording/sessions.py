"""A session made up from the bundled sample's screenshots: many actions of every kind, and much that is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from screenplay import Action, Picture, Screenplay, voice

import grounding

SAMPLE = Path(grounding.__file__).parent.parent / "datasets" / "sample-web"
KINDS = ("page", "menu", "typing", "waves", "tick", "scroll", "fade", "hover", "page", "film", "spinner", "wander")
THEN_A_PAGE = {
    "page": (0, 0, 0), "menu": (4, 30, 60), "typing": (6, 90, 0), "tick": (5, 140, 50), "scroll": (4, 0, 0),
    "film": (7, 0, 0),
}  # fmt: skip
"""What ends with a page, so many seconds later and by a click so far away."""
SILENT = ("hover", "wander", "scroll", "film", "spinner")


def session(seed: int, seconds: float, size: tuple[int, int] = (1280, 720)) -> Screenplay:
    """Actions: pages that come at once, in waves or by fading, menus, ticks, typing.

    None: a caret, hovering, a spinner, a slide show, a film, scrolling, a pointer that wanders.
    """
    rng = np.random.default_rng(seed)
    width, height = size
    shots = []
    for number in range(1, 61, 3):
        picture = cv2.imread(str(SAMPLE / str(seed % 3 + 1) / "images" / f"{number}.png"))
        shots.append(cv2.cvtColor(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2RGB))
    play = Screenplay(size, seconds, [(0.0, shots[0])], pointer=[(0.0, 30.0, 40.0)])
    time_s, page = 3.0, 0
    order: list[str] = []
    while time_s < seconds - 8:
        order = order or list(rng.permutation(KINDS))
        kind, known = order.pop(), len(play.actions)
        x, y = float(rng.uniform(0.1, 0.85) * width), float(rng.uniform(0.15, 0.8) * height)
        before, following = shots[page % len(shots)], shots[(page + 1) % len(shots)]
        if kind not in SILENT:
            play.say(time_s - 2.4, voice(1.6, seed=int(time_s)))
        if kind in ("menu", "tick", "waves", "fade", "hover"):
            play.click(time_s, x, y)
        if kind == "menu":
            play.layers.append(_during(time_s, 4.0, lambda _, screen, at=(int(x), int(y)): _menu(screen, *at)))
        elif kind == "tick":
            play.layers.append(_tick(int(x) - 8, int(y) - 8, time_s, time_s + 5.0))
        elif kind == "typing":
            play.blink(int(x), int(y) - 14, 18, time_s - 1.0, time_s + 4.5)
            play.type("running shoes", int(x) + 3, int(y), time_s, time_s + 6.0, per_s=4.0)
        elif kind == "waves":
            half = before.copy()
            half[height // 3 :] = 250
            play.screens += [(time_s, half), (time_s + 0.45, _mixed(half, following, 0.5)), (time_s + 0.9, following)]
        elif kind == "fade":
            play.screens += [(time_s + k * 0.05, _mixed(before, following, (k + 1) / 8)) for k in range(8)]
        elif kind == "scroll":
            long = np.vstack([before, *shots[-2:]])
            end_s = time_s + float(rng.uniform(0.5, 1.5))
            play.scroll(time_s, end_s, time_s + 4.0, int(height * 0.6), long, (90, height))
        elif kind == "hover":
            play.actions.pop()
            part = np.s_[max(0, int(y) - 14) : int(y) + 16, max(0, int(x) - 60) : int(x) + 70]
            play.layers.append(_during(time_s - 0.44, 2.04, lambda _, screen, part=part: _darken(screen[part])))
            play.pointer += [(time_s + 1.6, x, y), (time_s + 1.9, x + 150, y)]
        elif kind == "film":
            play.play(int(x * 0.5), int(y * 0.5), width // 3, height // 3, time_s, time_s + 7.0)
            play.click(time_s, x * 0.5 + 50, y * 0.5 + 50)
        elif kind == "spinner":
            turn = lambda at_s, screen, at=(int(x), int(y)), since_s=time_s: _spinner(screen, *at, at_s - since_s)  # noqa: E731
            play.layers.append(_during(time_s, 5.0, turn))
            play.click(time_s, x - 40, y)
            # The page comes by itself once it is loaded: it is no action of its own.
            time_s += 5.0
            play.screens.append((time_s, following))
        elif kind == "wander":
            places = [play.pointer[-1][1:], *(rng.uniform(0, (width, height)) for _ in range(6))]
            play.pointer += [(time_s + 0.3 * k, float(to[0]), float(to[1])) for k, to in enumerate(places)]
            time_s += 2.1
        if kind in THEN_A_PAGE:
            later_s, right, down = THEN_A_PAGE[kind]
            time_s += later_s
            play.click(time_s, x + right, y + down, following)
        page += kind not in ("hover", "wander")
        play.actions[known:] = [Action(one.at_s, kind) for one in play.actions[known:]]
        time_s += float(rng.uniform(3.0, 5.0))
    play.pointer.append((seconds, play.pointer[-1][1], play.pointer[-1][2]))
    return play


def _during(
    start_s: float, seconds: float, draw: Callable[[float, Picture], object]
) -> Callable[[float, Picture], None]:
    def layer(time_s: float, screen: Picture) -> None:
        if start_s <= time_s < start_s + seconds:
            draw(time_s, screen)

    return layer


def _mixed(one: Picture, other: Picture, share: float) -> Picture:
    return cv2.addWeighted(one, 1 - share, other, share, 0)


def _darken(part: Picture) -> None:
    part[:] = (part * 0.75).astype(np.uint8)


def _menu(screen: Picture, x: int, y: int) -> None:
    cv2.rectangle(screen, (x, y + 10), (x + 220, y + 190), (245, 245, 245), -1)
    cv2.rectangle(screen, (x, y + 10), (x + 220, y + 190), (120, 120, 120), 1)
    for row in range(6):
        place = (x + 12, y + 34 + 28 * row)
        cv2.putText(screen, f"Choice number {row}", place, 0, 0.5, (30, 30, 30), 1, cv2.LINE_AA)


def _tick(x: int, y: int, start_s: float, end_s: float) -> Callable[[float, Picture], None]:
    def draw(time_s: float, screen: Picture) -> None:
        cv2.rectangle(screen, (x, y), (x + 40, y + 40), (255, 255, 255), -1)
        cv2.rectangle(screen, (x, y), (x + 40, y + 40), (90, 90, 90), 1)
        if start_s <= time_s < end_s:
            cv2.line(screen, (x + 6, y + 20), (x + 18, y + 34), (0, 90, 200), 5)
            cv2.line(screen, (x + 18, y + 34), (x + 36, y + 6), (0, 90, 200), 5)

    return draw


def _spinner(screen: Picture, x: int, y: int, since_s: float) -> None:
    cv2.circle(screen, (x, y), 18, (230, 230, 230), 5)
    cv2.ellipse(screen, (x, y), (18, 18), since_s * 400, 0, 90, (40, 90, 220), 5)
