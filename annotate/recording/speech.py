"""Where in a recording somebody speaks: the stretches between two silences, by a voice activity detector.

The detector is that of WebRTC, which comes with pocketsphinx, the recogniser that every installation has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from annotate.recording.records import Utterance
from annotate.recording.sound import SPEECH_RATE_HZ, Sound

FRAME_S = 0.03
STRICTNESS = 2
"""0 to 3, WebRTC's own scale: 3 cuts speech into pieces, 0 takes fans for speech."""
PAUSE_S = 0.6
"""A shorter silence is a pause inside an utterance."""
SHORTEST_S = 0.25
LONGEST_S = 30.0
"""What whisper hears at once; a longer stretch is cut at its quietest place."""


def find_speech(sound: Sound) -> list[Utterance]:
    """The stretches of speech in 16 kHz sound, in order, without words.

    Raises:
        ValueError: The sound has another rate.
    """
    from pocketsphinx import Vad

    if sound.rate_hz != SPEECH_RATE_HZ:
        raise ValueError(f"sound at {SPEECH_RATE_HZ} Hz is needed, not at {sound.rate_hz}")
    detector = Vad(mode=STRICTNESS, sample_rate=SPEECH_RATE_HZ, frame_length=FRAME_S)
    length = detector.frame_bytes // 2
    speaking = [
        detector.is_speech(sound.samples[first : first + length].tobytes())
        for first in range(0, len(sound.samples) - length + 1, length)
    ]
    stretches = join_frames(speaking, length / SPEECH_RATE_HZ)
    cut = [piece for stretch in stretches for piece in _cut(sound, *stretch)]
    return [Utterance(start_s=round(start_s, 3), end_s=round(end_s, 3)) for start_s, end_s in cut]


def join_frames(speaking: Sequence[bool], frame_s: float) -> list[tuple[float, float]]:
    """From a verdict on every frame the stretches, as start and end in seconds.

    Pauses shorter than 0.6 s are part of a stretch, and stretches with less than 0.25 s of speech are none.
    """
    stretches: list[list[float]] = []
    for index, spoken in enumerate(speaking):
        if not spoken:
            continue
        start_s, end_s = index * frame_s, (index + 1) * frame_s
        if stretches and start_s - stretches[-1][1] < PAUSE_S:
            stretches[-1][1] = end_s
            stretches[-1][2] += frame_s
        else:
            stretches.append([start_s, end_s, frame_s])
    return [(start_s, end_s) for start_s, end_s, spoken_s in stretches if spoken_s >= SHORTEST_S]


def _cut(sound: Sound, start_s: float, end_s: float) -> list[tuple[float, float]]:
    import numpy as np

    if end_s - start_s <= LONGEST_S:
        return [(start_s, end_s)]
    # The quietest tenth of a second of the middle third.
    middle = sound.between(start_s + (end_s - start_s) / 3, end_s - (end_s - start_s) / 3)
    tenth = sound.rate_hz // 10
    loudness = [
        float(np.abs(middle.samples[first : first + tenth].astype(np.int32)).mean())
        for first in range(0, len(middle.samples) - tenth + 1, tenth)
    ]
    at_s = start_s + (end_s - start_s) / 3 + (int(np.argmin(loudness)) + 0.5) * 0.1
    return [*_cut(sound, start_s, at_s), *_cut(sound, at_s, end_s)]


Hear = Callable[[Sequence[Utterance]], list[Utterance]]
"""Gives the utterances back with what was heard in them."""
