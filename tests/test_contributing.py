"""The recipes of CONTRIBUTING.md work as they stand, in a copy of the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

CHECKOUT = Path(__file__).resolve().parent.parent
TEXT = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^### … (.*?)\n(.*?)(?=^##|\Z)", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(("title", "recipe"), RECIPES, ids=[title for title, _ in RECIPES])
def test_a_recipe(title: str, recipe: str, tmp_path: Path) -> None:
    for folder in ("grounding", "models", "datasets"):
        shutil.copytree(CHECKOUT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    Image.new("RGB", (64, 48)).save(tmp_path / "1.png")
    (tmp_path / "lines.json").write_text(json.dumps([{"picture": "1.png", "words": "here", "box": [1, 2, 30, 40]}]))
    for language, content in re.findall(r"```(python|yaml)\n(.*?)```", recipe, re.DOTALL):
        name, at_the_end = re.match(r"# ([\w/.]+)(, at its end)?\n", content).groups()  # type: ignore[union-attr]
        assert Path(name).suffix == {"python": ".py", "yaml": ".yaml"}[language]
        with (tmp_path / name).open("a" if at_the_end else "x", encoding="utf-8") as file:
            file.write(content)
    (command,) = re.findall(r"```bash\n(.*?)\n```", recipe, re.DOTALL)
    line = command.replace("DIR", ".").replace("grounding ", f"{sys.executable} -m grounding ", 1)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{title}: {done.stdout}{done.stderr}"
