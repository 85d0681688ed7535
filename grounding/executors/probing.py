"""The probe of a run whose grounder has several replicas: each of them first, then all together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from grounding.display import Progress
from grounding.executors.remote import RemoteGrounder
from grounding.executors.replicas import compared_replicas
from grounding.executors.servers import SharedServers
from grounding.grounders.base import Grounder
from grounding.probe.gate import EvalProbe


@asynccontextmanager
async def probed(
    probe: EvalProbe | None,
    grounder: Grounder,
    folder: Path,
    progress: Progress,
    *,
    several: SharedServers | None = None,
    own_models: bool = False,
) -> AsyncIterator[None]:
    """What stands between the check of a run's grounder and its first question, and goes on beside the questions.

    Args:
        probe: The run's; without one nothing is asked.
        grounder: Who answers the run's questions, here or on a cluster.
        folder: The run's.
        progress: Who is told what is being done.
        several: The servers that share the questions, where they are asked from this process.
        own_models: Whether each worker on a cluster has a model of its own, in a server beside it or in its process.

    Raises:
        UserError: not one reply could be read, or nobody can be asked.
        ClusterLost, PoolClosed: the workers are gone.
    """
    async with AsyncExitStack() as beside:
        if probe is not None and isinstance(grounder, RemoteGrounder):
            if own_models:
                with progress.phase("comparing the replicas"):
                    await beside.enter_async_context(compared_replicas(grounder.pool, probe.card, folder))
            probe = probe.on_workers(grounder)
        elif probe is not None and several is not None:
            with progress.phase("comparing the servers"):
                await several.compare(folder)
        if probe is not None:
            await probe.run(folder, progress)
        yield
