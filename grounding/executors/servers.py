"""Servers that share a run's questions in this process, as replicas that can be asked one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from grounding.budget import Budget
from grounding.chat import ChatOptions
from grounding.executors.replicas import ReplicaCheck
from grounding.executors.staff import WorkerState
from grounding.grounders import BuiltGrounder
from grounding.grounders.chat import ChatGrounder
from grounding.probe.gate import EvalProbe, open_for_probe
from grounding.probe.replicas import ReplicaReport
from grounding.records import Plan, Prediction, Query


class SharedServers:
    """The addresses of one grounder. Whoever is drained is asked nothing more by the run, nor by its probe."""

    def __init__(
        self,
        built: BuiltGrounder,
        probe: EvalProbe,
        options: ChatOptions,
        *,
        budget: Budget,
        on_retry: Callable[[], None],
    ) -> None:
        """Nothing is asked yet."""
        card = probe.card
        self._card = card
        self._probe = probe
        self._built = built
        self._grounders = {
            base_url: open_for_probe(
                card, msgspec.structs.replace(options, base_url=base_url), budget=budget, on_retry=on_retry
            )
            for base_url in built.base_url.split(" ")
        }
        self._out: set[str] = set()

    async def compare(self, folder: Path) -> ReplicaReport | None:
        """Ask each of them the probe's questions once, and leave out those that answer otherwise than the others.

        Raises:
            UserError: they refuse every question.
        """
        try:
            return await ReplicaCheck(self, self._card, folder).start()
        finally:
            await asyncio.gather(*(grounder.aclose() for grounder in self._grounders.values()))

    @property
    def workers(self) -> tuple[WorkerState, ...]:
        """Those that are asked."""
        names = [name for name in self._grounders if name not in self._out]
        return tuple(WorkerState(name=name, state="ready", base_url=name) for name in names)

    async def ask_worker(self, name: str, query: Query) -> Plan | Prediction:
        """The answer of one of them."""
        return await self._grounders[name].ground(query)

    async def drain(self, name: str, _why: str, *, replace: bool = True) -> None:
        """Leave one out; there is none to take its place."""
        del replace
        self._out.add(name)
        self._probe.leave_out(name)
        if isinstance(self._built.grounder, ChatGrounder):
            self._built.grounder.leave_out(name)


def shared_servers(
    built: BuiltGrounder, probe: EvalProbe | None, options: ChatOptions, *, budget: Budget, on_retry: Callable[[], None]
) -> SharedServers | None:
    """What is to be compared before a run; None without a probe, and where there are not several addresses."""
    if probe is None or " " not in built.base_url:
        return None
    return SharedServers(built, probe, options, budget=budget, on_retry=on_retry)
