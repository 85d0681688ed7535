"""openai-whisper: its own code with its own checkpoints.

Everything that decides a text is the package's: the features, the windows, the fallback to higher temperatures, the
word times from the cross-attention. Sampling (the fallback) draws from torch's generator, which gets a seed from the
clip's samples before every window, so that a text doesn't hang on what was heard before it. One clip is heard at a
time; a server that hears many at once is ``whisper-api``.
"""

import functools
import hashlib
import os
import pickle
import time
import urllib.error
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grounding.asr.audio import Audio
from grounding.asr.recogniser import Answers, RecogniserOptions, Recognition, attempt
from grounding.data.speech import Word, file_sha256
from grounding.errors import UserError, install

DEFAULT_MODEL = "large-v3"  # What the RealWebAssist paper transcribes with (section 8.1.3).
LONGEST_S = 600.0  # A longer recording is cut at pauses, so that what was heard of it is kept piece by piece.
TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The package's own series: the next one where a text is too repetitive or too improbable."""


class WhisperRecogniser:
    """One checkpoint. The model is loaded, and fetched by the package where it is not on disk, for the first clip."""

    longest_s: float | None = LONGEST_S

    def __init__(self, name: str, identity: str, checkpoint: str, options: RecogniserOptions, device: str) -> None:
        """``checkpoint`` is a model's name or the path of a file."""
        self.name, self.identity, self.device = name, identity, device
        self._checkpoint, self._options = checkpoint, options

    def hear(self, pieces: Iterator[Audio]) -> Answers:
        for audio in pieces:
            model = self.model  # Outside of the attempt: without it no clip can be heard.
            yield audio, attempt(functools.partial(self._hear, model), audio)

    @functools.cached_property
    def model(self) -> Any:
        import whisper

        try:
            return whisper.load_model(self._checkpoint, device=self.device)
        except urllib.error.URLError as error:
            raise UserError(
                f"the weights of whisper {self._checkpoint} are not on this machine and can't be downloaded "
                f"({error.reason}): bring them into ~/.cache/whisper from a machine with a connection, give another "
                "checkpoint (whisper:FILE.pt), or use pocketsphinx"
            ) from error
        except (
            *(OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, EOFError),
            *(pickle.UnpicklingError, zipfile.BadZipFile),
        ) as error:
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            raise UserError(
                f"whisper {self._checkpoint}: the checkpoint can't be loaded on {self.device}: {said}; expected "
                "openai-whisper's format: a dict with dims and model_state_dict"
            ) from error

    def _hear(self, model: Any, audio: Audio) -> Recognition:
        import torch
        import whisper

        seed = int.from_bytes(hashlib.sha256(audio.samples.tobytes()).digest()[:4], "big")

        def seeded(window: Any, options: Any) -> Any:
            torch.manual_seed(seed)
            return type(model).decode(model, window, options)

        model.decode = seeded
        started = time.perf_counter()
        found = whisper.transcribe(
            model,
            audio.samples,
            verbose=None,
            temperature=TEMPERATURES,
            initial_prompt=self._options.prompt,
            word_timestamps=True,
            language=self._options.language,
            beam_size=self._options.beam_size,
            fp16=self.device.startswith("cuda"),
        )
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
        sampled = sorted({float(segment["temperature"]) for segment in found["segments"]} - {0.0})
        return Recognition(
            text=str(found["text"]).strip(),
            words=words,
            compute_s=time.perf_counter() - started,
            notes=(f"sampled at temperature {', '.join(f'{each:g}' for each in sampled)}",) if sampled else (),
        )


def open_whisper(argument: str, options: RecogniserOptions) -> WhisperRecogniser:
    try:
        import whisper
    except ImportError as error:
        raise UserError(
            f"the recogniser whisper needs the package openai-whisper ({error}): {install('whisper')}"
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
    known = {*whisper.tokenizer.LANGUAGES, *whisper.tokenizer.TO_LANGUAGE_CODE}
    if options.language is not None and options.language.lower() not in known:
        raise UserError(
            f"language {options.language!r}: whisper knows {', '.join(sorted(whisper.tokenizer.LANGUAGES))}"
        )
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"device {device}: torch finds no such GPU here; leave it out, or use cpu")
    decoding = {
        "pieces of s": LONGEST_S,
        "language": options.language,
        "prompt": options.prompt,
        "temperatures": TEMPERATURES,
        "beam_size": options.beam_size,
        "precision": "fp16" if device.startswith("cuda") else "fp32",
    }
    try:
        # The hash of a published model's weights is part of its address.
        weights = file_sha256(Path(model)) if is_file else whisper._MODELS[model].split("/")[-2]
    except OSError as error:
        raise UserError(f"whisper:{model}: {error.strerror}; expected a checkpoint file of openai-whisper") from error
    identity = f"openai-whisper {whisper.__version__}, checkpoint {weights}, {decoding}"
    return WhisperRecogniser(f"whisper:{Path(model).name if is_file else model}", identity, model, options, device)
