"""A session made up from the bundled sample's screenshots: many actions of every kind, and much that is none."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from screenplay import Action, Picture, Screenplay, voice

import grounding

SAMPLE = Path(grounding.__file__).parent.parent / "datasets" / "sample-web"


def screenshots(participant: str, count: int, size: tuple[int, int]) -> list[Picture]:
    pictures = []
    for number in range(1, count + 1):
        picture = cv2.imread(str(SAMPLE / participant / "images" / f"{number}.png"))
        pictures.append(cv2.cvtColor(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2RGB))
    return pictures


def session(seed: int, seconds: float, size: tuple[int, int] = (1280, 720)) -> Screenplay:
    """Actions: pages that come at once, in waves or by fading, menus, ticks, typing. None: a caret, hovering,
    a spinner,    a slide show, a film, scrolling, a pointer that wanders."""
    rng = np.random.default_rng(seed)
    width, height = size
    shots = screenshots(str(seed % 3 + 1), 60, size)
    play = Screenplay(size, seconds, [(0.0, shots[0])])
    play.pointer.append((0.0, 30.0, 40.0))
    shots = shots[::3]
    time_s, page = 3.0, 0
    kinds = ["page", "menu", "typing", "waves", "tick", "scroll", "fade", "hover", "page", "film", "spinner", "wander"]
    order: list[str] = []
    while time_s < seconds - 8:
        if not order:
            order = list(rng.permutation(kinds))
        kind = order.pop()
        known = len(play.actions)
        x, y = float(rng.uniform(0.1, 0.85) * width), float(rng.uniform(0.15, 0.8) * height)
        if kind not in ("hover", "wander", "scroll", "film", "spinner"):
            play.say(time_s - 2.4, voice(1.6, seed=int(time_s)))
        before = shots[page % len(shots)]
        following = shots[(page + 1) % len(shots)]
        if kind == "page":
            play.click(time_s, x, y, following)
            page += 1
        elif kind == "menu":
            play.click(time_s, x, y)
            play.layers.append(_menu(int(x), int(y), time_s, time_s + 4.0))
            time_s += 4.0
            # A menu closes when something is chosen.
            play.click(time_s, x + 30, y + 60, following)
            page += 1
        elif kind == "typing":
            play.blink(int(x), int(y) - 14, 18, time_s - 1.0, time_s + 4.5)
            play.type("running shoes", int(x) + 3, int(y), time_s, time_s + 6.0, per_s=4.0)
            time_s += 6.0
            play.click(time_s, x + 90, y, following)
            page += 1
        elif kind == "waves":
            play.click(time_s, x, y)
            half = before.copy()
            half[height // 3 :] = 250
            play.screens += [(time_s, half), (time_s + 0.45, _mixed(half, following, 0.5)), (time_s + 0.9, following)]
            page += 1
        elif kind == "tick":
            play.click(time_s, x, y)
            play.layers.append(_tick(int(x) - 8, int(y) - 8, time_s, time_s + 5.0))
            time_s += 5.0
            play.click(time_s, x + 140, y + 50, following)
            page += 1
        elif kind == "fade":
            play.click(time_s, x, y)
            play.screens += [(time_s + k * 0.05, _mixed(before, following, (k + 1) / 8)) for k in range(8)]
            page += 1
        elif kind == "scroll":
            long = np.vstack([before, *shots[-2:]])
            play.scroll(
                time_s, time_s + float(rng.uniform(0.5, 1.5)), time_s + 4.0, int(height * 0.6), long, (90, height)
            )
            time_s += 4.0
            play.click(time_s, x, y, following)
            page += 1
        elif kind == "hover":
            play.click(time_s, x, y)
            play.actions.pop()
            play.layers.append(_highlight(int(x) - 60, int(y) - 14, time_s - 0.44, time_s + 1.6))
            play.pointer.append((time_s + 1.6, x, y))
            play.pointer.append((time_s + 1.9, x + 150, y))
        elif kind == "film":
            play.play(int(x * 0.5), int(y * 0.5), width // 3, height // 3, time_s, time_s + 7.0)
            play.click(time_s, x * 0.5 + 50, y * 0.5 + 50)
            time_s += 7.0
            play.click(time_s, x, y, following)
            page += 1
        elif kind == "spinner":
            play.layers.append(_spinner(int(x), int(y), time_s, time_s + 5.0))
            play.click(time_s, x - 40, y)
            time_s += 5.0
            play.screens.append((time_s, following))
            page += 1
            # The page comes by itself once it is loaded: it is no action of its own.
        elif kind == "wander":
            at = time_s
            play.pointer.append((at, *play.pointer[-1][1:]))
            at += 0.3
            for _ in range(6):
                play.pointer.append((at, float(rng.uniform(0, width)), float(rng.uniform(0, height))))
                at += 0.3
            time_s = at
        play.actions[known:] = [Action(one.at_s, kind) for one in play.actions[known:]]
        time_s += float(rng.uniform(3.0, 5.0))
    play.pointer.append((seconds, play.pointer[-1][1], play.pointer[-1][2]))
    return play


def _mixed(one: Picture, other: Picture, share: float) -> Picture:
    return cv2.addWeighted(one, 1 - share, other, share, 0)


def _menu(x: int, y: int, start_s: float, end_s: float):
    def draw(time_s: float, screen: Picture) -> None:
        if start_s <= time_s < end_s:
            cv2.rectangle(screen, (x, y + 10), (x + 220, y + 190), (245, 245, 245), -1)
            cv2.rectangle(screen, (x, y + 10), (x + 220, y + 190), (120, 120, 120), 1)
            for row in range(6):
                cv2.putText(
                    screen, f"Choice number {row}", (x + 12, y + 34 + 28 * row), 0, 0.5, (30, 30, 30), 1, cv2.LINE_AA
                )

    return draw


def _tick(x: int, y: int, start_s: float, end_s: float):
    def draw(time_s: float, screen: Picture) -> None:
        cv2.rectangle(screen, (x, y), (x + 40, y + 40), (255, 255, 255), -1)
        cv2.rectangle(screen, (x, y), (x + 40, y + 40), (90, 90, 90), 1)
        if start_s <= time_s < end_s:
            cv2.line(screen, (x + 6, y + 20), (x + 18, y + 34), (0, 90, 200), 5)
            cv2.line(screen, (x + 18, y + 34), (x + 36, y + 6), (0, 90, 200), 5)

    return draw


def _highlight(x: int, y: int, start_s: float, end_s: float):
    def draw(time_s: float, screen: Picture) -> None:
        if start_s <= time_s < end_s:
            part = screen[max(0, y) : y + 30, max(0, x) : x + 130]
            part[:] = (part * 0.75).astype(np.uint8)

    return draw


def _spinner(x: int, y: int, start_s: float, end_s: float):
    def draw(time_s: float, screen: Picture) -> None:
        if start_s <= time_s < end_s:
            cv2.circle(screen, (x, y), 18, (230, 230, 230), 5)
            turn = (time_s - start_s) * 400
            cv2.ellipse(screen, (x, y), (18, 18), turn, 0, 90, (40, 90, 220), 5)

    return draw
