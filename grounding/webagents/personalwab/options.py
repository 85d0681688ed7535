"""The options of a run over a shop, and what may go together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, get_args

from grounding.errors import UserError
from grounding.executors.staffing import check_executor
from grounding.options import Display, ExecutorName, ShopAgentName, ShopSearch
from grounding.records import Record
from grounding.webagents.personalwab.episode import MAX_STEPS
from grounding.webagents.personalwab.memory import PAPER_LENGTHS, RECMIND_LENGTH, RELEASE_LENGTH, MemoryName
from grounding.webagents.personalwab.records import Split, TaskType, Track
from grounding.webagents.personalwab.verdicts import ShopRule, Which

AgentName = ShopAgentName
SearchName = ShopSearch
Preset = Literal["paper", "official"]

AGENTS: dict[AgentName, str] = {
    "rules": "rules on the words, the remembered purchases and the user's own reviews: the offline default, the floor",
    "function-calling": "a chat model that calls functions, with one of the memories none, random, last, relevant",
    "react": "a chat model that writes thought, action and arguments as text (ReAct)",
    "reflexion": "the same, and it reflects on every reply of the user",
    "recmind": "function calling with up to 400 short behaviours and a function for a product's details (RecMind)",
    "interecagent": "function calling with a profile of likes, dislikes and expectations (InteRecAgent)",
    "puma": "predicts the function first, then calls it with a memory worded for it (PUMA, any chat model)",
    "puma-local": "PUMA with a causal language model from a folder, which writes the parameter: --model-path",
    "oracle": "knows the target and asks for it in the best way there is: the ceiling of the web",
}
"""The agents, and what they do."""

WITHOUT_MODEL: tuple[AgentName, ...] = ("rules", "oracle", "puma-local")
PLAIN_MEMORIES: tuple[MemoryName, ...] = ("none", "random", "last", "relevant")
OWN_MEMORY: dict[AgentName, MemoryName] = {
    "recmind": "recmind",
    "interecagent": "interecagent",
    "puma": "task-specific",
    "puma-local": "task-specific",
    "oracle": "none",
}
"""Agents whose memory is a part of them."""

PREDICTORS = ("model", "words")
"""Who else than a file may say which function PUMA's own model is to call: the model itself, or the words."""


class ShopOptions(Record, frozen=True, kw_only=True):
    """What a run over a shop is asked for; see ``grounding eval --help``."""

    dataset: str = "sample-shop"
    data_dir: Path | None = None
    split: Split = "test"
    agent: AgentName = "rules"
    model: str | None = None
    model_path: Path | None = None
    functions: Path | None = None
    track: Track = "single"
    memory: MemoryName | None = None
    memory_length: int | None = None
    memory_tokens: int | None = None
    max_steps: int | None = None
    user: str | None = None
    user_base_url: str | None = None
    search: SearchName = "bm25"
    search_index: Path | None = None
    preset: Preset = "paper"
    attempt: Which | None = None
    kind: TaskType | None = None
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
    log_dir: Path = Path("results")
    fresh: bool = False
    no_report: bool = False
    display: Display | None = None
    command: str = ""

    @property
    def memory_kind(self) -> MemoryName:
        """The memory that the agent has: its own, the one that was chosen, or the last purchases."""
        return OWN_MEMORY.get(self.agent) or self.memory or "last"

    @property
    def behaviours(self) -> int:
        """How many behaviours are told: as asked for, or as the preset has it for track and agent."""
        if self.memory_length is not None:
            return self.memory_length
        if self.preset == "official":
            return RELEASE_LENGTH
        return RECMIND_LENGTH if self.agent == "recmind" else PAPER_LENGTHS[self.track]

    @property
    def steps(self) -> int:
        """How many moves an episode has at most."""
        if self.max_steps is not None:
            return self.max_steps
        # The released ReAct agent stops after three replies where it may not talk.
        react = self.preset == "official" and self.track == "single" and self.agent in ("react", "reflexion")
        return 3 if react else MAX_STEPS[self.track]

    @property
    def rule(self) -> ShopRule:
        """The reading that the table shows."""
        return self.preset


def check_options(options: ShopOptions) -> None:
    """Refuse what can't be meant.

    Raises:
        UserError: says which option, what came and what is expected.
    """
    check_executor(options.executor, options.workers, options.ray_address)
    if options.agent not in get_args(AgentName):
        raise UserError(f"--agent {options.agent}: expected one of {', '.join(AGENTS)}")
    own = OWN_MEMORY.get(options.agent)
    if options.memory is not None and own is not None and options.memory != own:
        raise UserError(f"--memory {options.memory}: the agent {options.agent} has a memory of its own; leave it out")
    if own is None and options.memory in ("recmind", "interecagent"):
        raise UserError(f"--memory {options.memory} belongs to --agent {options.memory}: choose that agent")
    if options.memory == "task-specific" and options.agent in ("react", "reflexion", "function-calling"):
        raise UserError("--memory task-specific needs the function to be predicted first: that is --agent puma")
    for name, lowest in {"memory_length": 0, "memory_tokens": 1, "max_steps": 1, "limit": 1, "seed": 0}.items():
        value = getattr(options, name)
        if value is not None and value < lowest:
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {lowest} or more")
    for name, unit in {"timeout": "seconds", "cost_limit": "US dollars"}.items():
        value = getattr(options, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {unit}, more than 0")
    if options.agent in WITHOUT_MODEL:
        if options.model is not None:
            raise UserError(f"--model {options.model}: the agent {options.agent} asks no chat model; leave it out")
        if options.base_url:
            raise UserError(f"--base-url: the agent {options.agent} asks no server; leave it out")
    elif options.model is None:
        raise UserError(
            f"--agent {options.agent} needs a chat model: --model gpt-4o, say; see `grounding list planners`"
        )
    if (options.agent == "puma-local") != (options.model_path is not None):
        raise UserError("--model-path is the folder of the model of --agent puma-local: give both or neither")
    if options.functions is not None and options.agent not in ("puma", "puma-local"):
        raise UserError("--functions: only --agent puma and puma-local predict a function; leave it out")
    if options.agent == "puma" and str(options.functions) in PREDICTORS:
        raise UserError(f"--functions {options.functions}: only --agent puma-local can be told so; give a file")
    if options.track == "single" and options.user is not None:
        raise UserError(f"--user {options.user}: nobody answers in the single-turn track; add --track multi")
    if options.track == "single" and options.agent == "reflexion":
        raise UserError("--agent reflexion reflects on the user's replies: add --track multi")
