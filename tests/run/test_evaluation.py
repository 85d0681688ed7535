"""Whole runs in real processes: killed, interrupted, starved of disk and server, and resumed."""

from __future__ import annotations

import json
import random
import resource
import signal
import time
from pathlib import Path

import pytest
import shell
from conftest import TinyDataset
from fakes.slow_server import SlowServer, slow_server
from shell import CONNECTIONS, IN_FLIGHT, STEPS, Bench

from grounding.report.html.live import LivePage


def undisturbed(bench: Bench) -> tuple[Path, SlowServer]:
    """The same run in another folder, with nothing in its way."""
    with slow_server() as server:
        log_dir = bench.folder / "undisturbed"
        done = bench.call(server, log_dir=log_dir)
        assert done.returncode == 0, done.stderr
        assert server.requests == STEPS
        assert set(server.asked.values()) == {1}
        return shell.run_folder(log_dir), server


def assert_same_result(found: Path, wanted: Path) -> None:
    mine, theirs = shell.scores(found), shell.scores(wanted)
    # The address of the server is no part of the signature.
    assert mine == theirs
    assert mine["status"] == "complete"
    answers = [
        {one["step_id"]: one["point"] for one in shell.records(folder / "predictions.jsonl")}
        for folder in (found, wanted)
    ]
    assert answers[0] == answers[1]
    assert (found / "verdicts.jsonl").read_bytes() == (wanted / "verdicts.jsonl").read_bytes()


def killed_again_and_again(bench: Bench, moments: list[int]) -> None:
    wanted, _ = undisturbed(bench)
    outcomes = shell.summary(wanted)["counts"]
    assert min(outcomes["hit"], outcomes["miss"], outcomes["unparsed"]) > 0, "a run that tells nothing apart"
    with slow_server(latency_s=0.005) as server:
        before: list[bytes] = []
        for moment in moments:
            # The server goes no further than a few answers beyond, so that the process can't finish first.
            server.let_go(server.answered + moment - len(before) + CONNECTIONS)
            process = bench.start(server)
            shell.wait_until(lambda moment=moment: len(bench.answers()) >= moment, process)  # type: ignore[misc]
            process.kill()
            process.communicate()
            server.stop()
            server.start()
            now = bench.answers()
            assert now[: len(before)] == before
            before = now
            assert json.loads((bench.run_folder / "run.json").read_text())["status"] == "started"
        server.let_go(None)
        done = bench.run(server)
        assert done.returncode == 0, done.stderr
        found = bench.answers()
        assert found[: len(before)] == before
        assert len(found) == STEPS
        assert len({json.loads(line)["step_id"] for line in found}) == STEPS
        assert len(server.asked) == STEPS
        assert server.requests <= STEPS + len(moments) * CONNECTIONS
        assert server.most_at_once <= CONNECTIONS * (1 + len(moments))
    assert_same_result(bench.run_folder, wanted)


def test_killed_three_times_a_run_ends_as_if_nothing_had_been(bench: Bench) -> None:
    killed_again_and_again(bench, [1, 23, 61])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_killed_at_random_moments_a_run_ends_as_if_nothing_had_been(bench: Bench, seed: int) -> None:
    draw = random.Random(seed)
    killed_again_and_again(bench, sorted(draw.sample(range(STEPS - CONNECTIONS - 1), 8)))


def test_a_complete_run_asks_nothing_more_even_of_a_server_that_is_gone(bench: Bench) -> None:
    with slow_server() as server:
        first = bench.call(server, "--json")
    assert first.returncode == 0
    again = bench.call(server, "--json")
    assert (again.returncode, again.stderr) == (0, "")
    assert {**json.loads(again.stdout), "time": 0} == {**json.loads(first.stdout), "time": 0}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_politely_a_run_is_scored_and_can_go_on(bench: Bench, how: signal.Signals) -> None:
    wanted, _ = undisturbed(bench)
    with slow_server() as server:
        server.let_go(37)
        process = bench.start(server)
        shell.wait_until(lambda: len(bench.answers()) >= 37, process)
        process.send_signal(how)
        stopped = shell.finish(process)
        assert stopped.returncode == 130
        assert "interrupted" in stopped.stderr
        assert "stopped before the end: interrupted" in stopped.stdout
        partial = shell.summary(bench.run_folder)
        assert partial["status"] == "partial"
        assert (partial["counts"]["steps"], partial["counts"]["unasked"]) == (STEPS, STEPS - 37)
        assert f"partial: 37 of {STEPS} steps answered" in " ".join(stopped.stdout.split())
        assert partial["scores"]["paper"]["step_accuracy"]["n"] == 37
        assert partial["scores"]["official"]["step_accuracy"]["n"] == 37
        (page,) = LivePage([bench.run_folder]).page().runs
        assert page.status == f"partial: 37 of {STEPS} steps answered"
        assert page.metrics[0].count.endswith("/37 steps")
        assert f"the scores are over the 37 of {STEPS} steps that were answered" in " ".join(page.warnings)
        info = json.loads((bench.run_folder / "run.json").read_text())
        assert (info["status"], info["stopped"]) == ("partial", "interrupted")

        rescored = shell.run("score", bench.run_folder, cwd=bench.folder, module="grounding")
        assert rescored.returncode == 1
        assert "goes on from here" not in rescored.stderr

        server.let_go(None)
        done = bench.run(server)
        assert done.returncode == 0, done.stderr
        assert server.requests <= STEPS + CONNECTIONS
    assert "stopped" not in done.stdout
    assert_same_result(bench.run_folder, wanted)


def test_a_polite_kill_reaches_a_run_in_the_background_of_a_script_too(bench: Bench) -> None:
    # A shell without job control starts background jobs with SIGINT ignored.
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    with slow_server() as server:
        server.let_go(10)
        process = bench.start(server, process={"preexec_fn": ignore})
        shell.wait_until(lambda: len(bench.answers()) >= 10, process)
        process.send_signal(signal.SIGTERM)
        stopped = shell.finish(process)
    assert stopped.returncode == 130
    assert shell.summary(bench.run_folder)["status"] == "partial"


def test_a_full_disk_ends_a_run_with_a_sentence_and_it_can_go_on(bench: Bench) -> None:
    wanted, _ = undisturbed(bench)
    # Room for some of the answers; run.json and steps.jsonl are smaller than that.
    room = 30_000
    steps = (wanted / "steps.jsonl").stat().st_size
    preparation = {"preexec_fn": lambda: _limit_files(max(room, steps + 1))}
    with slow_server(long_winded) as server:
        process = bench.start(server, process=preparation)
        full = shell.finish(process)
        assert full.returncode == 2
        assert full.stdout == ""
        assert "make room and run the same command again" in full.stderr
        assert full.stderr.count("\n") == 1
        kept = bench.answers()
        assert 0 < len(kept) < STEPS
        assert (bench.run_folder / "predictions.jsonl").read_bytes() == b"".join(kept)
        asked = server.requests
        assert asked <= len(kept) + IN_FLIGHT
        done = bench.run(server)
        assert done.returncode == 0, done.stderr
        assert server.requests - asked == STEPS - len(kept)
        assert bench.answers()[: len(kept)] == kept
    assert shell.summary(bench.run_folder)["counts"]["steps"] == STEPS


def long_winded(_model: str, question: str) -> str:
    return "thinking " * 60 + f"({len(question) % 60},18)"


def _limit_files(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_server_that_dies_in_mid_run_costs_only_the_steps_it_did_not_answer(bench: Bench) -> None:
    wanted, _ = undisturbed(bench)
    with slow_server() as server:
        server.let_go(40)
        process = bench.start(server, "--server-wait", "1", "--display", "plain")
        shell.wait_until(lambda: len(bench.answers()) >= 40, process)
        server.stop()
        died = shell.finish(process)
        assert died.returncode == 1
        found = shell.summary(bench.run_folder)
        assert found["status"] == "partial"
        assert (found["counts"]["missing"], found["counts"]["error"]) == (STEPS - 40, 0)
        assert "no server of pointer answered for 1 s" in died.stdout
        assert f"nothing answers at {server.url}" in died.stderr
        assert "waiting for it, up to 1 s" in died.stderr
        assert len(shell.lines(bench.run_folder / "predictions.jsonl")) == 40

        gone = bench.run(server)
        assert gone.returncode == 2
        assert "nothing answers at" in gone.stderr
        assert shell.summary(bench.run_folder) == found

        asked = server.requests
        server.let_go(None)
        server.start()
        done = bench.run(server)
        assert done.returncode == 0, done.stderr
        assert server.requests - asked == STEPS - 40
    assert "error 0" in done.stdout
    assert_same_result(bench.run_folder, wanted)


def test_a_server_that_is_started_again_within_the_wait_costs_no_step(bench: Bench) -> None:
    wanted, _ = undisturbed(bench)
    with slow_server(latency_s=0.01) as server:
        server.let_go(40)
        process = bench.start(server)
        shell.wait_until(lambda: len(bench.answers()) >= 40, process)
        server.stop()
        time.sleep(2.0)
        in_flight = server.requests - 40
        server.let_go(None)
        server.start()
        done = shell.finish(process)
    assert done.returncode == 0, done.stderr
    assert f"{server.url} answers again" in done.stderr
    assert 0 < in_flight <= CONNECTIONS
    assert server.requests == STEPS + in_flight
    assert_same_result(bench.run_folder, wanted)


def test_a_server_that_only_fails_ends_the_run_early(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    bench = Bench(tmp_path, tiny_dataset(participants=2, steps=150, unscored=()))
    with slow_server() as server:
        server.status = 500
        failed = bench.call(server)
        assert failed.returncode == 1
        assert "errors in a row" in failed.stdout
        assert "made to fail" in failed.stdout
        counts = shell.summary(bench.run_folder)["counts"]
        assert counts["steps"] == 300
        assert 100 <= counts["error"] <= 2 * 64 + IN_FLIGHT  # 64: how many steps the planner `none` takes at once.
        assert counts["missing"] == 300 - counts["error"]
        server.status = None
        assert bench.call(server).returncode == 0
    assert shell.summary(bench.run_folder)["counts"]["missing"] == 0


def test_the_cost_limit_stops_a_run_and_a_higher_one_lets_it_go_on(bench: Bench) -> None:
    with bench.card.open("a") as card:
        # A request costs 110 $ by the server's count of tokens.
        card.write("price: {input_usd: 1000000, output_usd: 1000000, date: spring}\n")
    with slow_server() as server:
        stopped = bench.call(server, "--cost-limit", "1100")
        assert stopped.returncode == 1
        assert "stopped before the end: the cost limit of $1100 is reached" in stopped.stdout
        assert server.requests == 10
        assert bench.call(server, "--cost-limit", "1100").returncode == 1
        assert server.requests == 10
        higher = bench.call(server, "--cost-limit", "100000", "--json")
        assert higher.returncode == 0
        assert server.requests == STEPS
    assert json.loads(higher.stdout)["cost"]["usd"] == pytest.approx(110 * STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_main_job_can_be_stopped_and_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    args, env = ["--limit", "8", "--log-dir", str(tmp_path / "results")], {"GROUNDING_NO_CACHE": "1"}
    process = shell.start(*args, cwd=tmp_path, env=env)
    shell.wait_until(lambda: any(map(shell.lines, tmp_path.glob("results/*/predictions.jsonl"))), process)
    process.send_signal(how)
    process.communicate(timeout=shell.PATIENCE_S)
    assert process.returncode == (-how if how == signal.SIGKILL else 130)
    folder = shell.run_folder(tmp_path / "results")
    before = shell.lines(folder / "predictions.jsonl")
    done = shell.run(*args, cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    after = shell.lines(folder / "predictions.jsonl")
    assert after[: len(before)] == before
    assert len({json.loads(line)["step_id"] for line in after}) == len(after) == 8
    assert shell.summary(folder)["counts"]["steps"] == 8
