"""How many workers a stage gets on a cluster, and what each takes up there. Pure functions.

What waits for an endpoint takes up no processor, so that it always finds a place; what computes gets whole nodes or
GPUs. A provider's limits are counted where its requests are sent, so one worker sends them all; the connections that a
user or a card allows to a server are shared out.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from grounding.cards.schema import ChatCard
from grounding.errors import UserError
from grounding.records import Record
from grounding.run.ray.cluster import Node
from grounding.serving.beside import Beside, gpus_per_replica
from grounding.serving.command import DEFAULT_COMMAND


class Staff(Record, frozen=True, kw_only=True):
    """So many workers, and what each takes up; ``connections`` is what each may have open, None as the card says."""

    workers: int
    cpus: float = 0.0
    gpus: float = 0.0
    connections: int | None = None


class ModelAddress(Record, frozen=True, kw_only=True):
    """A model that a stage asks over the network: its card, the user's own address ("" for the card's) and its flag."""

    card: ChatCard
    base_url: str
    flag: str


def staff(
    nodes: Sequence[Node],
    *,
    workers: int | None,
    models: Sequence[ModelAddress] = (),
    max_connections: int | None = None,
    beside: Beside | None = None,
    in_process: bool = False,
    computes: bool = True,
) -> Staff:
    """The workers of a stage.

    ``beside`` is the server that each worker starts for itself; ``in_process``: it has a model in its process, which
    takes a GPU where there are any; ``computes``: it has things of its own to reckon, such as a browser's pages.

    Raises:
        UserError: the cluster has no room for a single one, or an address means another machine on each node.
    """
    has_gpus = any(node.gpus >= 1 for node in nodes)
    if beside is not None and not has_gpus:
        if beside.options.command == DEFAULT_COMMAND:
            raise UserError(
                f"{beside.card.name} ({beside.card.title}) needs a server, and no node of the cluster has a GPU to "
                "start one on: give its address with --base-url http://HOST:PORT/v1, or what starts a server without a "
                "GPU with --server-command"
            )
        return Staff(workers=workers or len(nodes))
    if beside is not None or (in_process and has_gpus):
        gpus = 1 if beside is None else gpus_per_replica(beside.card, beside.options)
        room = sum(int(node.gpus // gpus) for node in nodes)
        if not room:
            raise UserError(
                f"each worker needs {gpus} GPUs on one node, and no node of the cluster has more than "
                f"{max(node.gpus for node in nodes):g}: take a card with fewer, or add such a node"
            )
        return Staff(workers=workers or room, gpus=float(gpus))
    if not models:
        count = workers or len(nodes)
        cpus = min(*(node.cpus for node in nodes), sum(node.cpus for node in nodes) / count)
        return Staff(workers=count, cpus=float(max(1, cpus // 1)) if computes else 0.0)
    for model in models:
        host = {urlsplit(address).hostname or "" for address in model.base_url.split()}
        if len(nodes) > 1 and any(each in ("localhost", "::1") or each.startswith("127.") for each in host):
            raise UserError(
                f"{model.flag} {model.base_url}: on each of the {len(nodes)} nodes of the cluster that is another "
                "machine; give a name or an address under which all of them find the server"
            )
    cpus = 1.0 if computes else 0.0
    if any(one.card.requests_per_minute or one.card.tokens_per_minute or not one.base_url for one in models):
        return Staff(workers=1, cpus=cpus)
    connections = max_connections or min(model.card.max_connections for model in models)
    count = min(workers or len(nodes), connections)
    return Staff(workers=count, cpus=cpus, connections=connections // count)


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
