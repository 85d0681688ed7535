"""Recordings as they were heard, noise and all, beside a page that plays them: few, short and small."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from grounding.asr.ablation import Changed
from grounding.asr.audio import SAMPLE_RATE_HZ, UnreadableAudio, read_audio
from grounding.asr.conditions import parse_condition
from grounding.asr.noise import Sources, add_noise, open_sources
from grounding.errors import UserError
from grounding.records import Record

FILES = "speech_files"
LONGEST_S = 90.0
"""Longer recordings are not put beside a page."""

MOST_BYTES = 48 << 20
"""What all recordings of a page may take; steps after that have none."""


class Recordings(Record, frozen=True, kw_only=True):
    """Relative addresses by condition and hash of the clip, and what there is to say about those that are lacking."""

    addresses: dict[tuple[str, str], str]
    notes: tuple[str, ...] = ()


def put_recordings(changed: Iterable[Changed], folder: Path, *, noise_dir: Path | None = None) -> Recordings:
    """Write the recordings of changed steps into ``speech_files`` in a folder, each as it was heard; those there stay.

    Args:
        changed: The steps; each recording is written once for each condition.
        folder: Where the page is.
        noise_dir: The user's noises.
    """
    wanted = dict.fromkeys((one.condition, one.clip_sha256, one.audio) for one in changed if one.audio)
    found: dict[tuple[str, str], str] = {}
    lacking, size = 0, 0
    sources: Sources | None = None
    for condition, sha256, path in wanted:
        name = f"{_plain(sha256)}-{hashlib.sha256(condition.encode()).hexdigest()[:8]}.flac"
        target = folder / FILES / name
        try:
            if not target.exists():
                noise = parse_condition(condition).noise
                if noise is not None and sources is None:
                    sources = open_sources(noise_dir)
                content = _as_heard(Path(path), sha256, condition, sources)
                if size + len(content) > MOST_BYTES:
                    lacking += 1
                    continue
                _write(target, content)
            size += target.stat().st_size
        except (UserError, UnreadableAudio, OSError, ValueError):
            # The page is about the steps: one without its recording is shown all the same, and counted.
            lacking += 1
            continue
        found[condition, sha256] = f"{FILES}/{name}"
    note = f"{lacking} recordings are not on this page: gone, longer than {LONGEST_S:g} s, or too many for it"
    return Recordings(addresses=found, notes=(note,) if lacking else ())


def _as_heard(path: Path, sha256: str, condition: str, sources: Sources | None) -> bytes:
    """A recording as 16 kHz FLAC, with the condition's noise."""
    import io

    import soundfile

    audio = read_audio(path)
    if audio.sha256 != sha256:
        raise ValueError("another recording lies there now")
    if audio.seconds > LONGEST_S:
        raise ValueError("too long for a page")
    samples, noise = audio.samples, parse_condition(condition).noise
    if noise is not None and sources is not None:
        samples = add_noise(samples, noise, clip_key=sha256, sources=sources).samples
    out = io.BytesIO()
    soundfile.write(out, samples, SAMPLE_RATE_HZ, format="FLAC", subtype="PCM_16")
    return out.getvalue()


def _plain(sha256: str) -> str:
    """The hash comes from a file, so only its letters and digits count."""
    return "".join(filter(str.isalnum, sha256))[:24]


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
