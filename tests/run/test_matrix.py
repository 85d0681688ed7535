"""Several planners and grounders in one command, against a server that counts: who is asked what, and how often."""

from __future__ import annotations

import hashlib
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import Item, TinyDataset
from fakes.slow_server import SlowServer, any_point, slow_server

PLANNERS, GROUNDERS = ("thinker", "muser"), ("pointer", "finder", "seeker")
PRICE = "price: {input_usd: 1000, output_usd: 1000, date: spring}\n"
A_REQUEST_USD = 0.11  # What a request costs by the server's count of tokens: 100 and 10.


def reply(model: str, question: str) -> str:
    """A planner's plan, or a grounder's point."""
    if model in PLANNERS:
        return f"{model} says: {question} {hashlib.sha256(question.encode()).hexdigest()[:6]}"
    return any_point(model, question)


class Desk:
    """A data set, cards for all, and the options that every command has."""

    def __init__(self, folder: Path, data_dir: Path, steps: int) -> None:
        self.folder, self.data_dir, self.steps = folder, data_dir, steps
        self.results, self.store = folder / "results", folder / "plan-store"
        self.planners = [str(shell.planner_card(folder, name, connections=3)) for name in PLANNERS]
        self.grounders = [str(shell.grounder_card(folder, name, connections=3)) for name in GROUNDERS]

    def args(
        self, server: SlowServer, *more: str | Path, planners: int = 2, grounders: int = 3, log_dir: Path | None = None
    ) -> list[str]:
        return [
            *("--dataset", "realwebassist", "--data-dir", str(self.data_dir), "--max-retries", "0"),
            *("--log-dir", str(log_dir or self.results), "--plan-store", str(self.store)),
            *("--planner", *self.planners[:planners], "--planner-base-url", server.url),
            *("--grounder", *self.grounders[:grounders], "--base-url", server.url),
            *map(str, more),
        ]


@pytest.fixture
def desk(tmp_path: Path, tiny_dataset: TinyDataset, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Two participants, 10 scored steps, no two of them alike."""
    monkeypatch.delenv("GROUNDING_EVAL_NO_PLAN_STORE")

    def told_apart(participant: str, items: list[Item]) -> None:
        for item in items:
            item["instruction"] += f" of {participant}"

    return Desk(tmp_path, tiny_dataset(steps=6, unscored=(2,), edit=told_apart), 10)


def asked(server: SlowServer) -> Counter[str]:
    """How many requests came for each model."""
    found: Counter[str] = Counter()
    for text, times in server.texts.items():
        found[text.partition(":")[0]] += times
    return found


def named(output: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(output)}


PAIRS = [f"{planner} + {grounder}" for grounder in GROUNDERS for planner in PLANNERS]


# --- who is asked -------------------------------------------------------------------------------------------------


def test_every_pair_is_a_run_and_each_planner_is_asked_once(desk: Desk) -> None:
    with slow_server(reply) as server:
        done = shell.call(*desk.args(server, "--json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert asked(server) == {**dict.fromkeys(PLANNERS, 10), **dict.fromkeys(GROUNDERS, 20)}
    assert set(server.asked.values()) == {1}
    found = named(done.stdout)
    assert list(found) == PAIRS
    for number, (name, one) in enumerate(found.items()):
        folder = Path(one["folder"])
        assert shell.summary(folder) == one["summary"]
        assert (one["planner"], one["grounder"]) == tuple(name.split(" + "))
        plans = shell.records(folder / "plans.jsonl")
        assert len(plans) == desk.steps
        assert {plan.get("reused", False) for plan in plans} == {number >= len(PLANNERS)}
        assert (one["difference"] is None) == (number == 0)
    assert {one["difference"]["steps"] for one in found.values() if one["difference"]} == {10}
    with slow_server(reply) as other:
        again = shell.call(*desk.args(server, "--json"))
        assert other.requests == 0
    assert (again.returncode, again.stderr) == (0, "")
    assert [one["summary"]["scores"] for one in named(again.stdout).values()] == [
        one["summary"]["scores"] for one in found.values()
    ]


def test_the_table_has_a_block_for_each_grounder(desk: Desk) -> None:
    with slow_server(reply) as server:
        done = shell.call(*desk.args(server))
    lines = done.stdout.splitlines()
    assert [name for line in lines for name in PAIRS if line.startswith(f"│ {name} ")] == [*PAIRS, *PAIRS[1:]]
    assert sum(line.startswith("├") for line in lines) == len(GROUNDERS) - 1
    assert "10 steps in 4 tasks" in lines[0]
    assert "difference to thinker + pointer in points, paired" in done.stdout
    assert "40 were not asked for again but taken from the store" in done.stdout
    assert sum(line.startswith("run folder") for line in lines) == len(PAIRS)
    other = shell.call(*desk.args(server, "--baseline", "muser+seeker"))
    assert "difference to muser + seeker in points, paired" in other.stdout
    official = shell.call(*desk.args(server, "--scoring", "official"))
    assert "difference" not in official.stdout
    assert "[" not in official.stdout.split("└")[0]


def test_a_run_with_another_grounder_asks_the_planner_nothing(desk: Desk) -> None:
    with slow_server(reply) as server:
        assert shell.call(*desk.args(server, planners=1, grounders=1)).returncode == 0
        assert asked(server) == {"thinker": 10, "pointer": 10}
        other = desk.args(server, "--json", planners=1)
        other[other.index("--grounder") + 1 : other.index("--base-url")] = [desk.grounders[1]]
        done = shell.call(*other)
        assert asked(server) == {"thinker": 10, "pointer": 10, "finder": 10}
    cost = json.loads(done.stdout)["cost"]
    assert cost["planner"]["calls"] == 0
    assert cost["reused"]["calls"] == 10
    assert cost["reused"]["input_tokens"] == 1000
    assert cost["input_tokens"] == 1000


def test_a_planner_that_is_gone_is_not_missed_where_the_store_has_its_plans(desk: Desk) -> None:
    with slow_server(reply) as server:
        assert shell.call(*desk.args(server, planners=1, grounders=1)).returncode == 0
        with slow_server(reply) as gone:
            pass
        args = desk.args(server, planners=1, grounders=2)
        at = args.index("--planner-base-url") + 1
        # The address is part of what a plan is found by, so the server dies and its address stays.
        with slow_server(reply) as grounders_only:
            args[args.index("--base-url") + 1] = grounders_only.url
            server.stop()
            done = shell.call(*args)
            assert (done.returncode, done.stderr) == (0, "")
            assert asked(grounders_only) == {"pointer": 10, "finder": 10}
            args[at] = gone.url
            refused = shell.call(*args)
    assert refused.returncode == 2
    assert "nothing answers at" in refused.stderr


def test_plans_made_ahead_are_shared_too(desk: Desk) -> None:
    def listed(model: str, question: str) -> str:
        return "1. first\n2. second" if model in PLANNERS else any_point(model, question)

    with slow_server(listed) as server:
        done = shell.call(*desk.args(server, "--plan-ahead", "--json", planners=1, grounders=2))
        assert (done.returncode, done.stderr) == (0, "")
        assert asked(server) == {"thinker": 10, "pointer": 10, "finder": 10}
    first, second = named(done.stdout).values()
    assert (first["summary"]["cost"]["planner"]["calls"], first["summary"]["cost"]["reused"]["calls"]) == (10, 0)
    assert (second["summary"]["cost"]["planner"]["calls"], second["summary"]["cost"]["reused"]["calls"]) == (0, 10)


def test_two_commands_at_once_share_a_store(desk: Desk) -> None:
    with slow_server(reply, latency_s=0.01) as server:
        running = [
            shell.start(*desk.args(server, planners=1, log_dir=desk.folder / name), cwd=desk.folder) for name in "ab"
        ]
        for process in running:
            assert shell.finish(process).returncode == 0
        assert 10 <= asked(server)["thinker"] <= 20
        kept = [shell.records(path) for name in "ab" for path in sorted((desk.folder / name).glob("*/plans.jsonl"))]
        assert [len(plans) for plans in kept] == [10] * 6
        assert len({(plan["step_id"], plan["text"]) for plans in kept for plan in plans}) == 10
        before = asked(server)["thinker"]
        assert shell.call(*desk.args(server, planners=1, log_dir=desk.folder / "c")).returncode == 0
        assert asked(server)["thinker"] == before


# --- what goes wrong ----------------------------------------------------------------------------------------------


def swapped(args: list[str], flag: str, *values: str) -> list[str]:
    at = args.index(flag)
    after = next((number for number in range(at + 1, len(args)) if args[number].startswith("--")), len(args))
    return [*args[: at + 1], *values, *args[after:]]


def test_what_is_wrong_with_the_last_pair_is_said_before_the_first_question(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed = Path(shell.planner_card(desk.folder, "keyed"))
    keyed.write_text(keyed.read_text() + "endpoint: {base_url: 'http://127.0.0.1:9/v1', key_variable: NO_SUCH_KEY}\n")
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with slow_server(reply) as server:
        args = desk.args(server)
        for wrong, words in (
            (swapped(args, "--grounder", *desk.grounders, "nobody"), "nobody"),
            (swapped(args, "--base-url", f"pointer={server.url}"), "pointer=…: none of --grounder is called so"),
            ([*args, "--baseline", "thinker+nobody"], "the runs are thinker + pointer, muser + pointer"),
            ([*args, "--cost-limit", "0"], "expected US dollars, more than 0"),
            ([*args, "--cost-limit", "5"], "none of these models' cards states a price"),
            ([*args, "--plans", __file__], "Name `replay` among them"),
            ([*args, "--predictions", __file__], "Name `replay` among them"),
            (
                swapped(
                    swapped(args, "--planner", desk.planners[0], str(keyed)),
                    "--planner-base-url",
                    f"{desk.planners[0]}={server.url}",
                ),
                "keyed + pointer: keyed (a model of the tests) at http://127.0.0.1:9/v1 needs a key: set NO_SUCH_KEY",
            ),
        ):
            done = shell.call(*wrong)
            assert done.returncode == 2, (words, done.stdout)
            assert words in done.stderr
        assert server.requests == 0
    assert not desk.results.exists() or not list(desk.results.iterdir())


def test_a_server_that_is_not_there_is_found_before_the_first_question(desk: Desk) -> None:
    with slow_server(reply) as gone:
        pass
    with slow_server(reply) as server:
        args = desk.args(server)
        wrong = swapped(args, "--base-url", server.url, f"{desk.grounders[2]}={gone.url}")
        done = shell.call(*wrong)
        assert done.returncode == 2
        assert done.stderr.startswith("grounding: thinker + seeker: ")
        assert "nothing answers at" in done.stderr
        assert server.requests == 0


def test_planners_are_not_paid_twice_for_want_of_a_store(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with slow_server(reply) as server:
        args = desk.args(server, "--no-plan-store")
        del args[args.index("--plan-store") : args.index("--plan-store") + 2]
        refused = shell.call(*args)
        assert refused.returncode == 2
        assert "would be asked, and paid, 3 times for the same plans" in refused.stderr
        monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
        args.remove("--no-plan-store")
        assert "--plan-store" in shell.call(*args).stderr
        assert server.requests == 0
        one_grounder = desk.args(server, "--no-plan-store", grounders=1)
        del one_grounder[one_grounder.index("--plan-store") : one_grounder.index("--plan-store") + 2]
        assert shell.call(*one_grounder).returncode == 0


def test_a_pair_that_fails_leaves_the_others_whole(desk: Desk) -> None:
    with slow_server(reply) as server, slow_server(reply) as failing:
        failing.status = 500
        args = swapped(desk.args(server), "--base-url", server.url, f"{desk.grounders[1]}={failing.url}")
        done = shell.call(*args)
        assert done.returncode == 1
        for planner in PLANNERS:
            assert f"{planner} + finder (partial)" in done.stdout
            assert f"{planner} + finder: 10 steps ended in an error and count as wrong" in done.stdout
            assert f"{planner} + seeker (partial)" not in done.stdout
        assert "run the same command again to ask only those" in done.stdout
        assert asked(server) == {**dict.fromkeys(PLANNERS, 10), "pointer": 20, "seeker": 20}
        failing.status = None
        assert shell.call(*args).returncode == 0
        assert asked(server) == {**dict.fromkeys(PLANNERS, 10), "pointer": 20, "seeker": 20}


def test_the_cost_limit_is_for_all_pairs_together(desk: Desk) -> None:
    for card in desk.planners:
        with Path(card).open("a") as file:
            file.write(PRICE)
    with slow_server(reply) as server:
        stopped = shell.call(*desk.args(server, "--cost-limit", "1.6", "--json"))
        assert stopped.returncode == 1
        paid = [one["summary"]["cost"]["usd"] or 0 for one in named(stopped.stdout).values() if one["summary"]]
        assert sum(paid) == pytest.approx(14 * A_REQUEST_USD)
        assert sum(asked(server)[planner] for planner in PLANNERS) == 14
        done = shell.call(*desk.args(server, "--cost-limit", "2.3", "--json"))
        assert done.returncode == 0
        assert sum(asked(server)[planner] for planner in PLANNERS) == 20
    total = sum(one["summary"]["cost"]["usd"] or 0 for one in named(done.stdout).values())
    assert total == pytest.approx(20 * A_REQUEST_USD)


# --- broken off ---------------------------------------------------------------------------------------------------


def test_interrupted_it_shows_what_there_is_and_goes_on(desk: Desk) -> None:
    with slow_server(reply) as server:
        server.let_go(35)
        process = shell.start(*desk.args(server), cwd=desk.folder)
        shell.wait_until(lambda: server.answered >= 35, process)
        process.send_signal(signal.SIGINT)
        stopped = shell.finish(process)
        assert stopped.returncode == 130
        assert "goes on from here" in stopped.stderr
        assert "muser + pointer (partial, " in stopped.stdout
        assert "muser + seeker (not run)" in stopped.stdout
        server.let_go(None)
        assert shell.call(*desk.args(server)).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("moments", [(3,), (15, 25), (21, 33, 47), (10, 20, 30, 40, 50, 60, 70)])
def test_killed_it_resumes_without_one_repeated_request(desk: Desk, moments: tuple[int, ...]) -> None:
    with slow_server(reply) as calm:
        log_dir = desk.folder / "calm"
        args = swapped(desk.args(calm, "--json", log_dir=log_dir), "--plan-store", str(desk.folder / "calm-store"))
        wanted = named(shell.call(*args).stdout)
    answers: Counter[str] = Counter()
    with slow_server(reply) as server:

        def counted(model: str, question: str) -> str:
            answers[f"{model}: {question}"] += 1
            return reply(model, question)

        server.reply = counted
        for moment in moments:
            server.let_go(moment)
            process = shell.start(*desk.args(server), cwd=desk.folder)
            # All replies are out and written down: what is still open has no reply yet.
            shell.wait_until(lambda moment=moment: server.answered >= moment and _kept(desk) >= moment, process)  # type: ignore[misc]
            process.kill()
            process.communicate()
            server.stop()
            server.start()
        server.let_go(None)
        done = shell.run(*desk.args(server, "--json"), cwd=desk.folder)
        assert done.returncode == 0, done.stderr
    assert len(answers) == 2 * 10 + 6 * 10
    assert set(answers.values()) == {1}
    found = named(done.stdout)
    assert [one["summary"]["scores"] for one in found.values()] == [one["summary"]["scores"] for one in wanted.values()]


def _kept(desk: Desk) -> int:
    """How many replies the runs' folders hold; plans from the store were no replies to these runs."""
    plans = sum(not one.get("reused") for path in desk.results.glob("*/plans.jsonl") for one in shell.records(path))
    return plans + sum(len(shell.lines(path)) for path in desk.results.glob("*/predictions.jsonl"))


# --- plans from files ---------------------------------------------------------------------------------------------


def local(desk: Desk, *more: str | Path) -> list[str]:
    where = ["--dataset", "realwebassist", "--data-dir", desk.data_dir, "--log-dir", desk.results]
    return [str(word) for word in (*where, *more)]


def test_the_same_run_twice_is_refused_and_the_same_value_twice_is_one(desk: Desk) -> None:
    one, copy = desk.folder / "one.json", desk.folder / "copy" / "one.json"
    copy.parent.mkdir()
    for path in (one, copy):
        path.write_text(json.dumps({p: {str(image): f"click {image}" for image in range(1, 7)} for p in "12"}))
    done = shell.call(*local(desk, "--plans", one, copy, "--grounder", "center"))
    assert done.returncode == 2
    assert "(--plans): that is the same run twice" in done.stderr
    done = shell.call(*local(desk, "--grounder", "center", "center", "--json"))
    assert json.loads(done.stdout)["status"] == "complete"
    lonely = shell.call(*local(desk, "--grounder", "center", "--baseline", "none+center"))
    assert lonely.returncode == 2
    assert "--baseline compares runs" in lonely.stderr
