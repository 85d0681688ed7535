"""What a user sees of the command line: exit codes, sentences, help, and what is loaded for it."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import shell
from conftest import Item, TinyDataset
from fakes.slow_server import slow_server

from grounding.cli.catalogue import Kind
from grounding.cli.help import GROUPS
from grounding.eval import evaluate_command

HEAVY = (
    "numpy",
    "matplotlib",
    "shapely",
    "aiohttp",
    "PIL",
    "rapidocr",
    "onnxruntime",
    "cv2",
    "pandas",
    "scipy",
    "torch",
)
NEVER = ("torch", "transformers", "vllm", "whisper", "pandas", "ray", "openai")


def grounding(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return shell.call(*arguments, module="grounding")


@pytest.fixture
def eval_args(tmp_path: Path, tiny_dataset: TinyDataset) -> list[str]:
    data_dir = tiny_dataset()
    return f"--dataset realwebassist --data-dir {data_dir} --log-dir {tmp_path / 'results'}".split()


# --- help and imports ---------------------------------------------------------------------------------------------

IMPORTED = """
import json, sys
try:
    from grounding.cli import run
    run(sys.argv[1:])
except SystemExit as left:
    print(file=sys.stderr)
    print(json.dumps([left.code, sorted({name.partition(".")[0] for name in sys.modules})]), file=sys.stderr)
"""


def modules_after(*arguments: str | Path, **env: str) -> tuple[int, str, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *map(str, arguments)],
        env=shell.environment(env),
        capture_output=True,
        text=True,
        check=True,
        timeout=shell.PATIENCE_S,
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, done.stdout, set(names)


@pytest.mark.parametrize(
    "command",
    [
        *([], ["eval"], ["sweep"], ["cache"], ["cache", "clear"], ["check"], ["score"], ["list"]),
        *(["compare"], ["report"], ["export"]),
    ],
)
def test_help_answers_without_loading_anything_heavy(command: list[str]) -> None:
    code, shown, modules = modules_after(*command, "--help")
    assert code == 0
    assert f"Usage: grounding {' '.join(command)}".strip() in shown
    assert modules.isdisjoint(HEAVY), modules & set(HEAVY)


def test_the_version_answers_without_loading_anything_heavy() -> None:
    from grounding import __version__

    code, shown, modules = modules_after("--version")
    assert (code, shown.strip()) == (0, __version__)
    assert modules.isdisjoint(HEAVY)


def test_a_run_never_loads_what_trains_or_serves_models(eval_args: list[str]) -> None:
    code, _, modules = modules_after("eval", *eval_args, "--grounder", "center")
    assert code == 0
    assert "numpy" in modules
    assert modules.isdisjoint(NEVER), modules & set(NEVER)


@pytest.mark.slow
def test_the_main_job_never_loads_what_trains_or_serves_models(tmp_path: Path) -> None:
    code, _, modules = modules_after("eval", "--limit", "2", "--log-dir", tmp_path, GROUNDING_NO_CACHE="1")
    assert code == 0
    assert "onnxruntime" in modules
    assert modules.isdisjoint(NEVER), modules & set(NEVER)


@pytest.mark.parametrize("dataset", ["sample-web", "sample-desktop", "sample-shop", "sample-mall"])
def test_help_shows_the_options_of_a_data_set_each_with_what_it_does(dataset: str) -> None:
    shown = shell.run("--help", "--dataset", dataset, cwd=Path.cwd(), env={"COLUMNS": "200"}).stdout
    lines = [line for line in shown.splitlines() if line.startswith("│ --")]
    assert 30 < len(lines) <= 50
    assert all(len(line.strip("│ ").partition("  ")[2].strip()) > 20 for line in lines), shown
    own = {"sample-web": "planner", "sample-desktop": "style", "sample-shop": "track", "sample-mall": "judge-prompt"}
    assert [name for name, flag in own.items() if any(line.startswith(f"│ --{flag} ") for line in lines)] == [dataset]


def test_help_knows_every_option() -> None:
    every = [name for names in GROUPS.values() for name in names]
    assert sorted(every) == sorted(inspect.signature(evaluate_command).parameters)


# --- exit codes ---------------------------------------------------------------------------------------------------


def test_a_complete_run_is_0_and_its_table_is_all_of_standard_output(eval_args: list[str], tmp_path: Path) -> None:
    done = shell.run(*eval_args, "--grounder", "center", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    title = "realwebassist(8 of 2,524 steps, not the release) · planner none · grounder center"
    assert " ".join(done.stdout.split()).startswith(title)
    assert done.stdout.splitlines()[-1] == f"run folder {shell.run_folder(tmp_path / 'results')}"


def test_json_is_all_of_standard_output(eval_args: list[str], tmp_path: Path) -> None:
    done = shell.run(*eval_args, "--grounder", "center", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == shell.summary(shell.run_folder(tmp_path / "results"))


def test_both_names_of_the_command_do_the_same(eval_args: list[str], tmp_path: Path) -> None:
    one = shell.run(*eval_args, "--grounder", "center", "--json", cwd=tmp_path)
    script = Path(sys.executable).with_name("grounding")
    two = subprocess.run(
        [script, "eval", *eval_args, "--grounder", "center", "--json"], capture_output=True, text=True, check=True
    )
    assert {**json.loads(one.stdout), "time": 0} == {**json.loads(two.stdout), "time": 0}
    info = json.loads((shell.run_folder(tmp_path / "results") / "run.json").read_text())
    assert info["command"] == f"grounding eval {' '.join(eval_args)} --grounder center --json"


WRONG: list[tuple[list[str], str]] = [
    (["--grunder", "center"], "Did you mean --grounder?"),
    (["--max-conections", "3"], "Did you mean --max-connections?"),
    (["--limit", "many"], "--limit"),
    (["--limit", "0"], "--limit 0"),
    (["--limit", "-1"], "--limit -1"),
    (["--history", "-1"], "--history -1"),
    (["--seed", "-1"], "--seed -1"),
    (["--max-connections", "0"], "--max-connections 0"),
    (["--max-connections", "-4"], "--max-connections -4"),
    (["--max-retries", "-1"], "--max-retries -1"),
    (["--timeout", "0"], "--timeout 0"),
    (["--timeout", "nan"], "--timeout nan"),
    (["--cost-limit", "0"], "--cost-limit 0"),
    (["--display", "loud"], "loud"),
    (["--scoring", "kind"], "kind"),
    (["--participant", "9"], "--participant 9: the data set has 1, 2"),
    (["--sample-id", "9/9"], "no such step"),
    (["--sample-id", "1/3"], "no click was made there"),
    (["--grounder", "centre"], "Did you mean center?"),
    (["--grounder", ""], "no grounder is called ''"),
    (
        ["--grounder", "center", "--base-url", "http://127.0.0.1:9"],
        "--base-url http://127.0.0.1:9: the grounder center",
    ),
    (["--planner-base-url", "http://127.0.0.1:9"], "the planner none asks no server"),
    (["--planner", "non"], "Did you mean none?"),
    (["--grounder", "absent.yaml"], "absent.yaml: the card can't be read"),
    (["--grounder", "replay"], "--predictions FILE"),
    (["--planner", "replay"], "--plans FILE"),
    (["--predictions", "absent.jsonl"], "absent.jsonl: can't be read"),
    (["--plans", "absent.json"], "absent.json: can't be read"),
    (["--plans", "absent.json", "--planner", "o3"], "give one of the two"),
    (["--predictions", "absent.jsonl", "--grounder", "center"], "give one of them"),
    (["--grounder", "gta1"], "--base-url http://HOST:PORT/v1"),
    (["--grounder", "gta1", "--base-url", "localhost:8000"], "expected an address"),
    (["--planner", "gpt-6.1-sol"], "OPENAI_API_KEY"),
    (["--temperature", "0.5"], "--temperature"),
    (["--history", "2"], "--history 2: neither the planner none nor the grounder center is told what happened before"),
    (["--history-file", "extracted_actions_GT.json"], "--history-file"),
    (["--questions", "absent.json"], "absent.json"),
    (["surplus"], "surplus"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_what_a_user_gets_wrong_is_a_sentence_and_2(
    eval_args: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    base = eval_args if "--grounder" in arguments or "--predictions" in arguments else [*eval_args, "--grounder=center"]
    done = shell.call(*base, *arguments)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert said in " ".join(done.stderr.replace("│", " ").split()), done.stderr
    assert not (tmp_path / "results").exists(), "nothing may be left behind by a command that was refused"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dataset", "realwebasist"], "did you mean 'realwebassist'?"),
        (["--dataset", "[red]x[/red]"], "--dataset [red]x[/red]: no data set"),
        (["--dataset", "realwebassist"], "--data-dir"),
        (["--dataset", "realwebassist", "--data-dir", "absent"], "absent"),
        (["--dataset", "absent.yaml"], "absent.yaml"),
    ],
)
def test_a_data_set_that_is_not_there_is_a_sentence_and_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = shell.call(*arguments, "--grounder", "center")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def broken(participant: str, items: list[Item]) -> None:
    items[0]["bounding_box"] = "left of it"
    items[1]["final_image"] = f"images/[red]{participant}.png"


def test_a_broken_data_set_lists_every_problem(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(edit=broken)
    options = ["--dataset", "realwebassist", "--data-dir", str(data_dir)]
    done = shell.call(*options, "--grounder", "center", "--log-dir", tmp_path / "results")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the data set has 4 problems" in done.stderr
    for participant in "12":
        assert f"images/[red]{participant}.png" in done.stderr
    checked = grounding("check", *options)
    assert checked.returncode == 2
    assert len(checked.stdout.splitlines()) == 4
    assert "4 problems" in checked.stderr
    assert checked.stdout.count('bounding_box = "left of it"') == 2


def test_a_sound_data_set_is_said_to_be_sound(tiny_dataset: TinyDataset) -> None:
    done = grounding("check", "--dataset", "realwebassist", "--data-dir", tiny_dataset())
    assert done.returncode == 0
    assert done.stdout.startswith("no problems found: 2 participants, 4 tasks, ")
    # The card has the counts of the whole release.
    assert "grounding: warning: 2 participants, where the card says 10\n" in done.stderr


def test_no_server_no_key_wrong_key(eval_args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = shell.grounder_card(tmp_path)
    with card.open("a") as more:
        more.write("endpoint: {base_url: 'http://127.0.0.1:9/v1', key_variable: POINTER_KEY}\n")
    monkeypatch.delenv("POINTER_KEY", raising=False)
    args = [*eval_args, "--grounder", str(card)]
    no_key = shell.call(*args)
    assert no_key.returncode == 2
    assert "set POINTER_KEY" in no_key.stderr
    monkeypatch.setenv("POINTER_KEY", "very-secret-key")
    no_server = shell.call(*args)
    assert no_server.returncode == 2
    assert "nothing answers at http://127.0.0.1:9/v1" in no_server.stderr
    assert "very-secret-key" not in no_server.stderr
    with slow_server() as server:
        server.status = 401
        refused = shell.call(*args, "--base-url", server.url, "--max-retries", "0")
    # This server lists its models without a key and refuses every question: the first refusal ends the run.
    assert refused.returncode == 2
    assert "401" in refused.stderr
    for file in (tmp_path / "results").rglob("*"):
        assert file.is_dir() or b"very-secret-key" not in file.read_bytes()


def test_snake_case_is_understood(eval_args: list[str], tmp_path: Path) -> None:
    args = [argument.replace("data-dir", "data_dir").replace("log-dir", "log_dir") for argument in eval_args]
    assert shell.call(*args, "--max_connections", "3", "--sample_id", "1/1", "--grounder", "center").returncode == 0
    assert shell.run_folder(tmp_path / "results").is_dir()


def test_several_values_in_either_way(eval_args: list[str]) -> None:
    for given in (["--sample-id", "1/1", "1/2"], ["--sample-id", "1/1", "--sample-id", "1/2"]):
        done = shell.call(*eval_args, *given, "--grounder", "center", "--json")
        assert json.loads(done.stdout)["counts"]["steps"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lst"], "Did you mean"),
        (["list", "colours"], "colours"),
        (["evla"], 'Did you mean "eval"?'),
        (["list", "grounder"], 'Did you mean "grounders"?'),
        (["eval", "sample-web"], "grounding eval --dataset"),
        (["sweep", "gta"], "--grounder gta1"),
        (["cache", "claer"], "grounding cache clear"),
        (["score", "one", "two"], "grounding score --help"),
        (["score"], "run"),
        (["score", "absent"], "is not a run folder"),
        (["score", "absent", "--scorin", "paper"], "--scoring"),
        (["check"], "dataset"),
    ],
)
def test_sub_commands_refuse_with_a_sentence(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = grounding(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said.lower() in done.stderr.lower()
    assert list(tmp_path.iterdir()) == []


def test_without_a_command_help_is_shown() -> None:
    done = grounding()
    assert done.returncode == 0
    assert "Usage: grounding COMMAND" in done.stdout


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("datasets", ["sample-web", "realwebassist", "bundled"]),
        ("planners", ["none", "replay", "o3", "OPENAI_API_KEY"]),
        ("grounders", ["ocr", "replay", "center", "random", "oracle", "gta1"]),
        ("agents", ["ocr-agent", "replay", "repeat-last", "oracle", "ui-tars", "rel_1000"]),
    ],
)
def test_what_there_is_is_listed(what: str, shown: list[str]) -> None:
    done = grounding("list", what)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in shown)


def test_what_can_be_listed_is_listed() -> None:
    done = grounding("list")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(re.search(rf"{what} .*\d+ │", done.stdout) for what in get_args(Kind))


def test_a_log_dir_that_cannot_be_made_is_a_sentence(eval_args: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = shell.call(*eval_args[:-1], tmp_path / "file", "--grounder", "center")
    assert done.returncode == 2
    assert "--log-dir" in done.stderr


def test_a_reader_that_leaves_early_gets_no_traceback(eval_args: list[str], tmp_path: Path) -> None:
    process = shell.start(*eval_args, "--grounder", "center", "--json", cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.wait(shell.PATIENCE_S) == 141
    assert said == ""
    assert shell.summary(shell.run_folder(tmp_path / "results"))["status"] == "complete"


def test_a_short_output_that_nobody_reads_gets_no_traceback_either(tiny_dataset: TinyDataset, tmp_path: Path) -> None:
    args = ["check", "--dataset", "realwebassist", "--data-dir", str(tiny_dataset())]
    process = shell.start(*args, cwd=tmp_path, module="grounding")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said, code = process.stderr.read(), process.wait(shell.PATIENCE_S)
    assert all(line.startswith("grounding: warning: ") for line in said.splitlines())
    assert code == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_a_sentence(eval_args: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            shell.command(*eval_args, "--grounder", "center"),
            cwd=tmp_path,
            env=shell.environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=shell.PATIENCE_S,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "grounding: the output can't be written: No space left on device\n"


def test_interrupted_before_the_first_question_is_130(monkeypatch: pytest.MonkeyPatch, eval_args: list[str]) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grounding.benchmarks.clicks.preparation.load_dataset", interrupted)
    done = shell.call(*eval_args, "--grounder", "center")
    assert (done.returncode, done.stdout) == (130, "")
    assert "interrupted" in done.stderr


def test_retries_are_counted_and_shown(eval_args: list[str], tmp_path: Path) -> None:
    with slow_server() as server:
        failing = iter([True, True])

        def flaky(_model: str, _text: str) -> str:
            if next(failing, False):
                raise ConnectionAbortedError  # The handler dies without an answer.
            return "(20,15)"

        server.reply = flaky
        args = [*eval_args, "--grounder", str(shell.grounder_card(tmp_path)), "--base-url", server.url]
        done = shell.call(*args, "--display", "plain")
    assert done.returncode == 0
    assert "2 retries" in done.stdout
    assert "retries 2" in done.stderr
    folder = shell.run_folder(tmp_path / "results")
    assert json.loads((folder / "time.json").read_text())["retries"] == 2
