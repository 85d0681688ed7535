"""openai-whisper: its own code with its own checkpoints, several clips to a decoding call.

Everything that decides a text is the package's: the features, the windows, the fallback to higher temperatures, the
word times from the cross-attention. Here are only the choice of the checkpoint, and the batches (``gathering``).
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
import urllib.error
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from grounding.asr.audio import Audio, UnreadableAudio, file_sha256
from grounding.asr.recogniser import RecogniserOptions, Recognition, RecognitionFailed, Workers
from grounding.asr.recognisers.gathering import Gathering, StandIn
from grounding.asr.records import Word
from grounding.errors import UserError

DEFAULT_MODEL = "large-v3"
"""What the RealWebAssist paper transcribes with (section 8.1.3)."""

_ERRORS = (RuntimeError, ValueError, LookupError, TypeError, AssertionError)


class WhisperRecogniser:
    """One checkpoint. The model is loaded, and fetched by the package where it is not on disk, for the first clip."""

    workers: Workers = "batch"
    longest_s: float | None = None

    def __init__(self, name: str, identity: str, checkpoint: str, options: RecogniserOptions, device: str) -> None:
        """``checkpoint`` is a model's name or the path of a file."""
        self.name = name
        self.identity = identity
        self.at_once = options.batch_size
        self._checkpoint = checkpoint
        self._options = options
        self._device = device
        self._model: Any = None
        self.decoder_calls = 0
        self.windows = 0

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        """Transcribe the clips together.

        Raises:
            UserError: the checkpoint can't be had or is none.
            RecognitionFailed: the package fails over one of them.
        """
        model = self._opened()
        started = time.perf_counter()
        gathering = Gathering(model, self._transcribe, _ERRORS)
        results = gathering.run([audio.samples for audio in batch], [_seed(audio) for audio in batch])
        self.decoder_calls += gathering.decoder_calls
        self.windows += gathering.windows
        taken_s = time.perf_counter() - started
        total_s = sum(audio.seconds for audio in batch) or 1.0
        heard = []
        for audio, result in zip(batch, results, strict=True):
            if isinstance(result, Exception):
                raise RecognitionFailed(f"openai-whisper: {type(result).__name__}: {result}") from result
            heard.append(_recognition(result, taken_s * audio.seconds / total_s))
        return heard

    def close(self) -> None:
        """Let go of the model."""
        self._model = None

    def _transcribe(self, model: StandIn, samples: Any) -> dict[str, Any]:
        import whisper

        given = self._options
        found: dict[str, Any] = whisper.transcribe(
            model,
            samples,
            verbose=None,
            temperature=given.temperatures,
            initial_prompt=given.prompt,
            word_timestamps=True,
            language=given.language,
            beam_size=given.beam_size,
            fp16=self._device.startswith("cuda"),
        )
        return found

    def _opened(self) -> Any:
        if self._model is None:
            import whisper

            where = _expected_file(self._checkpoint)
            if where is not None and not where.is_file():
                print(
                    f"grounding: the weights of whisper {self._checkpoint} are not in {where.parent}: openai-whisper "
                    f"downloads them now from {urlsplit(whisper._MODELS[self._checkpoint]).netloc}",
                    file=sys.stderr,
                    flush=True,
                )
            self._model = _load(self._checkpoint, self._device, where)
        return self._model


def open_whisper(argument: str, options: RecogniserOptions) -> WhisperRecogniser:
    """The recogniser of a model's name ("" for large-v3) or of a checkpoint file in the package's format.

    Raises:
        UserError: the package is missing, no such model or file, or an option it doesn't take.
    """
    try:
        import whisper
    except ImportError as error:
        raise UserError(
            f"the recogniser whisper needs the package openai-whisper ({error}): pip install 'grounding[whisper]'"
        ) from error
    import torch

    model = argument or DEFAULT_MODEL
    is_file = model.endswith(".pt") or "/" in model or os.sep in model
    if is_file:
        model = str(Path(model).expanduser())
    elif model not in whisper.available_models():
        raise UserError(
            f"whisper has no model {model!r}; there are {', '.join(whisper.available_models())}, or give the path of a "
            "checkpoint file (.pt)"
        )
    if options.model_dir is not None:
        raise UserError("model_dir is for pocketsphinx; give whisper a checkpoint as whisper:FILE.pt")
    language = options.language
    known = {*whisper.tokenizer.LANGUAGES, *whisper.tokenizer.TO_LANGUAGE_CODE}
    if language is not None and language.lower() not in known:
        raise UserError(f"language {language!r}: whisper knows {', '.join(sorted(whisper.tokenizer.LANGUAGES))}")
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"device {device}: torch finds no such GPU here; leave it out, or use cpu")
    decoding = {
        "language": language,
        "prompt": options.prompt,
        "temperatures": options.temperatures,
        "beam_size": options.beam_size,
        "precision": "fp16" if device.startswith("cuda") else "fp32",
    }
    identity = f"openai-whisper {whisper.__version__}, checkpoint {_weights_sha256(model, is_file)}, {decoding}"
    name = f"whisper:{Path(model).name if is_file else model}"
    return WhisperRecogniser(name, identity, model, options, device)


def _weights_sha256(model: str, is_file: bool) -> str:
    """The hash of the weights: of a file's bytes; that of a published model is part of its address."""
    import whisper

    if not is_file:
        return str(whisper._MODELS[model].split("/")[-2])
    try:
        return file_sha256(Path(model))
    except UnreadableAudio as error:
        raise UserError(f"whisper:{model}: {error}; expected a checkpoint file of openai-whisper") from error


def _expected_file(model: str) -> Path | None:
    """Where the package keeps a published model (``whisper.load_model``); None for a checkpoint file."""
    import whisper

    if model not in whisper._MODELS:
        return None
    cache = os.getenv("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "whisper" / Path(urlsplit(whisper._MODELS[model]).path).name


def _load(checkpoint: str, device: str, expected: Path | None) -> Any:
    import pickle
    import zipfile

    import whisper

    try:
        return whisper.load_model(checkpoint, device=device)
    except urllib.error.URLError as error:
        # The package opens the file for writing together with the address.
        if expected is not None and expected.is_file() and expected.stat().st_size == 0:
            expected.unlink()
        raise UserError(
            f"the weights of whisper {checkpoint} are not on this machine and can't be downloaded ({error.reason}): "
            f"bring {expected.name if expected else 'the file'} into {expected.parent if expected else 'place'} from a "
            "machine with a connection, give another checkpoint (whisper:FILE.pt), or use pocketsphinx"
        ) from error
    except OSError as error:
        raise UserError(f"whisper {checkpoint}: the weights can't be read or kept: {error}") from error
    except (
        RuntimeError,
        pickle.UnpicklingError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        zipfile.BadZipFile,
    ) as e:
        first = " ".join(str(e).split())[:300]
        raise UserError(
            f"whisper {checkpoint}: the checkpoint can't be loaded on {device}: {type(e).__name__}: {first}; expected "
            "openai-whisper's format: a dict with dims and model_state_dict"
        ) from e


def _seed(audio: Audio) -> int:
    return int.from_bytes(hashlib.sha256(audio.samples.tobytes()).digest()[:4], "big")


def _recognition(found: dict[str, Any], compute_s: float) -> Recognition:
    words = tuple(
        Word(
            text=str(word["word"]).strip(),
            start_s=float(word["start"]),
            end_s=float(word["end"]),
            probability=float(word["probability"]),
        )
        for segment in found["segments"]
        for word in segment.get("words", ())
    )
    temperatures = sorted({float(segment["temperature"]) for segment in found["segments"]} - {0.0})
    notes = (f"sampled at temperature {', '.join(f'{each:g}' for each in temperatures)}",) if temperatures else ()
    return Recognition(
        text=str(found["text"]).strip(), words=words, language=str(found["language"]), compute_s=compute_s, notes=notes
    )
