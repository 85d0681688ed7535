"""Which noise, how loud: a name and a level in, a noisy clip out, the same in every run.

Which part of which recording a clip gets follows from the seed, the noise's name and the clip, and not from the level:
all levels of one clip have the same noise, louder or softer. One of the noise's recordings and a place in it are drawn;
the noise goes on from there, and around the recording as often as it takes. A place that is nearly silent (15 dB below
the recording) is drawn again, up to eight times, the loudest counts: else the rest between two keystrokes would be
turned up until it was as loud as they are.

Levels are set as by ``snr_mixer`` of github.com/microsoft/MS-SNSD (Reddy et al., 2019): speech and noise are both
brought to -25 dBFS (root mean square, pauses too), then the noise is multiplied by ``10 ** (-snr / 20)``, and the two
are added. MS-SNSD lets the sum clip, always begins at a recording's first sample and goes on with another recording
after 0.2 s of silence; here both are made quieter together where the sum would clip. Samples are float32, mono, at
16 kHz; levels are in dB of full scale.
"""

import hashlib
import math
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from grounding.asr.audio import SAMPLE_RATE_HZ, Samples, UnreadableAudio, read_audio
from grounding.data.speech import Noisy, file_sha256
from grounding.errors import UserError
from grounding.records import Record

DRAW: Final = "draw-1"
MIXER: Final = "ms-snsd-1"  # Name and version of the draw and of the mixing: part of every key of a noisy transcript.
LEVEL_DBFS: Final = -25.0  # What speech is brought to before noise is added.
PEAK: Final = 0.99  # No sample of a noisy clip is beyond this; full scale is 1.
_QUIET_DB: Final = 15.0
_DRAWS: Final = 8


class Mixed(Record, frozen=True, kw_only=True, eq=False):
    """Speech with noise: ``samples`` are float32, mono, 16 kHz, shape (n,) like the speech's. ``gain_db`` is what the
    speech was multiplied by. Where no noise could be added ``notes`` say why.
    """

    samples: Samples
    gain_db: float = 0.0
    notes: tuple[str, ...] = ()


class Source(Record, frozen=True, kw_only=True):
    """Recordings of one kind of noise, sorted by their numbers; none of one that is computed here. ``identity`` is a
    line for keys, which changes when a sample may: a version, or a hash of all files' bytes.
    """

    name: str
    files: tuple[Path, ...] = ()
    identity: str


Sources = dict[str, Source]  # What can be added: noises by their names in small letters.


def add_noise(speech: Samples, noisy: Noisy, *, clip_key: str, sources: Sources) -> Mixed:
    """A clip with noise; where speech or noise is silent no ratio is defined, and the speech comes back as it is.

    ``clip_key`` is what the draw depends on: the SHA-256 of the clip's file, so that a clip keeps its noise under
    another name. Raises UserError: there is no such noise, or its recording can't be read.
    """
    noise = _cut(find_source(noisy.source, sources), len(speech), f"{noisy.seed}\n{noisy.source.lower()}\n{clip_key}")
    spoken_dbfs, noise_dbfs = rms_dbfs(speech), rms_dbfs(noise)
    if spoken_dbfs is None or noise_dbfs is None:
        silent = "the noise is silent here" if spoken_dbfs is not None else "no speech to set a ratio to"
        return Mixed(samples=speech, notes=(f"{silent}: no noise added",))
    gain_db = LEVEL_DBFS - spoken_dbfs
    total = _amplified(speech, gain_db) + _amplified(noise, LEVEL_DBFS - noise_dbfs - noisy.snr_db)
    if (peak := float(np.abs(total).max())) > PEAK:
        # A hair more than is needed, so that rounding to float32 stays below the limit, too.
        factor = PEAK / peak * (1 - 1e-6)
        gain_db += 20 * math.log10(factor)
        total = total * np.float32(factor)
    return Mixed(samples=total, gain_db=gain_db)


def noise_identity(noisy: Noisy, sources: Sources) -> str:
    """All that decides what is added to a clip, as one line for keys. Raises UserError: there is no such noise."""
    source = find_source(noisy.source, sources)
    return f"{MIXER} {DRAW} {source.identity} {noisy.snr_db + 0.0!r}dB rms seed={noisy.seed}"


def _amplified(samples: Samples, gain_db: float) -> Samples:
    return samples * np.float32(10 ** (gain_db / 20))


def _cut(source: Source, length: int, key: str) -> Samples:
    recording = _read(source.files[_drawn(key, "recording", len(source.files))]) if source.files else made(source.name)
    enough_dbfs = (rms_dbfs(recording) or 0.0) - _QUIET_DB
    best, best_dbfs = np.zeros(length, np.float32), -math.inf
    for draw in range(_DRAWS if length else 0):
        start = _drawn(key, f"start {draw}", len(recording))
        cut = np.resize(np.roll(recording, -start), length)
        level_dbfs = rms_dbfs(cut) or -math.inf
        if level_dbfs > best_dbfs:
            best, best_dbfs = cut, level_dbfs
        if level_dbfs >= enough_dbfs:
            break
    return best


def _drawn(key: str, what: str, count: int) -> int:
    """A number from 0 to ``count - 1`` that follows from the texts alone, on every machine."""
    digest = hashlib.sha256(f"{DRAW}\n{key}\n{what}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % count


# --- where noise comes from ------------------------------------------------------------------------------------------

_FILE: Final = re.compile(r"(?P<type>[A-Za-z][A-Za-z0-9-]*)_(?P<number>\d+)\.(?:wav|flac|ogg|opus|mp3)", re.IGNORECASE)
_LAYOUT: Final = "recordings named as in MS-SNSD (Babble_1.wav, Typing_2.wav) in it or in its folder noise_test"
BABBLE: Final = Path(__file__).with_name("babble.flac")
TYPING: Final = Path(__file__).with_name("typing.flac")
"""Somebody who types fast on a mechanical keyboard, as tools/sample_speech/typing_noise.py makes it."""


def open_sources(folder: Path | None = None) -> Sources:
    """The toolkit's own noises and those of a folder, which go first where both have a name.

    The folder is laid out like MS-SNSD: files ``<Type>_<number>.wav`` in it or in ``noise_test/`` below it. Names are
    taken in small letters: ``Babble_1.wav`` is of the noise ``babble``. Raises UserError: the folder is none, holds no
    such file, or one that can't be read.
    """
    own = {name: Source(name=name, identity=f"grounding:{name}-{VERSION}") for name in COMPUTED}
    own["typing"] = Source(name="typing", files=(TYPING,), identity=f"grounding:typing-{VERSION}")
    own["babble"] = _recorded("babble", "grounding", (BABBLE,))
    if folder is None:
        return own
    for place in (folder, folder / "noise_test"):
        found: dict[str, list[tuple[int, Path]]] = {}
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if (match := _FILE.fullmatch(path.name)) is not None:
                found.setdefault(match["type"].lower(), []).append((int(match["number"]), path))
        if found:
            theirs = {name: tuple(path for _, path in sorted(files)) for name, files in found.items()}
            return own | {name: _recorded(name, "ms-snsd", files) for name, files in theirs.items()}
    raise UserError(f"noise folder {folder}: expected a folder with {_LAYOUT}; there is none")


def find_source(name: str, sources: Sources) -> Source:
    if name.lower() not in sources:
        raise UserError(f"noise {name!r}: there is no such noise; there are {', '.join(sorted(sources))}")
    return sources[name.lower()]


def _recorded(name: str, whose: str, files: tuple[Path, ...]) -> Source:
    digest = hashlib.sha256()
    for path in files:
        try:
            digest.update(f"{path.name}\n{file_sha256(path)}\n".encode())
        except OSError as error:
            raise UserError(f"noise {path}: the file can't be read: {error.strerror}") from error
    return Source(name=name, files=files, identity=f"{whose}:{name}:{len(files)}:{digest.hexdigest()}")


@lru_cache(maxsize=16)
def _read(path: Path) -> Samples:
    try:
        samples = read_audio(path).samples
    except UnreadableAudio as error:
        raise UserError(f"noise {path}: {error}; take the file out of the folder, or put a whole one there") from error
    if not samples.any():
        raise UserError(f"noise {path}: is silent; take the file out of the folder")
    return samples


# --- noises of our own -----------------------------------------------------------------------------------------------

VERSION: Final = 1  # Part of the identity of each noise made by a program: whoever changes one of them counts this up.
_COUNT: Final = 30 * SAMPLE_RATE_HZ
_MADE_DBFS: Final = -30.0
_FULL_SCALE: Final = 1 << 15
COMPUTED: Final = ("pink", "white")


@cache
def made(name: str) -> Samples:
    """One of the computed noises by its name: float32, 16 kHz, 30 s, in steps of 16 bits; its end meets its beginning.
    White noise, or noise with equal power in each octave from 20 Hz on.
    """
    raw = np.asarray(np.random.RandomState(1 if name == "white" else 2).standard_normal(_COUNT), np.float64)
    if name == "pink":
        spectrum = np.fft.rfft(raw) / np.sqrt(np.maximum(np.fft.rfftfreq(_COUNT, 1 / SAMPLE_RATE_HZ), 20.0))
        spectrum[0] = 0.0
        raw = np.fft.irfft(spectrum, _COUNT)
    scaled = raw * (10 ** (_MADE_DBFS / 20) / np.sqrt(np.mean(raw**2)))
    rounded = np.clip(np.rint(scaled * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1)
    samples: Samples = (rounded / _FULL_SCALE).astype(np.float32)
    return samples


# --- levels ----------------------------------------------------------------------------------------------------------


def rms_dbfs(samples: Samples) -> float | None:
    """Root mean square over all samples in dBFS; None where there is no sample, or only zeros.

    >>> round(rms_dbfs(np.full(16_000, 0.1, np.float32)), 2)
    -20.0
    """
    # einsum turns blocks into doubles as it goes, and starts no threads.
    mean = float(np.einsum("i,i->", samples, samples, dtype=np.float64)) / len(samples) if len(samples) else 0.0
    return None if mean == 0.0 else 10 * math.log10(mean)
