"""The options of a run that curates products, and what may go together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

from grounding.errors import UserError
from grounding.executors.staffing import check_executor
from grounding.options import CurationAgentName, Display, ExecutorName, JudgeMode, ScoringName
from grounding.records import Record
from grounding.webagents.agenticshop.records import Condition, Scenario

AGENTS: dict[CurationAgentName, str] = {
    "site-search": "types into each shop's own search box and reads what comes: the offline default, no model",
    "browsing": "a chat model that looks at screenshots with numbered elements and clicks, types and scrolls",
    "search": "a chat model that searches the web with its vendor's own tool (OpenAI, Anthropic, Gemini, Perplexity)",
    "replay": "products that somebody or something chose before, from a file: --curations",
    "agent-e": "what Agent-E wrote into its logs: --curations",
    "seeact": "what SeeAct wrote into its logs: --curations",
    "webvoyager": "what WebVoyager wrote into its logs: --curations",
    "browser-use": "what Browser Use wrote into its histories: --curations",
}
"""The agents, and what they do."""

WITH_MODEL: tuple[CurationAgentName, ...] = ("browsing", "search")
RECORDED: tuple[CurationAgentName, ...] = ("replay", "agent-e", "seeact", "webvoyager", "browser-use")
RULES = "rules"
STRUCTURAL = "structural"


class CurationOptions(Record, frozen=True, kw_only=True):
    """What a run that curates products is asked for; see ``grounding eval --help``."""

    dataset: str = "sample-mall"
    data_dir: Path | None = None
    scenario: tuple[Scenario, ...] = ()
    agent: CurationAgentName = "site-search"
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
    judge_mode: JudgeMode = "all"
    judge_prompt: str | None = None
    judgements: Path | None = None
    pages: int | None = None
    participant: tuple[str, ...] = ()
    sample_id: tuple[str, ...] = ()
    limit: int | None = None
    base_url: tuple[str, ...] = ()
    max_connections: int | None = None
    temperature: float | None = None
    seed: int | None = None
    timeout: float | None = None
    max_retries: int = 5
    cost_limit: float | None = None
    executor: ExecutorName = "local"
    workers: int | None = None
    ray_address: str | None = None
    preset: ScoringName = "paper"
    log_dir: Path = Path("results")
    fresh: bool = False
    no_report: bool = False
    display: Display | None = None
    command: str = ""

    @property
    def judges(self) -> tuple[str, ...]:
        """Who judges: those that were asked for; without any, rules, or nobody where judgements are recorded."""
        return self.judge or (() if self.judgements is not None else (RULES,))


class JudgeChoice(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A judge as it is named on the command line: who, and what it is shown."""

    who: str
    condition: Condition

    @property
    def name(self) -> str:
        """The name in tables: who, and the condition where it is not the usual one."""
        return self.who if self.condition == "full" else f"{self.who}@{self.condition}"


def judge_choice(text: str) -> JudgeChoice:
    """Read ``NAME`` or ``NAME@CONDITION``.

    >>> judge_choice("gpt-6.1-sol@url-only").condition
    'url-only'

    Raises:
        UserError: there is no such condition, or rules are to judge without what they read.
    """
    who, at, condition = text.rpartition("@")
    if not at:
        return JudgeChoice(who=text, condition="full")
    if condition not in get_args(Condition) or not who:
        raise UserError(f"--judge {text}: expected NAME or NAME@CONDITION, a condition of {', '.join(_conditions())}")
    if who == RULES and condition != "full":
        raise UserError(f"--judge {text}: rules read what a page says, so they need all of it: leave @{condition} out")
    return JudgeChoice(who=who, condition=condition)  # type: ignore[arg-type]


def check_options(options: CurationOptions) -> None:
    """Refuse what can't be meant.

    Raises:
        UserError: says which option, what came and what is expected.
    """
    check_executor(options.executor, options.workers, options.ray_address)
    agent = options.agent
    if agent not in AGENTS:
        raise UserError(f"--agent {agent}: expected one of {', '.join(AGENTS)} for {options.dataset}")
    for name in ("max_steps", "limit", "pages"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UserError(f"--{name.replace('_', '-')} {value}: expected 1 or more")
    if options.seed is not None and options.seed < 0:
        raise UserError(f"--seed {options.seed}: expected 0 or more")
    for name, unit in {"timeout": "seconds", "max_seconds": "seconds", "cost_limit": "US dollars"}.items():
        value = getattr(options, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {unit}, more than 0")
    _check_agent(options)
    judges = [judge_choice(one).name for one in options.judges]
    twice = next((name for name in judges if judges.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"--judge {twice}: named twice")
    asked = [name for name in judges if name != RULES]
    if options.judge_base_url is not None and not asked:
        raise UserError("--judge-base-url: no judge is a chat model; name one with --judge")
    if not asked and options.judge_prompt is not None:
        raise UserError(f"--judge-prompt {options.judge_prompt}: no judge is a chat model; name one with --judge")
    if not asked and options.judge_mode != "all":
        raise UserError(f"--judge-mode {options.judge_mode}: no judge is a chat model; name one with --judge")
    if options.extractor_base_url is not None and options.extractor == STRUCTURAL:
        raise UserError("--extractor-base-url: the extractor structural asks no server; name a model with --extractor")


def _check_agent(options: CurationOptions) -> None:
    agent = options.agent
    if agent in WITH_MODEL and options.model is None:
        where = "grounding list planners" if agent == "browsing" else "grounding list search"
        raise UserError(f"--agent {agent} needs a model: --model NAME; see `{where}`")
    if agent not in WITH_MODEL:
        for name in ("model", "base_url"):
            value = getattr(options, name)
            if value:
                shown = value if isinstance(value, str) else " ".join(value)
                raise UserError(
                    f"--{name.replace('_', '-')} {shown}: the agent {agent} asks no model; leave it out (judges have "
                    "--judge and --judge-base-url)"
                )
    if (agent in RECORDED) != (options.curations is not None):
        raise UserError(
            f"--curations is what the agents {', '.join(RECORDED)} read: give both or neither"
            if agent not in RECORDED
            else f"--agent {agent} needs --curations, the file or folder that it wrote"
        )
    if agent != "browsing":
        for name in ("grounder", "max_steps", "max_seconds"):
            if getattr(options, name) is not None:
                raise UserError(f"--{name.replace('_', '-')}: is for --agent browsing; leave it out")


def _conditions() -> tuple[str, ...]:
    return get_args(Condition)
