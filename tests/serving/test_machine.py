"""GPUs and ports of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.serving.command import gpus, share


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


def test_gpus_are_shared_out_among_replicas_where_there_are_enough() -> None:
    four = ("4", "5", "6", "7")
    assert [share(four, 2, number) for number in range(2)] == [
        {"CUDA_VISIBLE_DEVICES": "4,5"},
        {"CUDA_VISIBLE_DEVICES": "6,7"},
    ]
    assert share(four, 8, 0) == {}
    assert share(four, 1, 0) == {}
    assert share((), 2, 0) == {}
