"""The wheel, built and installed as a user would, far from the checkout."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import grounding

CHECKOUT = Path(grounding.__file__).parent.parent
PATIENCE_S = 900
NOT_INSTALLED = ("torch", "transformers", "vllm", "pandas", "pytest")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2 * PATIENCE_S),
    pytest.mark.skipif(not (CHECKOUT / "pyproject.toml").exists(), reason="needs a checkout"),
]


def elsewhere(**more: str) -> dict[str, str]:
    """An environment in which nothing leads back to the checkout or to this interpreter's packages."""
    gone = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "COLUMNS")
    return {**{name: value for name, value in os.environ.items() if name not in gone}, **more}


def must(*command: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=elsewhere(**more),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build")
    out = tmp_path_factory.mktemp("dist")
    isolation = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    must(sys.executable, "-m", "build", "--wheel", *isolation, "--outdir", out, CHECKOUT, cwd=out)
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment with the wheel in it."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    must(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=home)
    return python


def test_the_wheel_holds_the_packages_its_cards_and_its_sample_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"grounding"}
    assert {"grounding/py.typed", "grounding/annotate/py.typed"} <= set(names)
    for folder in ("datasets", "models"):
        here = {
            f"grounding/_data/{path.relative_to(CHECKOUT).as_posix()}"
            for path in (CHECKOUT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert here, folder
        assert here <= set(names), here - set(names)
    for kind in ("py", "html", "css", "js"):
        for folder, into in (("grounding", ""), ("annotate", "grounding/")):
            for path in (CHECKOUT / folder).rglob(f"*.{kind}"):
                assert into + path.relative_to(CHECKOUT).as_posix() in names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".orig"))]
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_wheel_says_what_the_project_says(wheel: Path) -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    assert f"Version: {grounding.__version__}\n" in metadata
    for dependency in project["dependencies"]:
        assert f"Requires-Dist: {dependency}\n" in metadata


def test_it_runs_from_an_empty_folder_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = must(installed, "-c", "import grounding; print(grounding.__file__)", cwd=tmp_path).stdout
    assert str(CHECKOUT) not in where
    done = must(installed, "-m", "grounding.eval", "--grounder", "center", "--limit", "20", "--json", cwd=tmp_path)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["status"] == "complete"
    assert found["counts"]["steps"] == 20
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    script = installed.with_name("grounding")
    listed = must(script, "list", "grounders", cwd=tmp_path).stdout
    assert "gta1" in listed
    must(script, "check", "--dataset", "sample-web", cwd=tmp_path)


def test_the_main_job_runs_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    done = must(installed, "-m", "grounding.eval", "--limit", "5", "--json", cwd=tmp_path, GROUNDING_NO_CACHE="1")
    found = json.loads(done.stdout)
    assert found["status"] == "complete"
    assert found["counts"]["steps"] == 5


@pytest.mark.parametrize("name", NOT_INSTALLED)
def test_the_base_install_stays_small(installed: Path, tmp_path: Path, name: str) -> None:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is not None)"
    must(installed, "-c", code, cwd=tmp_path)
