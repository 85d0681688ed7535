"""A file of speech in; 16 kHz mono samples out, with what is odd about the file in words.

libsndfile is asked first; what it can't read is decoded by ffmpeg into a file that it can.
"""

import io
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding.data.speech import file_sha256
from grounding.records import Record

Samples = NDArray[np.float32]

SAMPLE_RATE_HZ = 16_000
# Name and version of what is done here to a file; part of every key, since it can change what is heard.
READER = "audio-1"
LONGEST_S = 3 * 3600.0  # A longer recording is refused: its samples alone would take 700 MB.
SILENT_DBFS = -70.0
"""Quieter than this over the whole clip counts as silence; a quiet room in a good microphone is near -60."""


class UnreadableAudio(Exception):
    """The file gives no samples; the message says why, in one line."""


class Audio(Record, frozen=True, kw_only=True, eq=False):
    """One clip as a recogniser gets it.

    ``samples`` are float32, mono, at 16 kHz, full scale 1.0, shape (n,); ``sha256`` is of the file's bytes ("" for
    samples that come from no file); ``notes`` say what is odd: silence, several channels, more than full scale.
    """

    samples: Samples
    sha256: str = ""
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return len(self.samples) / SAMPLE_RATE_HZ


def read_audio(path: Path) -> Audio:
    """Read any file that libsndfile or ffmpeg can read.

    Several channels are averaged; where that cancels the sound (one channel is the other's opposite), the loudest one
    is taken. Samples that are no numbers become silence. A file louder than full scale is scaled down to it. Raises
    UnreadableAudio: there is no audio in it, it breaks off, or it is longer than three hours.
    """
    import soxr

    try:
        sha256 = file_sha256(path)
        if path.stat().st_size == 0:
            raise UnreadableAudio("the file is empty")
        frames, rate_hz = _frames(path)
    except OSError as error:
        raise UnreadableAudio(f"the file can't be read: {error.strerror}") from error
    notes = []
    strange = ~np.isfinite(frames)
    if strange.any():
        notes.append(f"{int(strange.any(axis=1).sum())} frames with samples that are no numbers, taken as silence")
        frames = np.where(strange, np.float32(0), frames)
    mono = frames.mean(axis=1)
    if (channels := frames.shape[1]) > 1:
        # einsum turns blocks into doubles as it goes: an hour of sound is not held a second time.
        energy = np.einsum("ij,ij->j", frames, frames, dtype=np.float64)
        how = "averaged"
        if np.einsum("i,i->", mono, mono, dtype=np.float64) < 0.01 * energy.mean():
            mono, how = frames[:, energy.argmax()], f"they cancel each other: channel {energy.argmax() + 1} taken"
        notes.insert(0, f"{channels} channels, {how}")
    samples = np.ascontiguousarray(mono, dtype=np.float32)
    if rate_hz != SAMPLE_RATE_HZ:
        stream = soxr.ResampleStream(rate_hz, SAMPLE_RATE_HZ, 1, dtype="float32", quality="HQ")
        samples = stream.resample_chunk(samples, last=True)
    if (peak := float(max(frames.max(initial=0.0), -frames.min(initial=0.0)))) > 1.0:
        notes.append(f"{20 * np.log10(peak):.1f} dB beyond full scale, scaled down")
        samples = samples * np.float32(1 / peak)
    if not len(samples):
        notes.append("no samples")
    elif float(np.dot(samples, samples)) / len(samples) < 10 ** (SILENT_DBFS / 10):
        notes.append("silence")
    return Audio(samples=samples, sha256=sha256, notes=tuple(notes))


def flac(samples: Samples) -> bytes:
    """Samples at 16 kHz as the content of a 16-bit FLAC file."""
    import soundfile

    file = io.BytesIO()
    whole = np.round(np.clip(samples, -1.0, 1.0) * 32767).astype(np.int16)
    soundfile.write(file, whole, SAMPLE_RATE_HZ, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def _frames(path: Path) -> tuple[Any, int]:
    import soundfile

    try:
        file = soundfile.SoundFile(path)
    except (soundfile.SoundFileError, ValueError, TypeError) as error:
        return _decoded(path, because=_last_line(str(error)))
    with file:
        rate_hz, promised = file.samplerate, file.frames
        if promised / rate_hz > LONGEST_S:
            raise UnreadableAudio(f"longer than {LONGEST_S / 3600:g} hours: cut it into parts")
        try:
            frames = file.read(dtype="float32", always_2d=True)
        except (soundfile.SoundFileError, ValueError, MemoryError) as error:
            raise UnreadableAudio(f"broken: {_last_line(str(error))}") from error
        # An MP3's length is an estimate; the others state it.
        if len(frames) < promised and file.format != "MP3":
            raise UnreadableAudio(f"breaks off after {len(frames) / rate_hz:.1f} of {promised / rate_hz:.1f} s")
    return frames, rate_hz


_CONTAINERS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dts,eac3,flac,flv,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp2,mp3,mpeg,mpegts,"
    "nut,ogg,rm,tta,voc,w64,wav,wv"
)


def _decoded(path: Path, *, because: str) -> tuple[Any, int]:
    """What libsndfile can't read, through ffmpeg. A media file may name others to be opened with it, on this machine or
    on the net. ffmpeg is therefore held to plain files and to containers that carry their sound themselves.
    """
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise UnreadableAudio(f"libsndfile can't read it ({because}), and ffmpeg is not installed to try")
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "decoded.w64"
        command = [ffmpeg, "-nostdin", "-v", "error", "-protocol_whitelist", "file", "-format_whitelist", _CONTAINERS]
        command += ["-i", f"file:{path.resolve()}", "-map", "0:a:0", "-t", str(LONGEST_S + 1), "-c:a", "pcm_f32le"]
        done = subprocess.run([*command, str(whole)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        # It ends with success after a damaged packet, which it leaves out: what it says counts, too.
        if done.returncode != 0 or done.stderr.strip():
            said = _last_line(done.stderr.decode("utf-8", "replace"))
            raise UnreadableAudio(f"neither libsndfile nor ffmpeg can read it: {said}")
        return _frames(whole)


def _last_line(said: str) -> str:
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing"
