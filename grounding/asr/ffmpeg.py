"""What libsndfile can't read, through ffmpeg: it decodes a file's first sound track to raw floats on a pipe.

A media file may name others to be opened with it, on this machine or on the net. ffmpeg is therefore held to plain
files and to containers that carry their sound themselves.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from grounding.asr.audio import UnreadableAudio
from grounding.records import Record

_CONTAINERS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dts,eac3,flac,flv,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp2,mp3,mpeg,mpegts,"
    "nut,ogg,rm,tta,voc,w64,wav,wv"
)
_FENCE = ("-protocol_whitelist", "file", "-format_whitelist", _CONTAINERS)
_PROBE_S = 60.0
_MOST_CHANNELS = 64


class _Track(Record, frozen=True, kw_only=True):
    channels: int
    sample_rate: str


class _Probed(Record, frozen=True, kw_only=True):
    streams: tuple[_Track, ...] = ()


@contextmanager
def decoded(path: Path, block_frames: int, *, because: str) -> Iterator[tuple[int, Iterator[Any]]]:
    """Sample rate in Hz, and blocks of float32 of shape (frames, channels).

    Args:
        path: The file.
        block_frames: The most frames in a block.
        because: Why libsndfile couldn't read it, for the message where ffmpeg can't either.

    Raises:
        UnreadableAudio: there is no ffmpeg, or it can't read the file; also from the blocks.
    """
    ffmpeg, ffprobe = shutil.which("ffmpeg"), shutil.which("ffprobe")
    if ffmpeg is None or ffprobe is None:
        raise UnreadableAudio(f"libsndfile can't read it ({because}), and ffmpeg is not installed to try")
    source = f"file:{path.resolve()}"
    track = _probe(ffprobe, source)
    rate_hz = int(track.sample_rate) if track.sample_rate.isdecimal() else 0
    if not 0 < track.channels <= _MOST_CHANNELS or not 1000 <= rate_hz <= 1_000_000:
        raise UnreadableAudio(f"ffmpeg finds {track.channels} channels at {track.sample_rate} Hz in it")
    command = [ffmpeg, "-nostdin", "-v", "error", *_FENCE, "-i", source, "-map", "0:a:0", "-f", "f32le"]
    command += ["-c:a", "pcm_f32le", "pipe:1"]
    with tempfile.TemporaryFile() as said:  # A pipe that nobody reads would stop ffmpeg once it is full.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
        try:
            yield rate_hz, _blocks(process, said, track.channels, block_frames, rate_hz)
        finally:
            process.kill()
            process.communicate()


def _probe(ffprobe: str, source: str) -> _Track:
    command = [ffprobe, "-v", "error", *_FENCE, "-select_streams", "a:0"]
    command += ["-show_entries", "stream=channels,sample_rate", "-of", "json", source]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnreadableAudio(f"ffprobe found nothing in it within {_PROBE_S:g} s") from error
    if done.returncode != 0:
        raise UnreadableAudio(f"neither libsndfile nor ffmpeg can read it: {_last_line(done.stderr)}")
    try:
        tracks = msgspec.json.decode(done.stdout, type=_Probed).streams
    except msgspec.DecodeError as error:
        raise UnreadableAudio("ffprobe says nothing about its sound") from error
    if not tracks:
        raise UnreadableAudio("there is no sound in it")
    return tracks[0]


def _blocks(process: Any, said: Any, channels: int, block_frames: int, rate_hz: int) -> Iterator[Any]:
    import numpy as np

    frame_bytes = 4 * channels
    done = 0
    while content := process.stdout.read(block_frames * frame_bytes):
        whole = len(content) // frame_bytes
        done += whole
        yield np.frombuffer(content, "<f4", whole * channels).reshape(whole, channels)
    process.wait()
    said.seek(0)
    # It ends with success after a damaged packet, which it leaves out: what it says counts, too.
    complaints = said.read(1 << 16)
    if process.returncode != 0 or complaints.strip():
        raise UnreadableAudio(f"broken after {done / rate_hz:.1f} s: ffmpeg says {_last_line(complaints)}")


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").split("\n")
    kept = [" ".join(line.split()) for line in lines if line.strip()]
    return kept[-1][:300] if kept else "nothing"
