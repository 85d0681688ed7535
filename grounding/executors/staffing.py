"""Who works on the cluster, in how many workers, and what each takes up there. Pure functions.

What only looks things up stays with the writer. What waits for an endpoint takes up no processor, so that it always
finds a place; what computes gets whole nodes or GPUs. A provider's limits are counted where its requests are sent, so
one worker sends them all; the connections that a user or a card allows to a server are shared out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from urllib.parse import urlsplit

from grounding.card_schema import ChatCard
from grounding.errors import UserError
from grounding.executors.gpus import gpus_per_replica
from grounding.executors.link import Cluster, Needs
from grounding.executors.recipe import Beside
from grounding.grounders import BuiltGrounder
from grounding.grounders.som.card import SomCard
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner
from grounding.records import Record
from grounding.serving.command import DEFAULT_COMMAND

PLANNERS_THAT_STAY = frozenset({"none", "replay"})
GROUNDERS_THAT_STAY = frozenset({"center", "random", "oracle", "replay"})


class Staff(Record, frozen=True, kw_only=True):
    """So many workers, what each takes up, and the connections each may have open (None: as the card says)."""

    workers: int
    needs: Needs
    max_connections: int | None = None


def planner_staff(options: EvalOptions, built: BuiltPlanner, cluster: Cluster) -> Staff | None:
    """The workers of a run's planner; None where it stays with the writer."""
    if built.card is not None:
        return _at_an_endpoint(options, built.card, cluster, own_address=options.planner_base_url is not None)
    # Plans that were saved are named after their file.
    if built.planner.name.partition(":")[0] in PLANNERS_THAT_STAY:
        return None
    # Another package's planner. It takes up no processor, or it might wait for a grounder that waits for its plans.
    return Staff(workers=options.workers or len(cluster.nodes), needs=Needs(cpus=0.0))


def grounder_staff(
    options: EvalOptions, built: BuiltGrounder, cluster: Cluster, *, beside: Beside | None = None
) -> Staff | None:
    """The workers of a run's grounder; None where it stays with the writer.

    Args:
        options: Those of the run.
        built: The writer's own grounder.
        cluster: Where the work is to be done.
        beside: The server that each worker starts for itself, if any.

    Raises:
        UserError: the cluster has no node with as many GPUs as a worker needs.
    """
    if beside is not None:
        return _with_servers(options, beside, cluster)
    if built.card is not None and built.base_url:
        return _at_an_endpoint(options, built.card, cluster, own_address=bool(options.base_url))
    if built.card is not None:  # Its weights are in the worker.
        return _with_gpus(options.workers, 1, cluster) if cluster.gpus >= 1 else _whole_nodes(options, cluster)
    return None if options.grounder in GROUNDERS_THAT_STAY else _whole_nodes(options, cluster)


class AskedModel(Record, frozen=True, kw_only=True):
    """A model that a stage asks: how many connections it allows, and whether it is at an address of the user's own.

    ``limited`` says that its provider counts requests or tokens.
    """

    max_connections: int
    own_address: bool
    limited: bool = False


def asked_model(card: ChatCard, *, own_address: bool) -> AskedModel:
    """A card's model, at the user's own address or at the card's."""
    limited = card.requests_per_minute is not None or card.tokens_per_minute is not None
    return AskedModel(max_connections=card.max_connections, own_address=own_address, limited=limited)


def stage_staff(
    workers: int | None,
    cluster: Cluster,
    *,
    models: Sequence[AskedModel] = (),
    max_connections: int | None = None,
    gpus: bool = False,
    computes: bool = True,
    beside: Beside | None = None,
) -> Staff:
    """The workers of a benchmark's stage.

    Args:
        workers: How many the user wants.
        cluster: Where the work is to be done.
        models: What it asks over the network.
        max_connections: How many requests the user allows to each model.
        gpus: Whether a worker has a model of its own in its process.
        computes: Whether a worker that asks models has other things to reckon, such as a browser's pages.
        beside: The server that each worker starts for itself.

    Raises:
        UserError: the cluster has no room for a single one.
    """
    options = EvalOptions(workers=workers, max_connections=max_connections)
    if beside is not None:
        return _with_servers(options, beside, cluster)
    if gpus and cluster.gpus >= 1:
        return _with_gpus(workers, 1, cluster)
    if not models:
        return _whole_nodes(options, cluster)
    needs = Needs(cpus=1.0 if computes else 0.0)
    if any(model.limited or not model.own_address for model in models):
        return Staff(workers=1, needs=needs)
    connections = max_connections or min(model.max_connections for model in models)
    count = min(workers or len(cluster.nodes), connections)
    return Staff(workers=count, needs=needs, max_connections=connections // count)


def _at_an_endpoint(options: EvalOptions, card: ChatCard, cluster: Cluster, *, own_address: bool) -> Staff:
    limited = card.requests_per_minute is not None or card.tokens_per_minute is not None
    # Set-of-Mark with SAM finds its regions in the worker.
    sam = isinstance(card, SomCard) and card.marks.sam is not None and cluster.gpus >= 1
    needs = Needs(cpus=0.0, gpus=1.0 if sam else 0.0)
    if limited or not own_address:
        return Staff(workers=1, needs=needs)
    connections = options.max_connections or card.max_connections
    workers = min(options.workers or len(cluster.nodes), connections)
    return Staff(workers=workers, needs=needs, max_connections=connections // workers)


def _with_servers(options: EvalOptions, beside: Beside, cluster: Cluster) -> Staff:
    asked = options.workers or (options.replicas if options.replicas > 1 else None)
    if cluster.gpus:
        return _with_gpus(asked, gpus_per_replica(beside.card, beside.options), cluster)
    if beside.options.command == DEFAULT_COMMAND:
        raise UserError(
            f"{beside.card.name} ({beside.card.title}) needs a server, and no node of the cluster at {cluster.address} "
            "has a GPU to start one on: give its address with --base-url http://HOST:PORT/v1, or what starts a server "
            "without a GPU with --server-command"
        )
    return Staff(workers=asked or len(cluster.nodes), needs=Needs(cpus=0.0))


def _with_gpus(asked: int | None, gpus: int, cluster: Cluster) -> Staff:
    """Workers with so many GPUs each: as many as were asked for, or as the cluster has room for."""
    room = sum(int(node.gpus // gpus) for node in cluster.nodes)
    if not room:
        most = max((node.gpus for node in cluster.nodes), default=0.0)
        raise UserError(
            f"each worker needs {gpus} GPUs on one node, and no node of the cluster at {cluster.address} has more than "
            f"{most:g}: take a card with fewer, or add such a node"
        )
    return Staff(workers=asked or room, needs=Needs(cpus=0.0, gpus=float(gpus)))


def _whole_nodes(options: EvalOptions, cluster: Cluster) -> Staff:
    """Workers that use every processor they find: one for each node, or for as much as the smallest node has."""
    sizes = [node.cpus for node in cluster.nodes if node.cpus >= 1]
    if not sizes:
        return Staff(workers=options.workers or 1, needs=Needs(cpus=0.0))
    smallest = float(math.floor(min(sizes)))
    if options.workers is None:
        return Staff(workers=sum(int(size // smallest) for size in sizes), needs=Needs(cpus=smallest))
    each = min(smallest, math.floor(sum(sizes) / options.workers))
    return Staff(workers=options.workers, needs=Needs(cpus=max(1.0, float(each))))


def check_reach(flag: str, addresses: str, cluster: Cluster) -> None:
    """Refuse addresses that name each node's own machine, where the writer's is meant.

    Raises:
        UserError: one of them does, and the cluster has several nodes.
    """
    for address in addresses.split():
        host = urlsplit(address).hostname or ""
        if len(cluster.nodes) > 1 and (host == "localhost" or host == "::1" or host.startswith("127.")):
            raise UserError(
                f"{flag} {address}: on each of the {len(cluster.nodes)} nodes of the cluster that is another "
                "machine; give a name or an address under which all of them find the server"
            )


def check_executor(executor: str, workers: int | None, ray_address: str | None) -> None:
    """Refuse what can't be meant of a cluster.

    Raises:
        UserError: says which option.
    """
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: expected 1 or more")
    for flag, value in (("--workers", workers), ("--ray-address", ray_address)):
        if value is not None and executor == "local":
            raise UserError(
                f"{flag} {value}: is for --executor ray, which this run does without; add it or leave this out"
            )
