"""``grounding curation mall``: a real process that serves until it is ended."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from grounding.cli import run


def test_the_mall_is_served_until_it_is_ended() -> None:
    command = [sys.executable, "-m", "grounding.cli", "curation", "mall"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(5)]
        port = int(lines[0].removeprefix("all shops: http://127.0.0.1:").rstrip("/"))
        assert lines[1:] == [
            f"{name}: http://{name}.localhost:{port}/" for name in ("kettle", "loom", "pantry", "volt")
        ]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/p/aria-1", headers={"Host": f"volt.localhost:{port}"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (302, "/p/aria-one-noise-cancelling-headphones")
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.communicate()


def test_a_taken_port_is_a_users_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as ended:
        run(["curation", "mall", "--port", str(taken.getsockname()[1])])
    assert ended.value.code == 2
    assert "can't be opened" in capsys.readouterr().err


def test_a_data_set_without_shops_is_a_users_error(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in folder.glob("home_user_profile.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(SystemExit) as ended:
        run(["curation", "mall", "agenticshop", "--data-dir", str(tmp_path)])
    assert ended.value.code == 2
    assert "no shops of its own" in capsys.readouterr().err
