"""A run of clicks as it lies on disk: what was asked, what came, and what it amounts to.

``run.json`` says what was asked, ``steps.jsonl`` holds the steps with their gold regions (so that a run can be scored
again wherever the data has gone), ``plans.jsonl`` and ``predictions.jsonl`` the answers as they came;
``verdicts.jsonl``, ``summary.json`` and ``time.json`` are derived from those and can be deleted.
"""

import datetime
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET

from grounding import __version__
from grounding.cards import ChatCard, ImageRule
from grounding.cards.schema import Family
from grounding.data.history import HistoryScope
from grounding.data.release import data_name
from grounding.errors import UserError
from grounding.llm.chat import identity_hash
from grounding.records import Plan, Prediction, Record, Session, Step, Verdict
from grounding.run.journal import Journal
from grounding.run.lock import AboutRun, DescribedFolder
from grounding.scoring.metrics import SCORING
from grounding.scoring.scored import ClusterName
from grounding.scoring.summary import Summary

_LIBRARIES = ("aiohttp", "msgspec", "numpy", "onnxruntime", "opencv-python-headless", "pillow", "rapidocr", "shapely")


def run_id(asked: Record, names: Sequence[str]) -> str:
    """A readable name with the hash of everything that was asked, so that a changed option is another folder."""
    digest = hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:10]
    words = "_".join(name.replace(":", "-").replace("/", "-") for name in names)
    return f"{words}_{digest}"


def library_versions(more: Sequence[str] = ()) -> dict[str, str]:
    found = {"grounding": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in (*_LIBRARIES, *more):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def begun(
    asked: Record, names: Sequence[str], options: Any, departs: tuple[str, ...], libraries: Sequence[str] = ()
) -> dict[str, Any]:
    """What ``run.json`` says of any run that begins: the fields of an AboutRun, and what was asked. ``names`` are those
    in the run's id, ``libraries`` those whose versions are told beside the usual ones.
    """
    return {
        "run_id": run_id(asked, names),
        "status": "started",
        "signature": "",
        "asked": asked,
        "data_dir": str(options.data_dir or ""),
        "command": options.command,
        "versions": library_versions(libraries),
        "started_at": utc_now(),
        "departs": departs,
    }


class AskedTranscript(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where the words of a run come from, if not from the questions file: all that can change them. ``condition`` is
    the canonical text of the source. ``recogniser`` and ``noise`` are identities (name, version, options; the mixer's
    version, its sources, level and seed), "" where there is none; ``source`` is the hash of the recordings' bytes or of
    the recorded transcripts. ``normaliser`` is what word error rates are computed after.
    """

    condition: str
    recogniser: str
    noise: str
    source: str
    normaliser: str


class RunSettings(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an answer or a score; its hash is the run's id. ``history_scope`` and ``plan_ahead``
    are as asked where they change anything, else their defaults. ``epoch`` is the number of a repeat, from 2; a run
    that repeats none has none written, and one over the true words no ``transcript``. ``planner_identity`` and
    ``grounder_identity`` are canonical texts of model, prompt, image rule and parameters.
    """

    dataset: str
    fingerprint: str
    questions: str
    history: int
    history_scope: HistoryScope = "session"
    history_file: str
    select: str
    planner: str
    planner_identity: str
    planner_base_url: str
    plan_ahead: bool = False
    grounder: str
    grounder_identity: str
    base_url: str
    seed: int
    version: str
    epoch: int | msgspec.UnsetType = msgspec.UNSET
    transcript: AskedTranscript | msgspec.UnsetType = msgspec.UNSET


class GrounderSetup(Record, frozen=True, kw_only=True):
    """The user's options for data and grounder, so that the same grounder can be asked again; paths are absolute. What
    an answer hangs on is in :class:`RunSettings`; this is how to come by it. The names are those of ``grounding eval``.
    """

    dataset: str
    data_dir: str | None = None
    questions: str | None = None
    history_file: str | None = None
    grounder: str
    zoom: str = "none"
    predictions: str | None = None
    send: str | None = None
    backend: str | None = None
    model_path: str | None = None
    dtype: str | None = None
    device: str | None = None
    batch_size: int | None = None
    base_url: tuple[str, ...] = ()
    replicas: int = 1
    server_command: str | None = None
    temperature: float | None = None
    seed: int | None = None


class RunInfo(AboutRun, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``. ``family`` is the grounder's architecture, which says how many tokens its pictures
    take; it changes no answer. ``setup`` is None in runs of older versions. ``clusters`` is what the intervals are
    drawn over.
    """

    asked: RunSettings
    family: Family | None = None
    setup: GrounderSetup | None = None
    clusters: ClusterName = "task"


TRANSCRIPTS = "transcripts.json"  # What a run was told instead of the true words; only there where it was.


def utc_now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class RunFolder(DescribedFolder[RunInfo]):
    info_type = RunInfo
    kind = "a run of clicks"

    def write_steps(self, sessions: Iterable[Session]) -> None:
        self.replace_lines("steps.jsonl", (step for session in sessions for step in session.steps))

    def read_sessions(self) -> tuple[Session, ...]:
        """The steps of the run, by participant; raises as :meth:`stream_sessions`."""
        return tuple(self.stream_sessions())

    def stream_sessions(self) -> Iterator[Session]:
        """The same one after the other, so that only one is held at a time."""
        seen: set[str] = set()
        lines = self.stream_lines("steps.jsonl", Step, what="a step")
        for participant, steps in groupby(lines, key=attrgetter("participant")):
            if participant in seen:
                raise UserError(f"{self.path / 'steps.jsonl'}: the steps of {participant} do not follow one another")
            seen.add(participant)
            yield Session(participant=participant, steps=tuple(steps))

    def plans(self, *, read_only: bool = False) -> Journal[Plan]:
        return Journal(self.path / "plans.jsonl", Plan, read_only=read_only)

    def predictions(self, *, read_only: bool = False) -> Journal[Prediction]:
        return Journal(self.path / "predictions.jsonl", Prediction, read_only=read_only)

    def stream_verdicts(self) -> Iterator[Verdict]:
        """Read ``verdicts.jsonl``."""
        try:
            yield from self.stream_lines("verdicts.jsonl", Verdict, what="a verdict")
        except UserError as error:
            raise UserError(f"{error}; `grounding score {self.path}` makes it from the stored answers") from error

    def read_summary(self) -> Summary:  # type: ignore[override]
        """Read ``summary.json``."""
        return super().read_summary(Summary)


# --- what a number is a number of -----------------------------------------------------------------------------------


def image_rule_text(rule: ImageRule) -> str:
    """The image rule in a word: ``original``, or who resizes to which multiples within which pixel counts."""
    if rule.resize == "none":
        return "original"
    if rule.canvas is not None:
        return f"canvas:{rule.canvas[0]}x{rule.canvas[1]}"
    if rule.fit is not None:
        return f"fit:{rule.fit.max_side_px}/{rule.fit.max_patches}"
    first = rule.first
    before = f"{first.min_pixels or ''}-{first.max_pixels or ''}/{first.sides}>" if first is not None else ""
    return f"{rule.resize}:{before}{rule.factor}:{rule.min_pixels}-{rule.max_pixels}"


def _plain(text: str) -> str:
    return text.replace("|", "/")


def signature(
    asked: RunSettings,
    planner_card: ChatCard | None,
    grounder_card: ChatCard | None,
    clusters: ClusterName = "task",
    word_error_percent: float | None = None,
    departs: Sequence[str] = (),
) -> str:
    """The signature of a run, ``key:value`` pairs joined by bars. Everything that can change a score is in it; speed,
    addresses and file locations are not. ``clusters`` is what the intervals were drawn over, ``word_error_percent`` the
    word error rate of transcripts that are not the true ones; None where they are not made yet. ``departs`` says what
    shows that the data set is not the release.
    """
    cards = [card for card in (planner_card, grounder_card) if card is not None]
    parts = {
        "dataset": f"{data_name(asked.dataset, departs)}@{asked.fingerprint[:12]}",
        "planner": f"{asked.planner}@{identity_hash(asked.planner_identity)}{'/ahead' if asked.plan_ahead else ''}",
        "grounder": f"{asked.grounder}@{identity_hash(asked.grounder_identity)}",
        "prompt": "+".join(card.prompt_label for card in cards) or "none",
        "image": "+".join(image_rule_text(card.image) for card in cards) or "original",
        "history": f"{asked.history}/{asked.history_scope}" if asked.history else "0",
        "select": asked.select,
        "scoring": SCORING,
        "clusters": clusters,
        "seed": f"{asked.seed}",
        "version": asked.version,
    }
    if asked.epoch is not UNSET:
        parts["epoch"] = f"{asked.epoch}"
    told = asked.transcript
    if told is not UNSET:
        made_by = identity_hash("\n".join((told.recogniser, told.noise, told.source)))
        parts["transcript"] = f"{_plain(told.condition)}@{made_by}"
        rate = "unknown" if word_error_percent is None else f"{word_error_percent:.2f}%"
        parts["wer"] = f"{rate}/{told.normaliser}"
    return "|".join(f"{name}:{value}" for name, value in parts.items())
