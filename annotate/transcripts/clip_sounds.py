"""A clip's sound as it is played: whole, mono, 16 kHz."""

from __future__ import annotations

from pathlib import Path

from annotate.recording.sound import Sound
from grounding.errors import UserError


def clip_sound(path: Path) -> Sound:
    """Read a clip.

    Raises:
        UserError: There is no such file, or nothing in it can be read as sound.
    """
    import numpy as np

    from grounding.asr.audio import SAMPLE_RATE_HZ, UnreadableAudio, read_audio

    if not path.is_file():
        raise UserError(f"{path}: there is no such recording")
    try:
        audio = read_audio(path)
    except UnreadableAudio as error:
        raise UserError(f"{path}: can't be played: {error}") from error
    samples = np.clip(np.round(audio.samples * 32767), -32768, 32767).astype(np.int16)
    return Sound(rate_hz=SAMPLE_RATE_HZ, samples=samples)
