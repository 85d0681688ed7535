"""Where the words of a run come from, as people write it: one line of text in, a typed condition out, and back.

A condition is ``SOURCE`` or ``SOURCE@NOISE``::

    truth                                the true transcripts
    pocketsphinx   whisper   whisper:turbo   whisper:/models/tiny.pt   whisper-api:large-v3
    whisper:turbo,language=en            a recogniser with options, by the names of RecogniserOptions
    pocketsphinx@babble:10dB             with noise at a signal-to-noise ratio
    pocketsphinx@typing:0dB:active       the ratio to the level of speech, pauses left out
    pocketsphinx@babble:10dB:seed=3      with another draw of the noise
    file:transcriptions_Wturbo.json      recorded transcripts: a name in every participant's folder, or a path
                                         (replay: is the same)
    questions:questions_Wlarge.json      the instructions of another questions file

``asr`` stands for the recogniser that ``--asr`` names, pocketsphinx without it. Pure: no file is looked at here.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from grounding.asr.noise import Noisy
from grounding.asr.recogniser import DEFAULT as DEFAULT_RECOGNISER
from grounding.asr.recogniser import RecogniserOptions
from grounding.errors import UserError
from grounding.records import Record

TRUTH = "truth"
ASR = "asr"

SourceKind = Literal["truth", "file", "questions", "recogniser"]

_NOISE = re.compile(
    r"(?P<source>[A-Za-z][A-Za-z0-9_-]*):(?P<level>[-+]?\d+(?:\.\d+)?)\s*(?:dB)?(?P<more>(?::[A-Za-z0-9=-]+)*)",
    re.IGNORECASE,
)
_OPTION = re.compile(r",(?=[a-z_]+=)")
"""What separates options: a comma in a prompt is part of the prompt."""

HOW_FAST = frozenset(
    {"batch_size", "processes", "connections", "base_url", "key_variable", "timeout_s", "max_retries", "usd_per_minute"}
)
"""Options that say how a recogniser is asked and never change what it hears."""

_SEED = re.compile(r"seed=(?P<seed>\d{1,9})")
_WIDEST_DB = 100.0
_EXAMPLE = "as in pocketsphinx@babble:10dB, pocketsphinx@typing:0dB:active or pocketsphinx@white:5dB:seed=1"


class Condition(Record, frozen=True, kw_only=True):
    """One source of transcripts.

    ``name`` is the file of a recorded source and the recogniser with its model else; "" for the truth. ``options`` are
    the recogniser's, as ``name=value``, by name. ``noise`` is what is added to the speech before it is heard.
    """

    kind: SourceKind
    name: str = ""
    options: tuple[str, ...] = ()
    noise: Noisy | None = None

    @property
    def is_heard(self) -> bool:
        """Whether a recogniser has to listen."""
        return self.kind == "recogniser"

    @property
    def clean(self) -> Condition:
        """The same source without the noise."""
        return msgspec.structs.replace(self, noise=None)

    @property
    def label(self) -> str:
        """The text without what cannot change a word, places of files among it: names runs and rows of tables."""
        if self.kind in ("file", "questions"):
            return f"{self.kind}:{Path(self.name).name}"
        kept = tuple(option for option in self.options if option.partition("=")[0] not in HOW_FAST)
        return str(msgspec.structs.replace(self, options=kept))

    def __str__(self) -> str:
        """The canonical text, which ``parse_condition`` reads back as the same condition."""
        if self.kind == "truth":
            return TRUTH
        if self.kind != "recogniser":
            return f"{self.kind}:{self.name}"
        heard = ",".join((self.name, *self.options))
        return heard if self.noise is None else f"{heard}@{noise_text(self.noise)}"


def noise_text(noise: Noisy) -> str:
    """A noise as it stands behind the ``@``; what has its default value is left out.

    >>> noise_text(Noisy(source="babble", snr_db=10.0))
    'babble:10dB'
    """
    usual = Noisy(source=noise.source, snr_db=noise.snr_db)
    measure = ":active" if noise.measure != usual.measure else ""
    seed = f":seed={noise.seed}" if noise.seed != usual.seed else ""
    return f"{noise.source}:{noise.snr_db:g}dB{measure}{seed}"


def parse_noise(text: str) -> Noisy:
    """A noise from its text.

    Raises:
        UserError: it is not of the form ``SOURCE:LEVELdB``.
    """
    found = _NOISE.fullmatch(text.strip().replace("\u2212", "-"))
    if found is None:
        raise UserError(f"noise {text!r}: expected a source, a colon and decibels, {_EXAMPLE}")
    noise = Noisy(source=found["source"], snr_db=float(found["level"]) + 0.0)
    if not (math.isfinite(noise.snr_db) and abs(noise.snr_db) <= _WIDEST_DB):
        raise UserError(f"noise {text!r}: expected decibels between -{_WIDEST_DB:g} and {_WIDEST_DB:g}")
    for word in filter(None, found["more"].lower().split(":")):
        seed = _SEED.fullmatch(word)
        if seed is not None:
            noise = msgspec.structs.replace(noise, seed=int(seed["seed"]))
        elif word == "active":
            noise = msgspec.structs.replace(noise, measure="speech-active")
        elif word != "rms":
            raise UserError(
                f"noise {text!r}: {word} is neither a measure of the level (rms, active) nor a seed, {_EXAMPLE}"
            )
    return noise


def parse_condition(text: str, *, asr: str | None = None) -> Condition:
    """A condition from its text.

    Args:
        text: As above.
        asr: The recogniser that the word ``asr`` stands for; None for pocketsphinx.

    Raises:
        UserError: it names nothing, a noise that can't be read, or noise for words that nobody has to hear.
    """
    said = text.strip()
    if not said:
        raise UserError(f"--transcript: expected a source of transcripts, got nothing; {_SOURCES}")
    kind, colon, name = said.partition(":")
    if kind.lower() in ("file", "questions", "replay") and colon:
        return _recorded(said, kind.lower(), name)
    source, at, noise = said.rpartition("@")
    if not at or "/" in noise:  # The @ is part of a path.
        source, at, noise = said, "", ""
    if source.lower() in (TRUTH, "none"):
        if at:
            raise UserError(f"--transcript {text}: true transcripts have no noise; name a recogniser, {_EXAMPLE}")
        return Condition(kind="truth")
    if source == "" or source.lower() == ASR:
        source = _recogniser(asr or DEFAULT_RECOGNISER, "--asr")
    elif at and not noise.strip():
        raise UserError(f"--transcript {text}: which noise stands behind the @? Give one, {_EXAMPLE}")
    try:
        heard = parse_noise(noise) if at else None
    except UserError as error:
        raise UserError(f"--transcript {text}: {error}") from None
    name, *options = _OPTION.split(_recogniser(source, "--transcript"))
    return Condition(kind="recogniser", name=name.strip(), options=_by_name(options, said), noise=heard)


def _by_name(options: list[str], said: str) -> tuple[str, ...]:
    found = {option.partition("=")[0].strip(): option.partition("=")[2].strip() for option in options}
    if len(found) < len(options):
        raise UserError(f"--transcript {said}: an option is given twice; leave one out")
    return tuple(f"{name}={value}" for name, value in sorted(found.items()))


def recogniser_options(condition: Condition, *, base_url: str | None = None) -> RecogniserOptions:
    """The options in a condition's text as their record.

    Args:
        condition: One that is heard.
        base_url: The endpoint where the text names none.

    Raises:
        UserError: there is no such option, or its value is none.
    """
    types = {field.name: field.type for field in msgspec.structs.fields(RecogniserOptions)}
    found: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    for option in condition.options:
        name, _, value = option.partition("=")
        if name not in types:
            raise UserError(
                f"--transcript {condition}: {name} is no option of a recogniser; there are {', '.join(sorted(types))}"
            )
        try:
            several = value.split("/") if name == "temperatures" else value
            found[name] = msgspec.convert(several, types[name], strict=False)
        except msgspec.ValidationError as error:
            raise UserError(f"--transcript {condition}: {option}: {error}") from None
    return RecogniserOptions(**found)


_SOURCES = (
    "sources are truth, a recogniser (pocketsphinx, whisper, whisper:MODEL, whisper-api:MODEL), file:NAME.json and "
    "questions:NAME.json"
)


def _recorded(said: str, kind: str, name: str) -> Condition:
    before, at, behind = name.rpartition("@")
    if at and _NOISE.fullmatch(behind):
        raise UserError(
            f"--transcript {said}: {before} is recorded already: noise can be added only where a recogniser hears"
        )
    if not name.strip():
        raise UserError(f"--transcript {said}: which file? As in file:transcriptions_GT.json")
    return Condition(kind="questions" if kind == "questions" else "file", name=name.strip())


def _recogniser(spec: str, flag: str) -> str:
    """A recogniser's text as it is kept: what it means is known where it is opened."""
    spec = spec.strip()
    if not spec or any(character.isspace() and character != " " for character in spec):
        raise UserError(f"{flag} {spec!r}: expected a recogniser; {_SOURCES}")
    if spec.lower() in (TRUTH, ASR) or spec.partition(":")[0].lower() in ("file", "questions"):
        raise UserError(f"{flag} {spec}: is no recogniser; {_SOURCES}")
    return spec
