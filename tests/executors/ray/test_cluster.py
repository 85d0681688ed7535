"""Ray's settings, its node table, and its errors in our words. The texts of errors are those that Ray 2.60 wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.make import grounder_card

from executors.ray import noting
from grounding.errors import UserError
from grounding.executors.link import Cluster, Needs, Node
from grounding.executors.ray.actor import Arrival
from grounding.executors.ray.cluster import (
    LOCAL,
    asks_token,
    cluster,
    environment,
    missing_package,
    no_place,
    short_reason,
    told_by,
    unreachable,
)
from grounding.executors.ray.hired import different
from grounding.executors.ray.link import chosen_address, keys_of

KILLED = """The actor died unexpectedly before finishing this task.
\tclass_name: RayWorker
\tactor_id: 3e1a
\tpid: 23644
\tnamespace: 5e0a
\tip: 127.0.0.1
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker \
unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the process was killed \
by the OOM killer due to high memory usage, (2) ray stop --force was called."""


def row(name: str, cpus: float, gpus: float, *, alive: bool = True) -> dict[str, object]:
    return {
        "NodeManagerHostname": name,
        "NodeManagerAddress": "10.0.0.1",
        "Alive": alive,
        "Resources": {"CPU": cpus, **({"GPU": gpus} if gpus else {})},
    }


def test_only_living_machines_count() -> None:
    found = cluster("10.0.0.1:6379", [row("b", 4.0, 0.0), row("a", 2.0, 1.0), row("c", 64.0, 8.0, alive=False)])
    assert [node.name for node in found.nodes] == ["a (10.0.0.1)", "b (10.0.0.1)"]
    assert (found.cpus, found.gpus) == (6.0, 1.0)


@pytest.mark.parametrize(
    ("needs", "placed"),
    [
        (Needs(cpus=2.0, gpus=1.0), True),
        (Needs(cpus=4.0), True),
        (Needs(cpus=4.0, gpus=1.0), False),  # No single machine has both.
        (Needs(gpus=2.0), False),
    ],
)
def test_a_worker_has_to_fit_one_machine(needs: Needs, placed: bool) -> None:
    nodes = (Node(name="a", address="", cpus=2.0, gpus=1.0), Node(name="b", address="", cpus=4.0, gpus=0.0))
    why = no_place(needs, Cluster(address="h:1", nodes=nodes))
    assert (why is None) == placed
    assert placed or ("4 CPUs and 1 GPUs" in str(why) and "at h:1" in str(why))


def test_a_cluster_of_our_own_is_closed_and_quiet() -> None:
    made = environment(LOCAL, {"RAY_ADDRESS": "1.2.3.4:6379", "HOME": "/home/a"})
    assert made["RAY_AUTH_MODE"] == "token"
    assert len(made["RAY_AUTH_TOKEN"]) == 64
    assert made["RAY_AUTH_TOKEN"] != environment(LOCAL, {})["RAY_AUTH_TOKEN"]
    assert made["RAY_USAGE_STATS_ENABLED"] == "0"
    assert made["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    assert "RAY_ADDRESS" not in made
    assert made["HOME"] == "/home/a"


def test_what_the_user_set_for_a_cluster_stands() -> None:
    own = {"RAY_AUTH_MODE": "disabled", "RAY_gcs_rpc_server_reconnect_timeout_s": "90"}
    assert environment("h:1", own).items() >= own.items()
    assert "RAY_AUTH_MODE" not in environment("h:1", {})
    assert environment("h:1", {}, with_token=True)["RAY_AUTH_MODE"] == "token"


def test_a_dead_actor_in_one_sentence() -> None:
    assert short_reason(KILLED) == "Worker unexpectedly exits with a connection error code 2. End of file."
    assert short_reason("Owner's node has crashed.") == "Owner's node has crashed."
    assert len(short_reason("x" * 5000)) <= 300


def test_a_machine_without_the_package() -> None:
    text = (
        "The actor died because of an error raised in its creation task, ray::RayWorker.__init__() (pid=9, "
        "ip=10.1.0.7, actor_id=5) ModuleNotFoundError: No module named 'grounding.executors'"
    )
    assert "10.1.0.7 can't import grounding.executors: install the same version" in str(missing_package(text))
    assert missing_package(KILLED) is None


def test_another_version_or_python() -> None:
    here = Arrival(node="a", pid=1, grounding_version="1.0", python_version="3.11.7")
    assert different(Arrival(node="b", pid=2, grounding_version="1.0", python_version="3.11.9"), here) is None
    other = different(Arrival(node="b", pid=2, grounding_version="0.9", python_version="3.11.7"), here)
    assert "machine b has grounding 0.9, this one 1.0" in str(other)
    other = different(Arrival(node="b", pid=2, grounding_version="1.0", python_version="3.12.1"), here)
    assert "machine b has Python 3.12.1" in str(other)


def test_why_nothing_was_reached() -> None:
    def fail() -> None:
        try:
            raise RuntimeError("InvalidAuthToken: Authentication token is missing or incorrect")
        except RuntimeError as error:
            raise ConnectionError("Failed to connect to Ray cluster at h:1") from error

    with pytest.raises(ConnectionError) as caught:
        fail()
    text = told_by(caught.value)
    assert asks_token(text)
    assert "RAY_AUTH_TOKEN" in unreachable("h:1", text)
    assert "other versions" in unreachable("h:1", "RuntimeError: Version mismatch: The cluster was started with: ...")
    assert "ray job submit" in unreachable("h:1", "ConnectionError: x")
    assert "on this machine" in unreachable(LOCAL, "OSError: x")


def test_which_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_address(None) == LOCAL
    monkeypatch.setenv("RAY_ADDRESS", "h:6379")
    assert chosen_address(None) == "h:6379"
    assert chosen_address("i:1") == "i:1"
    with pytest.raises(UserError, match="ray job submit --address http://h:8265"):
        chosen_address("http://h:8265")


def test_a_worker_gets_the_keys_that_its_cards_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_KEY", "a")
    monkeypatch.setenv("OTHER_KEY", "b")
    card = grounder_card(endpoint={"base_url": "http://h/v1", "key_variable": "SOME_KEY"})
    assert [(v.name, v.value) for v in keys_of(noting.recipe(tmp_path, card=card))] == [("SOME_KEY", "a")]
    assert keys_of(noting.recipe(tmp_path)) == ()
    monkeypatch.delenv("SOME_KEY")
    assert keys_of(noting.recipe(tmp_path, card=card)) == ()
