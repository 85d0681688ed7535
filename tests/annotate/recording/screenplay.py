"""Recordings whose every action is known: screens, a pointer, typing, scrolling, things that move, and speech.

A ``Screenplay`` says what is on the screen at any time; ``film`` writes it as a video with a varying frame rate, as
screen recorders do: a frame only when something changed, at times that are not evenly spaced.
"""

from __future__ import annotations

import dataclasses
import fractions
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
POINTER = np.array([(0, 0), (0, 17), (4, 13), (7, 19), (10, 18), (7, 12), (12, 12)], np.int32)


@dataclasses.dataclass(frozen=True)
class Action:
    """What the user did: the screen shows it from ``at_s`` on."""

    at_s: float
    kind: str


@dataclasses.dataclass
class Screenplay:
    size: tuple[int, int]
    duration_s: float
    screens: list[tuple[float, Picture]]
    pointer: list[tuple[float, float, float]] = dataclasses.field(default_factory=list)
    layers: list[Callable[[float, Picture], None]] = dataclasses.field(default_factory=list)
    speech: list[tuple[float, NDArray[np.int16]]] = dataclasses.field(default_factory=list)
    actions: list[Action] = dataclasses.field(default_factory=list)
    pointer_scale: float = 1.0

    def picture(self, time_s: float) -> Picture:
        screen = [picture for at_s, picture in self.screens if at_s <= time_s][-1].copy()
        for layer in self.layers:
            layer(time_s, screen)
        if self.pointer:
            times, xs, ys = zip(*self.pointer, strict=True)
            x, y = np.interp(time_s, times, xs), np.interp(time_s, times, ys)
            outline = (POINTER * self.pointer_scale + (x, y)).round().astype(np.int32)
            cv2.fillPoly(screen, [outline], (0, 0, 0))
            cv2.polylines(screen, [outline], True, (255, 255, 255), 1, cv2.LINE_AA)
        return screen

    def click(self, at_s: float, x: float, y: float, after: Picture | None = None, *, reach_s: float = 0.5) -> None:
        """The pointer travels, rests, and at ``at_s`` the screen becomes ``after``."""
        rest_s = at_s - 0.4
        x_before, y_before = (self.pointer[-1][1], self.pointer[-1][2]) if self.pointer else (20.0, 20.0)
        self.pointer += [(rest_s - reach_s, x_before, y_before), (rest_s, x, y)]
        if after is not None:
            self.screens.append((at_s, after))
        self.actions.append(Action(at_s, "click"))

    def blink(self, x: int, y: int, height: int, start_s: float, end_s: float) -> None:
        def draw(time_s: float, screen: Picture) -> None:
            if start_s <= time_s < end_s and int(time_s / 0.53) % 2 == 0:
                screen[y : y + height, x : x + 2] = 0

        self.layers.append(draw)

    def type(self, text: str, x: int, y: int, start_s: float, until_s: float, *, per_s: float = 5.0) -> None:
        def draw(time_s: float, screen: Picture) -> None:
            if start_s <= time_s < until_s:
                shown = text[: int((time_s - start_s) * per_s) + 1]
                cv2.putText(screen, shown, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (20, 20, 20), 1, cv2.LINE_AA)

        self.layers.append(draw)
        self.actions.append(Action(start_s, "type"))

    def scroll(
        self, start_s: float, end_s: float, until_s: float, by: int, long: Picture, where: tuple[int, int]
    ) -> None:
        """Between two rows the screen shows a part of a longer picture, which moves by so many pixels."""
        top, bottom = where

        def draw(time_s: float, screen: Picture) -> None:
            if start_s <= time_s < until_s:
                done = min(1.0, (time_s - start_s) / (end_s - start_s))
                offset = round(by * done)
                screen[top:bottom] = long[offset : offset + bottom - top]

        self.layers.append(draw)

    def play(self, x: int, y: int, width: int, height: int, start_s: float, end_s: float, fps: float = 24.0) -> None:
        """A rectangle in which a film runs."""
        rng = np.random.default_rng(5)
        pictures = [
            cv2.resize(rng.integers(0, 255, (6, 8, 3), dtype=np.uint8), (width, height), interpolation=cv2.INTER_CUBIC)
            for _ in range(40)
        ]

        def draw(time_s: float, screen: Picture) -> None:
            if start_s <= time_s < end_s:
                screen[y : y + height, x : x + width] = pictures[int((time_s - start_s) * fps) % len(pictures)]

        self.layers.append(draw)

    def say(self, start_s: float, samples: NDArray[np.int16]) -> None:
        self.speech.append((start_s, samples))

    def sound(self, rate_hz: int = 16_000) -> NDArray[np.int16]:
        rng = np.random.default_rng(0)
        whole = rng.normal(0, 12, round(self.duration_s * rate_hz)).astype(np.int16)
        for start_s, samples in self.speech:
            first = round(start_s * rate_hz)
            part = whole[first : first + len(samples)]
            part += samples[: len(part)]
        return whole


def voice(seconds: float, *, seed: int = 0, rate_hz: int = 16_000) -> NDArray[np.int16]:
    """Something like speech: a buzz of changing pitch through changing resonances, in syllables."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(seed)
    total = round(seconds * rate_hz)
    parts = []
    while sum(map(len, parts)) < total:
        length = round(rng.uniform(0.12, 0.22) * rate_hz)
        pitch = rng.uniform(95, 150) * np.linspace(1.0, rng.uniform(0.85, 1.1), length)
        buzz = (np.cumsum(pitch / rate_hz) % 1.0 < pitch / rate_hz).astype(float) + rng.normal(0, 0.02, length)
        for formant_hz, band_hz in zip(
            (rng.uniform(300, 800), rng.uniform(900, 2200), 2600.0), (80, 110, 160), strict=True
        ):
            radius = np.exp(-np.pi * band_hz / rate_hz)
            buzz = lfilter([1 - radius], [1, -2 * radius * np.cos(2 * np.pi * formant_hz / rate_hz), radius**2], buzz)
        buzz *= np.hanning(length) / (np.abs(buzz).max() + 1e-9)
        parts += [buzz, np.zeros(round(rng.uniform(0.02, 0.06) * rate_hz))]
    return (np.concatenate(parts)[:total] * 9000).astype(np.int16)


def film(
    play: Screenplay,
    path: Path,
    *,
    fps: float = 30.0,
    vary: bool = True,
    sound: bool = True,
    options: dict[str, str] | None = None,
    every_frame: bool = False,
    keyframes_every: int = 60,
) -> list[float]:
    """Write the video and return its frames' time stamps, in seconds."""
    rng = np.random.default_rng(1)
    times: list[float] = []
    base = fractions.Fraction(1, 1000)
    width, height = play.size
    with av.open(str(path), "w", options=options or {}) as container:
        video: Any = container.add_stream("libx264", rate=round(fps), options={"preset": "ultrafast", "crf": "23"})
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        video.time_base = video.codec_context.time_base = base
        video.codec_context.gop_size = keyframes_every
        track: Any = None
        if sound:
            track = container.add_stream("aac" if path.suffix in (".mp4", ".mov") else "libopus", rate=48_000)
            track.layout = "mono"
            samples = np.repeat(play.sound(), 3)
        heard = 0
        last: Picture | None = None
        time_s = 0.0
        while time_s < play.duration_s:
            stamp = round(time_s * 1000)
            picture = play.picture(stamp / 1000)
            if every_frame or last is None or not np.array_equal(picture, last) or time_s - times[-1] > 5:
                frame = av.VideoFrame.from_ndarray(picture, "rgb24")
                frame.pts, frame.time_base = stamp, base
                container.mux(video.encode(frame))
                times.append(stamp / 1000)
                last = picture
            time_s += (rng.uniform(0.6, 1.4) if vary else 1.0) / fps
            if track is not None:
                until = min(len(samples), round(min(time_s, play.duration_s) * 48_000))
                heard = _mux_sound(container, track, samples, heard, until)
        if track is not None:
            _mux_sound(container, track, samples, heard, len(samples))
        container.mux(video.encode(None))
        if track is not None:
            container.mux(track.encode(None))
    return times


def _mux_sound(container: Any, track: Any, samples: NDArray[np.int16], first: int, until: int) -> int:
    if until <= first:
        return first
    frame = av.AudioFrame.from_ndarray(samples[first:until].reshape(1, -1), "s16", "mono")
    frame.rate, frame.pts, frame.time_base = 48_000, first, fractions.Fraction(1, 48_000)
    container.mux(track.encode(frame))
    return until
