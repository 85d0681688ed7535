"""Agents of others, read from the logs that they leave: Agent-E, SeeAct, WebVoyager and Browser Use.

A folder of logs in, an agent that hands out their answers out. What an agent's last words name is what it chose, see
``answers.py``; whose a log is, says the name of its folder or file, see ``places.py``. Logs that were cut off are read
as far as they are whole.
"""

from __future__ import annotations

from pathlib import Path

from grounding.errors import UserError
from grounding.options import CurationAgentName
from grounding.webagents.agenticshop.agents.recorded import RecordedAgent


def open_logs(kind: CurationAgentName, path: Path) -> RecordedAgent:
    """The agent whose logs lie in a folder.

    Args:
        kind: ``agent-e``, ``seeact``, ``webvoyager`` or ``browser-use``.
        path: The folder; for Browser Use also a single history, named after its task.

    Raises:
        UserError: There are no such logs, two are of one task, or nothing is of that kind.
    """
    from grounding.webagents.agenticshop.agents.logs import agent_e, browser_use, seeact, webvoyager
    from grounding.webagents.agenticshop.agents.logs.places import LogRecording, find_places

    if kind == "agent-e":
        places = find_places(path, agent_e.FILES, prefix=agent_e.PREFIX, id_in_file=agent_e.ID_IN_FILE)
        return RecordedAgent(kind, LogRecording(places, agent_e.read_agent_e))
    if kind == "seeact":
        return RecordedAgent(kind, LogRecording(find_places(path, seeact.FILES), seeact.read_seeact))
    if kind == "webvoyager":
        places = find_places(path, webvoyager.FILES, prefix=webvoyager.PREFIX)
        return RecordedAgent(kind, LogRecording(places, webvoyager.read_webvoyager))
    if kind == "browser-use":
        places = find_places(path, browser_use.FILES, by_file=True)
        return RecordedAgent(kind, LogRecording(places, browser_use.read_browser_use))
    raise UserError(f"no logs are read of {kind!r}; there are: agent-e, seeact, webvoyager, browser-use")
