"""What we know of Ray: the settings it is started with, its table of nodes, and what its errors mean to a user."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from grounding.executors.link import Cluster, Needs, Node

LOCAL = "local"
"""The address that makes ``ray.init`` start a cluster of its own, whatever else runs on the machine."""
OBJECT_STORE_BYTES = 100 << 20
_MOST_REASON_CHARS = 300

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}
# How long a driver asks for a lost head (``gcs_rpc_server_reconnect_timeout_s`` in ray_config_def.h, 60 s by default)
# before it ends itself; the writer starts a new one, so there is no reason to wait long.
HEAD_LOST_AFTER_S = 10
_DRIVER = {"RAY_gcs_rpc_server_reconnect_timeout_s": str(HEAD_LOST_AFTER_S)}
_LOOPBACK = {
    # Ray turns the address 127.0.0.1 into the machine's own, except where it believes that there are no clusters: only
    # then do all its processes listen on the loopback interface alone (services.py, ``get_node_ip_address``).
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # These two listen on a fixed port each, even without a dashboard; there is no port -1.
    "AUTOSCALER_METRIC_PORT": "-1",
    "DASHBOARD_METRIC_PORT": "-1",
    "RAY_enable_metrics_collection": "0",
    # Workers are asked for one by one: none is started on suspicion.
    "RAY_prestart_worker_first_driver": "0",
}


def environment(address: str, inherited: Mapping[str, str], *, with_token: bool = False) -> dict[str, str]:
    """The bridge's environment: the writer's, and what Ray has to be told there.

    Whatever the user has set for Ray stands, except that a cluster of our own is always closed to others: it listens on
    the loopback interface only, and asks for a token that nobody else knows, where the user has chosen no other way.
    ``with_token`` sends the user's token to the cluster, which Ray does not do by itself to an address that was named.
    """
    ours = {**QUIET, **_DRIVER}
    if address != LOCAL:
        return {**ours, **({"RAY_AUTH_MODE": "token"} if with_token else {}), **inherited}
    if "RAY_AUTH_MODE" not in inherited:
        ours |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    without = {name: value for name, value in inherited.items() if name not in ("RAY_ADDRESS", *_LOOPBACK)}
    return {**ours, **without, **_LOOPBACK, **{n: ours[n] for n in ("RAY_AUTH_TOKEN",) if n in ours}}


def init_options(address: str, folder: str) -> dict[str, Any]:
    """The arguments of ``ray.init``; ``folder`` is where a cluster of our own keeps its files."""
    quiet: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    if address != LOCAL:
        return quiet
    return {
        **quiet,
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE_BYTES,
        "_node_ip_address": "127.0.0.1",
        "_temp_dir": folder,
    }


def cluster(address: str, table: Sequence[Mapping[str, Any]]) -> Cluster:
    """The living machines of ``ray.nodes()``."""
    nodes = [
        Node(
            name=node_name(row),
            address=row["NodeManagerAddress"],
            cpus=float(row["Resources"].get("CPU", 0.0)),
            gpus=float(row["Resources"].get("GPU", 0.0)),
        )
        for row in table
        if row["Alive"]
    ]
    return Cluster(address=address, nodes=tuple(sorted(nodes, key=lambda node: (node.name, node.address))))


def node_name(row: Mapping[str, Any]) -> str:
    """How a machine is called in messages: its host name, with its address where the cluster has one."""
    return f"{row['NodeManagerHostname']} ({row['NodeManagerAddress']})"


def no_place(needs: Needs, known: Cluster) -> str | None:
    """Why no machine of the cluster could ever hold a worker, even an idle one; None where one could."""
    if any(node.cpus >= needs.cpus and node.gpus >= needs.gpus for node in known.nodes):
        return None
    most_cpus = max((node.cpus for node in known.nodes), default=0.0)
    most_gpus = max((node.gpus for node in known.nodes), default=0.0)
    return (
        f"a worker takes {wanted(needs)}; no machine of the cluster at {known.address} has that: of {len(known.nodes)} "
        f"the largest have {most_cpus:g} CPUs and {most_gpus:g} GPUs"
    )


def wanted(needs: Needs) -> str:
    """What a worker takes up, in words."""
    return " and ".join(
        f"{count:g} {name}{'' if count == 1 else 's'}"
        for count, name in ((needs.cpus, "CPU"), (needs.gpus, "GPU"))
        if count or name == "CPU"
    )


def short_reason(text: str) -> str:
    """The one sentence in Ray's account of a dead actor that says why."""
    joined = " ".join(text.split())
    for pattern in (r"Worker exit detail: (.*)", r"The actor is dead because (.*)", r"The actor died [^.]*\. (.*)"):
        if found := re.search(pattern, joined):
            joined = found[1]
            break
    joined = joined.partition(" Some common causes include")[0]
    return joined[:_MOST_REASON_CHARS].strip() or "Ray gave no reason"


def missing_package(text: str) -> str | None:
    """What to do where an actor could not be made because its machine has no such package; None for another cause."""
    found = re.search(r"No module named '(grounding[\w.]*)'", text)
    if found is None:
        return None
    node = re.search(r"\bip[=:] ?([\w.:\[\]-]+)", text)
    where = f"the machine {node[1].rstrip(',')}" if node else "a machine of the cluster"
    return (
        f"{where} can't import {found[1]}: install the same version of grounding in the Python that Ray runs with on "
        "every machine of the cluster"
    )


def told_by(error: BaseException) -> str:
    """An exception with those that it came from: Ray's outermost only says that it failed."""
    lines = []
    at: BaseException | None = error
    while at is not None:
        lines.append(f"{type(at).__name__}: {at}")
        at = at.__cause__ or at.__context__
    return "; ".join(lines)


def asks_token(text: str) -> bool:
    """Whether a failed connection says that a token is missing."""
    return "AuthenticationError" in text or "InvalidAuthToken" in text


def unreachable(address: str, error: str) -> str:
    """Why ``ray.init`` failed, and what to do."""
    text = " ".join(error.split())
    if address == LOCAL:
        return f"Ray can't start a cluster on this machine: {text[:600]}"
    if "ersion mismatch" in text:
        return (
            f"the Ray cluster at {address} has other versions than this Python ({text[:600]}): install the cluster's "
            "version of ray here, or run the command on the cluster (`ray job submit`)"
        )
    if asks_token(text):
        return (
            f"the Ray cluster at {address} lets nobody in without its token: set RAY_AUTH_MODE=token, and "
            "RAY_AUTH_TOKEN to what `ray get-auth-token` prints on the head (or keep that in ~/.ray/auth_token)"
        )
    return (
        f"no Ray cluster can be reached at {address} ({text[:300]}): expected host:port of a head (`ray start --head` "
        "says it), from a machine that belongs to the cluster; from any other machine, send the whole command there "
        "with `ray job submit`"
    )
