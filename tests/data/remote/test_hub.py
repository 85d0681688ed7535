"""Data sets of the Hugging Face hub, by commands against a hub on the loopback interface."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import shell

from data.layouts import build

from .hub import Hub
from .test_archives import make_zip

if TYPE_CHECKING:
    from conftest import TinyDataset

pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed (extra remote)")
CHECK = ("check", "--dataset", "realwebassist", "--data-dir")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_dataset: TinyDataset) -> Iterator[Hub]:
    """A hub with the data set ``owner/tiny``, and an empty cache."""
    local = tiny_dataset("data")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.chdir(tmp_path)
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        files = {one.relative_to(local).as_posix(): one.read_bytes() for one in local.rglob("*") if one.is_file()}
        server.put("owner/tiny", files | {"packed.zip": make_zip(tmp_path / "x.zip", files).read_bytes()})
        yield server


def check(address: str, **environment: str) -> tuple[int, str]:
    return command(*CHECK, address, **environment)


def command(*words: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        shell.command(*words, module="grounding"), env=shell.environment(environment), capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.usefixtures("hub")
def test_a_run_over_a_repository_is_the_run_over_the_folder(tmp_path: Path) -> None:
    found = []
    for number, where in enumerate((str(tmp_path / "data"), "owner/tiny", "hf://datasets/owner/tiny/packed.zip")):
        common = ("--dataset", "realwebassist", "--grounder", "random", "--log-dir", f"runs{number}")
        done = shell.run(*common, "--data-dir", where, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found.append(shell.run_folder(tmp_path / f"runs{number}"))
    assert len({folder.name for folder in found}) == len({(one / "summary.json").read_bytes() for one in found}) == 1
    assert b"--data-dir owner/tiny" in (found[1] / "run.json").read_bytes()


def test_what_is_in_the_cache_of_the_hub_is_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    assert check("owner/tiny")[0] == 0
    hub.asked.clear()
    assert check("hf://datasets/owner/tiny@main")[0] == check("hf://datasets/owner/tiny/2")[0] == 0
    assert not [path for method, path in hub.asked if "/resolve/" in path]
    hub.asked.clear()
    for offline in ("HF_HUB_OFFLINE", "GROUNDING_OFFLINE"):
        assert check("hf://datasets/owner/tiny", **{offline: "1"})[0] == 0
        assert check("hf://datasets/owner/tiny", **{offline: "1", "XDG_CACHE_HOME": str(tmp_path / offline)})[0] == 0
    assert hub.asked == []


def test_what_the_hub_has_not_is_said_in_a_sentence(hub: Hub) -> None:
    hub.put("owner/gated", {})
    hub.gated.add("owner/gated")
    for address, said in (
        ("owner/other", "there is no such folder here, and as a data set on the Hugging Face hub: the hub has no such"),
        ("hf://datasets/owner/gated", "it is gated: ask for access on its page"),
        ("owner/tiny@v9", "no such revision"),
        ("hf://datasets/owner/tiny/none", "there is no folder none in it"),
        ("hf://datasets/owner/tiny/none.zip", "nothing there"),
    ):
        code, words = check(address)
        assert (code, said in words) == (2, True), words
    assert "HF_HUB_OFFLINE is set" in check("owner/other", HF_HUB_OFFLINE="1")[1]
    code, words = check("owner/other", HF_ENDPOINT="http://127.0.0.1:1")
    assert (code, "nobody answers at http://127.0.0.1:1" in words) == (2, True), words


def test_a_data_set_is_named_by_its_repository(hub: Hub, tmp_path: Path) -> None:
    steps = build.sample_steps(6)
    build.screenspot(tmp_path / "v2", steps, suffix="_v2")
    shutil.make_archive(str(tmp_path / "v2/screenspotv2_image"), "zip", tmp_path / "v2", "screenspotv2_image")
    build.screenspot_parquet(tmp_path / "packed", steps, boxes=build.xywh, name="img_filename")
    for repository, folder, wanted in (
        ("OS-Copilot/ScreenSpot-v2", "v2", ("*.json", "*.zip")),
        ("lmms-lab/ScreenSpot-v2", "packed", ("data/*.parquet",)),
    ):
        files = [file for pattern in wanted for file in (tmp_path / folder).glob(pattern)]
        hub.put(repository, {one.relative_to(tmp_path / folder).as_posix(): one.read_bytes() for one in files})
        for name in (repository, f"hf://datasets/{repository}"):
            code, words = command("check", "--dataset", name)
            assert (code, "6 steps, where the card says 1,272" in words) == (0, True), words
        common = ("--dataset", repository, "--grounder", "oracle", "--log-dir", f"runs-{folder}")
        done = shell.run(*common, cwd=tmp_path)
        assert "6/6 steps" in done.stdout, done.stderr
        run = (shell.run_folder(tmp_path / f"runs-{folder}") / "run.json").read_text()
        assert '"dataset":"screenspot-v2"' in run.replace(" ", "")
    hub.put("osunlp/Multimodal-Mind2Web", {"data/train-0.parquet": b"large", "data/test_task-0.parquet": b"small"})
    hub.asked.clear()
    assert (
        "test_task-0.parquet: cannot be read as parquet"
        in command("check", "--dataset", "osunlp/Multimodal-Mind2Web")[1]
    )
    assert [path.rpartition("/")[2] for how, path in hub.asked if how == "GET" and "/resolve/" in path] == [
        "test_task-0.parquet"
    ]


def test_a_repository_that_no_card_names_is_a_sentence_and_nothing_is_asked(hub: Hub) -> None:
    hub.asked.clear()
    for name in ("somebody/clicks", "hf://datasets/somebody/clicks", "s3://bucket/clicks"):
        code, words = command("check", "--dataset", name)
        assert (code, f"--dataset {name}: no data set that is known lies there" in words) == (2, True), words
        assert f"--dataset boxes --data-dir {name}" in words
    assert hub.asked == []
    code, words = command("eval", "--dataset", "likaixin/ScreenSpot-Pro", HF_ENDPOINT="http://127.0.0.1:1")
    said = (
        "hf download likaixin/ScreenSpot-Pro --repo-type dataset --local-dir ScreenSpot-Pro; then run with --data-dir"
    )
    assert (code, said in words) == (2, True), words
    assert "HF_HUB_OFFLINE is set" in command("eval", "--dataset", "ServiceNow/ui-vision", HF_HUB_OFFLINE="1")[1]


@pytest.mark.slow
def test_killed_in_the_middle_and_resumed(hub: Hub) -> None:
    hub.slow_s = 0.3
    process = subprocess.Popen(shell.command(*CHECK, "owner/tiny", module="grounding"), env=shell.environment())
    deadline = time.monotonic() + shell.PATIENCE_S
    while sum("GET" in one and "/resolve/" in path for *one, path in hub.asked) < 9 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    code, words = check("owner/tiny", HF_HUB_OFFLINE="1")
    assert (code, "no complete copy" in words) == (2, True), words
    hub.slow_s = 0.0
    assert check("owner/tiny")[0] == 0
