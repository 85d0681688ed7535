"""The agents by name, the options of a run over a shop, and what may go together."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from grounding.benchmarks.personalwab.agents.chat import FunctionAgent, Given, InterecAgent, ReactAgent, ShopAgent
from grounding.benchmarks.personalwab.agents.offline import RuleAgent, ShopOracle
from grounding.benchmarks.personalwab.agents.puma import ParameterAgent
from grounding.benchmarks.personalwab.prompts import PAPER_LENGTHS, RECMIND_LENGTH, RELEASE_LENGTH, MemoryName
from grounding.benchmarks.personalwab.records import Preset, Split, TaskType, Track
from grounding.errors import UserError
from grounding.options import RunOptions, ShopSearch
from grounding.records import Record
from grounding.run.building import check_numbers
from grounding.run.ray.cluster import check_executor


class AgentEntry(Record, frozen=True):
    make: Callable[[Given], ShopAgent]
    what: str
    needs: Literal["model", "folder", "nothing"] = "model"
    memory: MemoryName | None = None


AGENTS = {
    "function-calling": AgentEntry(FunctionAgent, "a chat model that calls functions, with a memory that is chosen"),
    "recmind": AgentEntry(FunctionAgent, "the same with 400 short behaviours and products' details", memory="recmind"),
    "puma": AgentEntry(FunctionAgent, "the same with functions of a file: --functions", memory="task-specific"),
    "puma-chat": AgentEntry(FunctionAgent, "the same, and the model says the function first", memory="task-specific"),
    "interecagent": AgentEntry(InterecAgent, "the same with a profile of likes and dislikes", memory="interecagent"),
    "react": AgentEntry(ReactAgent, "a chat model that writes thought, action and arguments as text (ReAct)"),
    "reflexion": AgentEntry(ReactAgent, "the same, and it reflects on every reply of the user"),
    "rules": AgentEntry(RuleAgent, "rules on words, purchases and own reviews: the default, the floor", "nothing"),
    "oracle": AgentEntry(
        ShopOracle, "knows the target, asks in the best way: the ceiling of the web", "nothing", "none"
    ),
    "puma-local": AgentEntry(ParameterAgent, "a model of --model-path writes the parameter", "folder", "task-specific"),
}
WITHOUT_MODEL = tuple(name for name, entry in AGENTS.items() if entry.needs != "model")
OWN_MEMORY = {name: entry.memory for name, entry in AGENTS.items() if entry.memory is not None}

HUMAN = "human"
MAX_STEPS = 10  # Moves of an episode, at most (release; its ReAct agent takes 3 in the single-turn track).


class ShopOptions(RunOptions, frozen=True, kw_only=True):
    dataset: str = "sample-shop"
    split: Split = "test"
    agent: str = "rules"
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
    search: ShopSearch = "bm25"
    preset: Preset = "paper"
    kind: TaskType | None = None

    @property
    def memory_kind(self) -> MemoryName:
        return OWN_MEMORY.get(self.agent) or self.memory or "last"

    @property
    def behaviours(self) -> int:
        if self.memory_length is not None:
            return self.memory_length
        if self.preset == "official":
            return RELEASE_LENGTH
        return RECMIND_LENGTH if self.agent == "recmind" else PAPER_LENGTHS[self.track]

    @property
    def steps(self) -> int:
        if self.max_steps is not None:
            return self.max_steps
        # The released ReAct agent stops after three replies where it may not talk.
        react = self.preset == "official" and self.track == "single" and self.agent in ("react", "reflexion")
        return 3 if react else MAX_STEPS

    @property
    def functions_file(self) -> Path | None:
        return None if str(self.functions) in ("None", "model") else self.functions


def check_options(options: ShopOptions) -> None:
    check_executor(options.executor, options.workers, options.ray_address)
    check_numbers(options)
    if options.agent not in AGENTS:
        raise UserError(f"--agent {options.agent}: expected one of {', '.join(AGENTS)}")
    agent, memory = options.agent, options.memory
    own, asks, multi = OWN_MEMORY.get(agent), agent not in WITHOUT_MODEL, options.track == "multi"
    local, file = agent == "puma-local", options.functions_file
    alone = options.user == HUMAN or agent == "interecagent"
    refused = {
        f"--memory {memory}: the agent {agent} has a memory of its own": own is not None and memory not in (None, own),
        "--memory task-specific needs the function to be predicted first: that is --agent puma": (
            memory == "task-specific" and agent in ("react", "reflexion", "function-calling")
        ),
        f"--model, --base-url: the agent {agent} asks no chat model": not asks and (options.model or options.base_url),
        f"--temperature: the agent {agent} takes no temperature": not asks and options.temperature is not None,
        f"--agent {agent} needs a chat model: --model gpt-4o, say; see `grounding list planners`": (
            asks and options.model is None
        ),
        "--model-path is the model of --agent puma-local: give both or neither": local
        != (options.model_path is not None),
        "--memory-tokens: only the memory of --agent puma-local is cut": not local
        and options.memory_tokens is not None,
        "--agent puma takes the function of each task from a file, as released: --functions FILE "
        '({"instruction": ["function"]}); with --agent puma-chat the model is asked': agent == "puma" and file is None,
        "--functions: only --agent puma and puma-local predict a function": (
            options.functions is not None and agent != "puma" and not local
        ),
        f"--user {options.user}: nobody answers in the single-turn track; add --track multi": (
            not multi and options.user is not None
        ),
        "--agent reflexion reflects on the user's replies: add --track multi": not multi and agent == "reflexion",
        "--user human and --agent interecagent work in this process alone: leave out --executor ray": (
            options.executor == "ray" and alone
        ),
    }
    for words, is_so in refused.items():
        if is_so:
            raise UserError(words)
