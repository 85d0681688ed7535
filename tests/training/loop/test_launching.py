from __future__ import annotations

import fcntl
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from grounding.errors import UserError
from grounding.training.loop.devices import check_spread
from grounding.training.loop.launching import (
    LOCK_FILE,
    builder_name,
    failure_file,
    launch_command,
    run_workers,
    why_it_failed,
)
from grounding.training.loop.progress import StageProgress
from grounding.training.loop.records import Launch
from grounding.training.loop.stopping import StopSwitch
from training.loop import builders


def test_processes_are_started_by_accelerate_with_the_builder_by_name(tmp_path: Path) -> None:
    command = launch_command(tmp_path, builders.build_sft, Launch(processes=3), on_cpu=False)
    assert command[:3] == [sys.executable, "-m", "accelerate.commands.launch"]
    assert command[command.index("--num_processes") + 1] == "3"
    at = command.index("grounding.training.loop.worker")
    assert command[at - 1 : at + 4] == [
        "-m",
        "grounding.training.loop.worker",
        str(tmp_path),
        "--build",
        "training.loop.builders:build_sft",
    ]


def test_a_configuration_is_passed_on_and_says_the_rest(tmp_path: Path) -> None:
    launch = Launch(accelerate_config="/a/zero3.yaml", accelerate_sha256="ab")
    command = launch_command(tmp_path, builders.build_sft, launch, on_cpu=False)
    assert command[3:5] == ["--config_file", "/a/zero3.yaml"]
    assert "--num_processes" not in command
    assert "--multi_gpu" not in command
    more = msgspec.structs.replace(launch, processes=8)
    assert "--num_processes 8" in " ".join(launch_command(tmp_path, builders.build_sft, more, on_cpu=False))


def test_a_builder_that_other_processes_could_not_find_is_refused() -> None:
    assert builder_name(builders.build_dpo) == "training.loop.builders:build_dpo"
    with pytest.raises(UserError, match="top level of a module"):
        builder_name(lambda context: context)


def test_workers_that_outlived_their_command_are_waited_for(tmp_path: Path) -> None:
    held = (tmp_path / LOCK_FILE).open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    with held, pytest.raises(UserError, match="workers of an earlier run are still at work"):
        run_workers(
            tmp_path,
            builders.build_sft,
            Launch(processes=2),
            on_cpu=True,
            stop=StopSwitch(),
            progress=StageProgress("none", "sft"),
        )


def test_the_cause_is_told_and_not_its_echo_in_other_processes(tmp_path: Path) -> None:
    failure_file(tmp_path, 0).write_bytes(
        msgspec.json.encode("stage sft failed while training: RuntimeError: gloo: Connection reset by peer")
    )
    assert "ended without a word" in why_it_failed(tmp_path, 1)
    failure_file(tmp_path, 1).write_bytes(msgspec.json.encode("stage sft: memory ran out while training"))
    assert why_it_failed(tmp_path, 1) == "stage sft: memory ran out while training"


@pytest.mark.parametrize(
    ("variable", "name"), [("ACCELERATE_USE_FSDP", "FSDP"), ("ACCELERATE_USE_DEEPSPEED", "DeepSpeed")]
)
def test_what_accelerate_passes_over_on_the_cpu_is_refused(
    variable: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = SimpleNamespace(type="cpu")
    trainer = SimpleNamespace(
        is_fsdp_enabled=False, is_deepspeed_enabled=False, accelerator=SimpleNamespace(device=device)
    )
    check_spread(trainer)
    monkeypatch.setenv(variable, "true")
    with pytest.raises(UserError, match=rf"asks for {name}, but accelerate doesn't use it on this device \(cpu\)"):
        check_spread(trainer)
    trainer.is_fsdp_enabled = trainer.is_deepspeed_enabled = True
    check_spread(trainer)
