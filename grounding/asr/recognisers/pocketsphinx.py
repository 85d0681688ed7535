"""CMU PocketSphinx: a recogniser of the time before neural ones, whose English model travels in its wheel.

It needs no download, no GPU and little memory, and makes many mistakes. Its decoder works on one clip at a time and
holds the interpreter while it does, hence processes.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding.asr.audio import Audio, UnreadableAudio, file_sha256
from grounding.asr.recogniser import TEMPERATURES, RecogniserOptions, Recognition, Workers
from grounding.asr.records import Word
from grounding.errors import UserError

LONGEST_S = 30.0
"""Its lattice grows with the utterance; dictated sentences are what its models were made of."""

FLOOR = 1e-3
"""Standard deviation of the noise that is added to every clip, -60 dB below full scale: about that of a quiet room.

A microphone never gives exact zeros, synthetic speech does, and the logarithm in the features then overshadows the
speech: on clips of espeak-ng the word error rate falls by up to half with this floor.
"""

_FRAMES_PER_S = 100
_VARIANT = re.compile(r"\(\d+\)$")
_FILLER = re.compile(r"<.*>|\[.*\]|\+\+.*\+\+")


class PocketSphinx:
    """The decoder with one model; ``model`` is its folder, None for the one in the wheel."""

    workers: Workers = "processes"
    longest_s: float | None = LONGEST_S
    name = "pocketsphinx"

    def __init__(self, model: Path | None, identity: str, processes: int) -> None:
        """Nothing is loaded until the first clip comes."""
        self._model = model
        self._decoder: Any = None
        self.identity = identity
        self.at_once = processes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_decoder": None}

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        """Hear the clips one after the other."""
        return [self._hear(audio) for audio in batch]

    def close(self) -> None:
        """Let go of the model."""
        self._decoder = None

    def _hear(self, audio: Audio) -> Recognition:
        if not len(audio.samples):
            return Recognition(text="", language="en")
        decoder = self._opened()
        started = time.perf_counter()
        decoder.reinit_feat()  # Its estimate of the background noise would go over from clip to clip.
        decoder.start_utt()
        try:
            decoder.process_raw(_pcm(audio), no_search=False, full_utt=True)
        finally:
            decoder.end_utt()
        found = decoder.hyp()
        words = () if found is None else tuple(_word(each) for each in decoder.seg() if not _FILLER.match(each.word))
        taken_s = time.perf_counter() - started
        return Recognition(text=found.hypstr if found else "", words=words, language="en", compute_s=taken_s)

    def _opened(self) -> Any:
        if self._decoder is None:
            import pocketsphinx

            try:
                self._decoder = pocketsphinx.Decoder(samprate=16000, loglevel="FATAL", **_parts(self._model))
            except (RuntimeError, ValueError) as error:
                raise UserError(
                    f"pocketsphinx can't load its model from {self._model or 'its wheel'}: {error}"
                ) from error
        return self._decoder


def open_pocketsphinx(argument: str, options: RecogniserOptions) -> PocketSphinx:
    """The recogniser; its folder of models may stand behind the colon instead of in the options.

    Raises:
        UserError: the package is missing, the folder holds no model, or an option is not for it.
    """
    import importlib.metadata

    from grounding.asr.cores import core_count

    for name, given, usual in (
        ("prompt", options.prompt, None),
        ("beam_size", options.beam_size, None),
        ("temperatures", options.temperatures, TEMPERATURES),
    ):
        if given != usual:
            raise UserError(f"{name}: pocketsphinx has no such option; leave it out, or use whisper")
    if options.device not in (None, "cpu"):
        raise UserError(f"device {options.device}: pocketsphinx runs on the processor only; leave it out")
    chosen = argument or options.model_dir or ""
    model = Path(chosen).expanduser() if chosen else None
    if model is None and options.language not in (None, "en"):
        raise UserError(
            f"language {options.language}: the model in pocketsphinx's wheel is English; for another language give the "
            "folder of a model (acoustic model, *.lm.bin and *.dict): pocketsphinx:FOLDER"
        )
    try:
        version = importlib.metadata.version("pocketsphinx")
    except importlib.metadata.PackageNotFoundError as error:
        raise UserError("the recogniser pocketsphinx needs its package: pip install pocketsphinx") from error
    made_of = "en-us of the wheel" if model is None else _fingerprint(model)
    identity = f"pocketsphinx {version}, model {made_of}, pieces of {LONGEST_S:g} s, floor {FLOOR:g}"
    return PocketSphinx(model, identity, options.processes or core_count())


def _pcm(audio: Audio) -> bytes:
    """16-bit samples with the floor of noise, which is the same for all clips."""
    import numpy as np

    floor = np.random.default_rng(0).standard_normal(len(audio.samples), dtype=np.float32) * np.float32(FLOOR)
    return (np.clip(audio.samples + floor, -1.0, 1.0) * 32767).astype("<i2").tobytes()


def _word(segment: Any) -> Word:
    return Word(
        text=_VARIANT.sub("", segment.word),
        start_s=segment.start_frame / _FRAMES_PER_S,
        end_s=(segment.end_frame + 1) / _FRAMES_PER_S,
        probability=min(1.0, float(segment.prob)),
    )


def _parts(model: Path | None) -> dict[str, str]:
    """The decoder's settings for a folder of models; none for the built-in one."""
    if model is None:
        return {}
    if not model.is_dir():
        raise UserError(f"pocketsphinx: {model} is no folder; expected one with an acoustic model, *.lm.bin and *.dict")
    inner = sorted(path for path in (model, *model.iterdir()) if (path / "mdef").is_file())
    grammars = sorted([*model.glob("*.lm.bin"), *model.glob("*.lm")])
    dictionaries = sorted(model.glob("*.dict"))
    for what, found in (("folder with a file mdef", inner), ("*.lm.bin or *.lm", grammars), ("*.dict", dictionaries)):
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise UserError(f"pocketsphinx: {model}: expected one {what}, there is {names}")
    return {"hmm": str(inner[0]), "lm": str(grammars[0]), "dict": str(dictionaries[0])}


def _fingerprint(model: Path) -> str:
    files = []
    for part in _parts(model).values():
        path = Path(part)
        files += sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
    try:
        hashes = [(each.name, file_sha256(each)) for each in files]
    except UnreadableAudio as error:
        raise UserError(f"pocketsphinx: {model}: {error}") from error
    return hashlib.sha256(repr(hashes).encode()).hexdigest()
