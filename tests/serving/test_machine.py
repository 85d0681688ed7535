"""GPUs and ports of this machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.serving.machine import consecutive_ports, gpus, share


def nvidia_smi(folder: Path, *lines: str, code: int = 0) -> str:
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exit {code}\n")
    program.chmod(0o755)
    return str(folder)


def test_gpus_are_those_that_nvidia_smi_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    listed = (
        "GPU 0: NVIDIA H200 (UUID: GPU-1)",
        "  MIG 1g.10gb Device 0: (UUID: MIG-1)",
        "GPU 1: NVIDIA H200 (UUID: x)",
    )
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, *listed))
    assert gpus() == ("0", "1")


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="this machine has a GPU")
def test_a_driver_that_fails_means_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, "NVIDIA-SMI has failed", code=9))
    assert gpus() == ()


@pytest.mark.parametrize(("visible", "found"), [("2, 3", ("2", "3")), ("", ()), ("-1", ()), ("GPU-ab", ("GPU-ab",))])
def test_the_users_choice_of_gpus_is_kept(
    visible: str, found: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus() == found


def test_gpus_are_shared_out_among_replicas_where_there_are_enough() -> None:
    four = ("4", "5", "6", "7")
    assert [share(four, 2, number) for number in range(2)] == [
        {"CUDA_VISIBLE_DEVICES": "4,5"},
        {"CUDA_VISIBLE_DEVICES": "6,7"},
    ]
    assert share(four, 8, 0) == {}
    assert share(four, 1, 0) == {}
    assert share((), 2, 0) == {}


def test_free_ports_come_in_a_row() -> None:
    first, second, third = consecutive_ports("127.0.0.1", 3, None)
    assert (second, third) == (first + 1, first + 2)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"--port: 127\.0\.0\.1:{port} can't be listened on"):
            consecutive_ports("127.0.0.1", 2, port - 1)
    assert consecutive_ports("127.0.0.1", 1, port) == (port,)


def test_a_host_that_is_not_here_is_refused() -> None:
    with pytest.raises(UserError, match=r"--host 192\.0\.2\.1"):
        consecutive_ports("192.0.2.1", 1, None)
