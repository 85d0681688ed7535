"""A real s3fs against moto's server of S3: folders and archives, changes, and whole runs with one id."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell

from grounding.errors import UserError

from .test_archives import FILES, make_tar, make_zip
from .test_syncing import content, fetch

pytestmark = pytest.mark.slow

_SERVE = (
    "import sys\nfrom moto.server import ThreadedMotoServer\n"
    "server = ThreadedMotoServer(ip_address='127.0.0.1', port=0)\nserver.start()\n"
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
    assert fetch(f"{url}/") == FILES
    capsys.readouterr()
    assert fetch(url) == FILES
    assert capsys.readouterr().err == ""
    s3.pipe(f"{s3.bucket}/set/x", b"changed")
    s3.rm(f"{s3.bucket}/set/set/1/b.png")
    left = {name: each for name, each in FILES.items() if name != "set/1/b.png"}
    assert fetch(url) == left | {"x": b"changed"}
    assert f"{url}: 1 files, 7 B" in capsys.readouterr().err
    with pytest.raises(UserError, match="nothing there"):
        fetch(f"s3://{s3.bucket}/other")
    with pytest.raises(UserError, match="nothing there"):
        fetch("s3://no-such-bucket-anywhere/x")
    with pytest.raises(UserError, match="one file and no folder"):
        fetch(f"{url}/x")
    s3.pipe(f"{s3.bucket}/bad/a/../../out", b"")
    with pytest.raises(UserError, match="leads out of its folder"):
        fetch(f"s3://{s3.bucket}/bad")


def test_archives_in_a_bucket(s3: Any, tmp_path: Path) -> None:
    s3.pipe(f"{s3.bucket}/d.zip", make_zip(tmp_path / "d.zip").read_bytes())
    s3.pipe(f"{s3.bucket}/d.tar.gz", make_tar(tmp_path / "d.tar.gz").read_bytes())
    assert fetch(f"s3://{s3.bucket}/d.zip") == FILES
    assert fetch(f"s3://{s3.bucket}/d.tar.gz") == FILES
    assert fetch(f"zip://set/1::s3://{s3.bucket}/d.zip") == {name[-5:]: FILES[f"set/1/{name[-5:]}"] for name in ("a.png", "b.png")}  # fmt: skip


def test_a_run_over_a_bucket_is_the_run_over_the_folder(s3: Any, endpoint: str, tmp_path: Path, cache: Path) -> None:
    from grounding.places import datasets_dir

    sample = datasets_dir() / "sample-web"
    for name in ("1", "2"):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / name).symlink_to(sample / name)
    local = tmp_path / "data"
    for name in ("1", "2"):
        for path in sorted((sample / name).rglob("*")):
            if path.is_file():
                s3.pipe(f"{s3.bucket}/data/{name}/{path.relative_to(sample / name).as_posix()}", path.read_bytes())
    url = f"s3://{s3.bucket}/data"
    common = ("--dataset", "realwebassist", "--grounder", "center", "--participant", "1", "2")
    ran = [
        shell.call(
            *common, "--data-dir", str(where), "--log-dir", str(tmp_path / f"runs{number}"),
            extra=environment(endpoint) | {"XDG_CACHE_HOME": str(cache.parent.parent)},
        )
        for number, where in enumerate((local, url))
    ]  # fmt: skip
    assert [one.returncode for one in ran] == [0, 0], ran
    first, second = (next((tmp_path / f"runs{number}").iterdir()) for number in (0, 1))
    assert first.name == second.name
    for name in ("summary.json", "steps.jsonl"):
        mine, theirs = ((folder / name).read_text(encoding="utf-8") for folder in (first, second))
        assert _placeless(mine, str(local)) == _placeless(theirs, str(cache / "*"))
    assert (first / "summary.json").read_bytes() == (second / "summary.json").read_bytes()
    info = json.loads((second / "run.json").read_bytes())
    assert url in info["command"]
    assert Path(info["data_dir"]).parent.parent.parent == cache


def _placeless(text: str, root: str) -> list[Any]:
    """Lines of JSON without the folder that paths of screenshots begin with."""
    if root.endswith("*"):
        import re

        text = re.sub(re.escape(root[:-1]) + r"[^/]+/files/[^/]+", "DATA", text)
    return text.replace(root, "DATA").splitlines()


def test_every_command_that_takes_a_folder_takes_a_url(s3: Any, endpoint: str, tmp_path: Path, cache: Path) -> None:
    from grounding.places import datasets_dir

    put(s3, datasets_dir() / "sample-desktop", "desk")
    put(s3, datasets_dir() / "sample-web" / "1", "web/1")
    given = environment(endpoint) | {"XDG_CACHE_HOME": str(cache.parent.parent)}
    desk, web = f"s3://{s3.bucket}/desk", f"s3://{s3.bucket}/web"
    for words, said in (
        (("check", "--dataset", "percu", "--data-dir", desk), "no problems found"),
        (("eval", "--dataset", "percu", "--data-dir", desk, "--grounder", "oracle", "--log-dir", tmp_path), "oracle"),
        (("sweep", "--dataset", "realwebassist", "--data-dir", web, "--limit", "3", "--grounder", "center", "oracle",
          "--log-dir", tmp_path), "oracle"),
        (("cache",), web),
    ):  # fmt: skip
        done = shell.call(*words, module="grounding.cli", extra=given)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout, done.stdout
    done = shell.call("cache", "clear", "--data", "--yes", module="grounding.cli", extra=given)
    assert done.stdout == "deleted 2 data sets\n"
    assert content(cache) == {}
