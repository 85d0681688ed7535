"""The options of a run that curates products, and what may go together."""

import hashlib
import math
from pathlib import Path
from typing import Any, get_args

import msgspec

from grounding.errors import UserError
from grounding.options import RunOptions, ScoringName
from grounding.run.ray.cluster import check_executor

from .agents.base import find_agent, registered
from .records import Condition, Scenario

REFERENCE, STRUCTURAL, OFFICIAL = "reference", "structural", "official"
RELEASED_MODEL, RELEASED_SEARCH = "gpt-5-mini", "gpt-4o-search"
"""What the release extracts and judges with, and the model of its script of curation (gpt_search.py).

``NAME@official`` asks NAME as the release asks it.
"""

LONG_REPLY_TOKENS = 8192  # Room for verdicts on twenty items with their reasons and quotes, and for thinking before.


class CurationOptions(RunOptions, frozen=True, kw_only=True):
    dataset: str = "sample-mall"
    scenario: tuple[Scenario, ...] = ()
    agent: str = "site-search"
    model: str | None = None
    curations: Path | None = None
    grounder: str | None = None
    max_steps: int | None = None
    max_seconds: float | None = None
    extractor: str = STRUCTURAL
    extractor_base_url: str | None = None
    extractions: Path | None = None
    judge: tuple[str, ...] = ()
    judge_base_url: str | None = None
    judge_prompt: str | None = None
    judgements: Path | None = None
    pages: int | None = None
    blocked_retries: int = 0
    browser_profile: Path | None = None
    preset: ScoringName = "paper"
    scoring: ScoringName = "paper"

    @property
    def judges(self) -> tuple[str, ...]:
        """Who judges: those that were asked for; without any, the offline reference, or nobody where it is recorded."""
        return self.judge or (() if self.judgements is not None else (REFERENCE,))


def as_released(options: CurationOptions) -> CurationOptions:
    """The preset ``official``: what was not named becomes the release's model, extractor, judge and reading."""
    if options.preset != OFFICIAL:
        return options
    name = f"{RELEASED_MODEL}@{OFFICIAL}"
    return msgspec.structs.replace(
        options,
        model=options.model or (RELEASED_SEARCH if options.agent == "search" else None),
        extractor=name if options.extractor == STRUCTURAL and options.extractions is None else options.extractor,
        judge=options.judge or (() if options.judgements is not None else (name,)),
        scoring="official",
    )


def web_label(options: CurationOptions) -> str:
    """What of the options changes how pages come; a UserError where the profile is no file of cookies."""
    parts = [f"blocked-retries:{options.blocked_retries}"] if options.blocked_retries else []
    if options.browser_profile is not None:
        try:
            content = options.browser_profile.read_bytes()
            if "cookies" not in msgspec.json.decode(content, type=dict[str, list[Any]]):
                raise ValueError("no cookies")
        except (OSError, ValueError) as error:
            how = "`playwright open --save-storage=FILE URL`"
            where = f"--browser-profile {options.browser_profile}"
            raise UserError(f"{where}: expected cookies and local storage as {how} writes them: {error}") from None
        parts.append(f"profile:{hashlib.sha256(content).hexdigest()[:12]}")
    return " ".join(parts)


def judge_choice(text: str) -> tuple[str, str]:
    """Read ``NAME`` or ``NAME@HOW``: who judges, and a condition of what it is shown, or ``official``.

    >>> judge_choice("gpt-6.1-sol@url-only"), judge_choice("gpt-6.1-sol")
    (('gpt-6.1-sol', 'url-only'), ('gpt-6.1-sol', 'full'))

    Raises:
        UserError: there is no such condition, or rules are to judge without what they read.
    """
    who, _, how = text.rpartition("@") if "@" in text else (text, "", "full")
    known = (*get_args(Condition), OFFICIAL)
    if not who or how not in known:
        raise UserError(f"--judge {text}: expected NAME or NAME@CONDITION, a condition of {', '.join(known)}")
    if who == REFERENCE and how != "full":
        raise UserError(f"--judge {text}: the reference reads what a page says, all of it: leave @{how} out")
    return who, how


_LEAST = {"max_steps": 1, "limit": 1, "pages": 1, "seed": 0, "blocked_retries": 0}
_POSITIVE = {"timeout": "seconds", "max_seconds": "seconds", "cost_limit": "US dollars"}


def check_options(options: CurationOptions) -> None:
    """Raise a UserError about what can't be meant."""
    check_executor(options.executor, options.workers, options.ray_address)
    for name, least in _LEAST.items():
        if (value := getattr(options, name)) is not None and value < least:
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {least} or more")
    for name, unit in _POSITIVE.items():
        if (value := getattr(options, name)) is not None and not (math.isfinite(value) and value > 0):
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {unit}, more than 0")
    agent, entry = options.agent, find_agent(options.agent)
    if entry is None:
        known = f"{', '.join(registered())} for {options.dataset}, or your own FILE.py:NAME"
        raise UserError(f"--agent {agent}: expected {known}")
    if entry.needs == "model" and options.model is None:
        raise UserError(f"--agent {agent} needs a model: --model NAME; see `grounding list {entry.listed}`")
    if (options.curations is None) == (entry.needs == "curations"):
        recorded = ", ".join(name for name, one in registered().items() if one.needs == "curations")
        raise UserError(f"--agent {agent}: --curations is what the agents {recorded} read: give both or neither")
    judges = [judge_choice(one) for one in options.judges]
    twice = next((one for one in options.judges if judges.count(judge_choice(one)) > 1), None)
    if twice is not None:
        raise UserError(f"--judge {twice}: named twice")
    no_use: dict[str, str] = {}
    if entry.needs != "model":
        no_use |= dict.fromkeys(("model", "base_url"), f"the agent {agent} asks no model")
    if agent != "browsing":
        no_use |= dict.fromkeys(("grounder", "max_steps", "max_seconds"), "is for browsing")
    if options.extractor == STRUCTURAL:
        no_use["extractor_base_url"] = "structural asks no server"
    if {who for who, _ in judges} <= {REFERENCE}:
        no_use |= dict.fromkeys(("judge_base_url", "judge_prompt"), "no judge is a chat model")
    for name, why in no_use.items():
        if value := getattr(options, name):
            shown = " ".join(value) if isinstance(value, tuple) else value
            raise UserError(f"--{name.replace('_', '-')} {shown}: {why}; leave it out")
