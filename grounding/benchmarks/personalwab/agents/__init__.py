"""Agents that call web functions, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from grounding.benchmarks.personalwab.agents.base import Given, ShopAgent
from grounding.benchmarks.personalwab.agents.chat import FunctionAgent, InterecAgent, ReactAgent
from grounding.benchmarks.personalwab.agents.offline import RuleAgent, ShopOracle
from grounding.benchmarks.personalwab.agents.puma import ParameterAgent
from grounding.benchmarks.personalwab.memory import MemoryName
from grounding.records import Record


class AgentEntry(Record, frozen=True):
    """An agent: how it is made, what it does in a line, what it needs, and the memory that is its own."""

    make: Callable[[Given], ShopAgent]
    what: str
    needs: Literal["model", "folder", "nothing"] = "model"
    memory: MemoryName | None = None


_CALLS = "a chat model that calls functions, with one of the memories none, random, last, relevant"
_DETAILS = "function calling with up to 400 short behaviours and a function for a product's details (RecMind)"
_FILE = "function calling with a function from a file of predictions and a memory for it (PUMA): --functions"
_ASKED = "the same, and the chat model itself says the function first; a method of this toolkit"
_LIKINGS = "function calling with a profile of likes, dislikes and expectations (InteRecAgent)"
_TEXT = "a chat model that writes thought, action and arguments as text (ReAct)"
_FLOOR = "rules on the words, the remembered purchases and the user's own reviews: the offline default, the floor"
_CEILING = "knows the target and asks for it in the best way there is: the ceiling of the web"
_LOCAL = "PUMA with a causal language model from a folder, which writes the parameter: --model-path"
AGENTS = {
    "function-calling": AgentEntry(FunctionAgent, _CALLS),
    "recmind": AgentEntry(FunctionAgent, _DETAILS, memory="recmind"),
    "puma": AgentEntry(FunctionAgent, _FILE, memory="task-specific"),
    "puma-chat": AgentEntry(FunctionAgent, _ASKED, memory="task-specific"),
    "interecagent": AgentEntry(InterecAgent, _LIKINGS, memory="interecagent"),
    "react": AgentEntry(ReactAgent, _TEXT),
    "reflexion": AgentEntry(ReactAgent, "the same, and it reflects on every reply of the user"),
    "rules": AgentEntry(RuleAgent, _FLOOR, "nothing"),
    "oracle": AgentEntry(ShopOracle, _CEILING, "nothing", "none"),
    "puma-local": AgentEntry(ParameterAgent, _LOCAL, "folder", "task-specific"),
}
