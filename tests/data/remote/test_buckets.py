"""A real s3fs against moto's server of S3: folders and archives, changes, and whole runs with one id."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import shell

from grounding.errors import UserError

from .conftest import content, fetch
from .test_archives import FILES

if TYPE_CHECKING:
    from conftest import TinyDataset

pytestmark = pytest.mark.slow

_SERVE = (
    "import sys\nfrom moto.server import ThreadedMotoServer\n"
    "server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)\nserver.start()\n"
    "print(server.get_host_and_port()[1], flush=True)\nsys.stdin.read()\nserver.stop()\n"
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of an S3 that is this module's own."""
    pytest.importorskip("moto", reason="moto is not installed (extra test)")
    pytest.importorskip("s3fs", reason="s3fs is not installed (extra s3)")
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=shell.environment(),
    )
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.communicate(input="", timeout=60)


@pytest.fixture
def s3(endpoint: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """A file system to put things there, and a bucket for this test, as ``s3.bucket``."""
    import s3fs

    for name, value in environment(endpoint).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", "*")
    fs = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
    fs.bucket = request.node.name.replace("_", "-").lower()[:60]
    fs.mkdir(fs.bucket)
    return fs


def environment(endpoint: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def put(s3: Any, folder: Path, at: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            s3.pipe(f"{s3.bucket}/{at}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def test_a_folder_in_a_bucket(s3: Any, capsys: pytest.CaptureFixture[str]) -> None:
    s3.pipe({f"{s3.bucket}/set/{name}": each for name, each in FILES.items()})
    s3.pipe(f"{s3.bucket}/set/empty/", b"")  # How consoles draw a folder.
    url = f"s3://{s3.bucket}/set"
    assert fetch(url) == FILES
    assert f"{url}: 4 files" in capsys.readouterr().err
    assert (fetch(url), capsys.readouterr().err) == (FILES, "")
    s3.pipe(f"{s3.bucket}/set/x", b"changed")
    s3.rm(f"{s3.bucket}/set/set/1/b.png")
    left = {name: each for name, each in FILES.items() if name != "set/1/b.png"}
    assert fetch(url) == left | {"x": b"changed"}
    assert f"{url}: 1 files, 7 bytes" in capsys.readouterr().err
    with pytest.raises(UserError, match="nothing there"):
        fetch(f"s3://{s3.bucket}/other")
    with pytest.raises(UserError, match="nothing there"):
        fetch("s3://no-such-bucket-anywhere/x")
    with pytest.raises(UserError, match="one file and no folder"):
        fetch(f"{url}/x")
    s3.pipe(f"{s3.bucket}/bad/a/../../out", b"")
    with pytest.raises(UserError, match="leads out of its folder"):
        fetch(f"s3://{s3.bucket}/bad")


def test_a_run_over_a_bucket_is_the_run_over_the_folder(
    s3: Any, tmp_path: Path, cache: Path, tiny_dataset: TinyDataset
) -> None:
    local = tiny_dataset("data")
    put(s3, local, "data")
    url = f"s3://{s3.bucket}/data"
    common = ("--dataset", "realwebassist", "--grounder", "random")
    for number, where in enumerate((local, url)):
        done = shell.run(*common, "--data-dir", str(where), "--log-dir", f"runs{number}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    first, second = (shell.run_folder(tmp_path / f"runs{number}") for number in (0, 1))
    assert first.name == second.name
    assert (first / "summary.json").read_bytes() == (second / "summary.json").read_bytes()
    (fetched,) = cache.glob("*/files/data")
    steps = [(folder / "steps.jsonl").read_text(encoding="utf-8") for folder in (first, second)]
    assert steps[0].replace(f"{local}/", "") == steps[1].replace(f"{fetched}/", "")
    info = json.loads((second / "run.json").read_bytes())
    assert url in info["command"]
    assert info["data_dir"] == str(fetched)


def test_commands_take_urls_and_the_cache_forgets(
    s3: Any, tmp_path: Path, cache: Path, tiny_dataset: TinyDataset
) -> None:
    put(s3, tiny_dataset("data"), "web")
    put(s3, tiny_dataset("other", steps=3), "other")
    web, other = f"s3://{s3.bucket}/web", f"s3://{s3.bucket}/other"
    sweep = ("sweep", "--dataset", "realwebassist", "--grounder", "center", "--log-dir", tmp_path)
    for words, said in (
        (("check", "--dataset", "realwebassist", "--data-dir", web), "no problems found"),
        ((*sweep, "--data-dir", web, other), "center"),
        (("cache",), other),
    ):
        done = shell.call(*words, module="grounding")
        assert done.returncode == 0, done.stderr
        assert said in done.stdout, done.stdout
    assert len(list(tmp_path.glob("realwebassist_*/summary.json"))) == 2
    done = shell.call("cache", "clear", "--data", "--yes", module="grounding")
    assert done.stdout == "deleted 2 data sets\n"
    assert content(cache) == {}
