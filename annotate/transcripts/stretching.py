"""Speech slower or faster at the same pitch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.recording.sound import Sound
from annotate.recording.video import load_av

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SLOWEST, FASTEST = 0.5, 2.0
"""What one ``atempo`` filter does in one go without gaps."""


def stretched(sound: Sound, speed: float) -> Sound:
    """The sound at another speed, its pitch unchanged, by FFmpeg's filter ``atempo`` (waveform similarity overlap-add).

    Args:
        sound: What to play.
        speed: 0.5 (twice as long) to 2 (half as long); 1 gives the sound back.

    Raises:
        ValueError: Another speed.
        UserError: The package av, which brings the filter, is missing.
    """
    if not SLOWEST <= speed <= FASTEST:
        raise ValueError(f"speed from {SLOWEST} to {FASTEST}, not {speed}")
    if speed == 1.0 or not len(sound.samples):
        return sound
    import numpy as np

    av = load_av("playing slower or faster")
    graph = av.filter.Graph()
    source = graph.add_abuffer(format="s16", sample_rate=sound.rate_hz, layout="mono")
    tempo = graph.add("atempo", str(speed))
    sink = graph.add("abuffersink")
    source.link_to(tempo)
    tempo.link_to(sink)
    graph.configure()
    frame = av.AudioFrame.from_ndarray(sound.samples.reshape(1, -1), format="s16", layout="mono")
    frame.sample_rate = sound.rate_hz
    source.push(frame)
    source.push(None)
    parts: list[NDArray[np.int16]] = []
    while True:
        try:
            parts.append(sink.pull().to_ndarray().reshape(-1))
        except (av.BlockingIOError, av.EOFError):
            break
    samples = np.concatenate(parts).astype(np.int16) if parts else np.zeros(0, np.int16)
    return Sound(rate_hz=sound.rate_hz, samples=samples)
