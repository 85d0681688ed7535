"""What memory there is, out of made-up trees of ``/proc`` and ``/sys/fs/cgroup``, and of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.training.estimate import machine as machines
from grounding.training.estimate.machine import main_memory, this_machine

GIB = 1024**3


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    folder = tmp_path / "proc"
    write(folder / "meminfo", "MemTotal:  67108864 kB\nMemFree: 1024 kB\nMemAvailable:  50331648 kB\nHugePages: \n")
    return folder


def test_without_a_container_the_kernel_says(proc: Path, tmp_path: Path) -> None:
    (device,) = main_memory(proc, tmp_path / "none").devices
    assert (device.total_bytes, device.free_bytes) == (64 * GIB, 48 * GIB)


def test_a_control_group_limits_without_its_cached_files(proc: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    write(proc / "self" / "cgroup", "0::/pod/me\n")
    write(groups / "pod" / "memory.max", f"{8 * GIB}\n")
    write(groups / "pod" / "memory.current", f"{5 * GIB}\n")
    write(groups / "pod" / "memory.stat", f"anon 1\ninactive_file {2 * GIB}\n")
    write(groups / "pod" / "me" / "memory.max", "max\n")
    write(groups / "pod" / "me" / "memory.current", "1\n")
    found = main_memory(proc, groups)
    (device,) = found.devices
    assert (device.total_bytes, device.free_bytes) == (8 * GIB, 5 * GIB)
    assert "container" in found.note


def test_a_container_sees_its_own_group_as_the_root(proc: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    write(proc / "self" / "cgroup", "0::/outside/name\n")
    write(groups / "memory.max", f"{4 * GIB}\n")
    write(groups / "memory.current", f"{5 * GIB}\n")
    (device,) = main_memory(proc, groups).devices
    assert (device.total_bytes, device.free_bytes) == (4 * GIB, 0)


def test_control_groups_of_version_1(proc: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    write(proc / "self" / "cgroup", "11:cpu,cpuacct:/a\n9:memory:/a\n")
    write(groups / "memory" / "a" / "memory.limit_in_bytes", f"{16 * GIB}\n")
    write(groups / "memory" / "a" / "memory.usage_in_bytes", f"{6 * GIB}\n")
    write(groups / "memory" / "memory.limit_in_bytes", "9223372036854771712\n")
    write(groups / "memory" / "memory.usage_in_bytes", "1\n")
    (device,) = main_memory(proc, groups).devices
    assert (device.total_bytes, device.free_bytes) == (16 * GIB, 10 * GIB)


def test_this_machine_has_some() -> None:
    found = this_machine(cpu=True)
    assert found.kind == "cpu"
    assert 0 < found.devices[0].free_bytes <= found.devices[0].total_bytes


def test_gpus_are_asked_for_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="needs torch")
    monkeypatch.setattr(machines, "_may_have_gpus", lambda: True)
    answer = '[{"name": "H100", "total_bytes": 9, "free_bytes": 7}]'
    monkeypatch.setattr(machines, "_PROBE", f"print('a warning'); print({answer!r})")
    found = this_machine()
    assert (found.kind, found.devices[0].name, found.devices[0].free_bytes) == ("cuda", "H100", 7)
    monkeypatch.setattr(machines, "_PROBE", "raise SystemExit('driver too old')")
    with pytest.raises(UserError, match="driver too old"):
        this_machine()
    monkeypatch.setattr(machines, "_PROBE", "print('[]')")
    assert this_machine().kind == "cpu"


def test_no_driver_is_no_gpu(tmp_path: Path) -> None:
    assert not machines._may_have_gpus(tmp_path)
    write(tmp_path / "nvidiactl", "")
    assert machines._may_have_gpus(tmp_path)
