"""A recording's pictures, one after the other or at a time, with the file's own time stamps.

PyAV reads them, not OpenCV: OpenCV gives neither the sound nor a reason why a file ended, and its seeking counts
frames.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.recording.mp4_boxes import mp4_layout
from annotate.recording.records import Break, VideoFacts
from grounding.errors import UserError
from grounding.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ANALYSED_WIDTH_PX = 480
SPACING_S = 0.03
"""Least time between two frames that are looked at: just under one thirtieth, as time stamps are rounded."""
MISSING_END_S = 1.0
"""A file whose pictures and sound stop earlier than this before the end that it states is cut off."""


class SmallFrame(Record, frozen=True, kw_only=True, eq=False):
    """One picture in grey and small, for looking at changes: ``luma`` is uint8, height x width."""

    time_s: float
    luma: NDArray[np.uint8]


def load_av(what: str = "reading a screen recording") -> Any:
    """The module ``av``, which is asked for when ``what`` is to be done, not when the program starts.

    Raises:
        UserError: It is not installed.
    """
    try:
        import av
    except ImportError:
        raise UserError(f"{what} needs the package av: install it with pip install 'grounding[video]'") from None
    return av


class Recording:
    """A recording that is open for reading, one frame in memory at a time.

    Args:
        path: The video file.

    Raises:
        UserError: There is no such file, it is no video, it holds no picture, or it cannot be read without its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._av = load_av()
        self.broke: Break | None = None
        self.damaged_frames = 0
        with self._opened() as container:
            video = container.streams.video[0]
            self._origin_s = _origin_s(container)
            duration_s = None if container.duration is None else container.duration / 1_000_000
            self.facts = VideoFacts(
                path=str(path),
                width_px=video.codec_context.width,
                height_px=video.codec_context.height,
                codec=video.codec_context.name,
                duration_s=duration_s,
                mean_fps=None if video.average_rate is None else float(video.average_rate),
                has_audio=bool(container.streams.audio),
            )

    @property
    def small_size(self) -> tuple[int, int]:
        """Width and height of the small pictures, in pixels: the recorded proportions, at most 480 wide."""
        width = min(ANALYSED_WIDTH_PX, self.facts.width_px)
        return width, max(1, round(self.facts.height_px * width / self.facts.width_px))

    def small_frames(self, start_s: float = 0.0) -> Iterator[SmallFrame]:
        """All pictures in order, small and grey, about 30 a second at most; others are left out.

        After the last one ``broke`` says whether the file ended too early, and ``damaged_frames`` how many packets on
        the way could not be decoded and were passed over.
        """
        last_s = -1.0
        held = None
        seen_until_s = 0.0
        self.broke, self.damaged_frames = None, 0
        with self._opened() as container:
            video = only(container, container.streams.video[0], self._av)
            video.thread_type = "AUTO"
            if start_s > 0:
                container.seek(int((start_s + self._origin_s) * 1_000_000), backward=True)
            for frame in self._decoded(container, video):
                if frame.time is None:
                    continue
                time_s = frame.time - self._origin_s
                seen_until_s = max(seen_until_s, time_s)
                if time_s < start_s:
                    continue
                # A frame that comes soon after another one is left out, unless it then stays on the screen.
                if held is not None and time_s - held.time + self._origin_s >= SPACING_S:
                    last_s = held.time - self._origin_s
                    yield self._small(held)
                held = None
                if time_s - last_s < SPACING_S:
                    held = frame
                    continue
                last_s = time_s
                yield self._small(frame)
            if held is not None:
                yield self._small(held)
        self._note_break(seen_until_s)

    def _small(self, frame: Any) -> SmallFrame:
        import cv2
        import numpy as np

        luma = np.asarray(cv2.resize(_luma(frame), self.small_size, interpolation=cv2.INTER_AREA), np.uint8)
        return SmallFrame(time_s=frame.time - self._origin_s, luma=luma)

    def picture_at(self, time_s: float) -> NDArray[np.uint8]:
        """The picture that is on the screen at a time: the last frame whose time stamp is not later.

        Returns:
            RGB, height x width x 3, uint8. Before the first time stamp it is the first frame.

        Raises:
            UserError: There is no readable picture at or before that time.
        """
        for _, picture in self.pictures_at([time_s]):
            return picture
        raise UserError(f"{self.path} has no readable picture at {time_s:.2f} s")

    def pictures_at(self, times_s: list[float]) -> Iterator[tuple[float, NDArray[np.uint8]]]:
        """``picture_at`` of many times, which must ascend: times close to each other are read in one go."""
        with self._opened() as container:
            video = only(container, container.streams.video[0], self._av)
            video.thread_type = "AUTO"
            done = 0
            while done < len(times_s):
                with contextlib.suppress(self._av.FFmpegError):
                    container.seek(int((max(0.0, times_s[done]) + self._origin_s) * 1_000_000), backward=True)
                before = done
                for picture in self._until_next_seek(container, video, times_s[done:]):
                    yield times_s[done], picture
                    done += 1
                if done == before:
                    return

    def _until_next_seek(self, container: Any, video: Any, wanted: list[float]) -> Iterator[NDArray[np.uint8]]:
        held = None
        index = 0
        for frame in self._decoded(container, video):
            if frame.time is None:
                continue
            # A time that came out of this file is met again, whatever the last bit of the sum says.
            while held is not None and index < len(wanted) and frame.time - self._origin_s > wanted[index] + 1e-6:
                yield held.to_ndarray(format="rgb24")
                index += 1
                if index < len(wanted) and wanted[index] - wanted[index - 1] > 3.0:
                    return
            if index >= len(wanted):
                return
            held = frame
        if held is not None and index < len(wanted):
            # What is left lies after the last frame, which stays on the screen.
            picture = held.to_ndarray(format="rgb24")
            for _ in wanted[index:]:
                yield picture

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        with open_container(self.path, self._av) as container:
            if not container.streams.video or _is_picture(container) or not container.streams.video[0].width:
                raise UserError(_why_unreadable(self.path))
            yield container

    def _decoded(self, container: Any, stream: Any) -> Iterator[Any]:
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except self._av.FFmpegError:
                self.damaged_frames += 1
                return
            try:
                yield from packet.decode()
            except self._av.FFmpegError:
                self.damaged_frames += 1

    def _note_break(self, seen_until_s: float) -> None:
        duration_s = self.facts.duration_s
        if duration_s is None:
            return
        end_s = seen_until_s
        if self.facts.has_audio and duration_s - end_s > MISSING_END_S:
            from annotate.recording.sound import last_sound_s

            # A screen that stands still needs no more pictures: the sound may well go on to the end.
            end_s = max(end_s, last_sound_s(self.path) - self._origin_s)
        if duration_s - end_s > MISSING_END_S:
            self.broke = Break(
                at_s=round(seen_until_s, 2),
                message=f"the file states {duration_s:.1f} s and can be read up to {seen_until_s:.1f} s",
            )
        elif (layout := mp4_layout(self.path)) is not None and layout.cut_off:
            self.broke = Break(
                at_s=round(seen_until_s, 2),
                message=f"the file ends in the middle of its data and can be read up to {seen_until_s:.1f} s",
            )


@contextlib.contextmanager
def open_container(path: Path, av: Any) -> Iterator[Any]:
    """The file as PyAV opens it, with what goes wrong in words.

    Raises:
        UserError: There is no such file, or it is none that can be read.
    """
    if not path.is_file():
        raise UserError(f"there is no file {path}: give a screen recording, such as session.mp4")
    try:
        container = av.open(str(path))
    except av.FFmpegError:
        raise UserError(_why_unreadable(path)) from None
    with container:
        yield container


def _why_unreadable(path: Path) -> str:
    layout = mp4_layout(path)
    if layout is not None and not layout.has_index:
        return (
            f"{path} is cut off before its index, which an MP4 file has at its end, so that nothing of it can be shown;"
            " record as MKV or as fragmented MP4, which can be read up to a break"
        )
    return f"{path} is no video that can be read: give a screen recording, such as an MP4, MKV, MOV or WebM file"


def _is_picture(container: Any) -> bool:
    """Whether the file is a single picture, which FFmpeg takes for a film of one frame."""
    name = container.format.name
    return bool(name.endswith("_pipe") or name == "image2")


def _origin_s(container: Any) -> float:
    return 0.0 if container.start_time is None else float(container.start_time) / 1_000_000


def only(container: Any, wanted: Any, av: Any) -> Any:
    """Let the reader skip all other streams: one that is cut off would otherwise end the wanted one, too."""
    for stream in container.streams:
        if stream.index != wanted.index:
            stream.discard = av.stream.Discard.all
    return wanted


def _luma(frame: Any) -> NDArray[np.uint8]:
    """The brightness of a decoded frame, height x width; a view of the decoder's memory where it is a plane there."""
    import numpy as np

    name = frame.format.name
    if not (name.startswith(("yuv4", "yuvj4", "nv12", "gray")) and frame.format.components[0].bits == 8):
        frame = frame.reformat(format="gray")
    plane = frame.planes[0]
    rows = np.frombuffer(plane, dtype=np.uint8).reshape(-1, plane.line_size)
    return rows[: frame.height, : frame.width]
