from __future__ import annotations

from pathlib import Path

import pytest

from grounding.cards.places import find_data_dir
from grounding.errors import UserError


def folder_tree(root: Path, *, beside: bool, inside: bool, pyproject: str | None) -> Path:
    package = root / "grounding"
    package.mkdir()
    if beside:
        (root / "datasets").mkdir()
    if inside:
        (package / "_data" / "datasets").mkdir(parents=True)
    if pyproject is not None:
        (root / "pyproject.toml").write_text(pyproject)
    return package


@pytest.mark.parametrize("pyproject", [None, "", '[project]\nname = "other"\n', "project = 3", "[not toml", "\udce9"])
def test_a_folder_beside_an_installed_package_is_somebody_elses(tmp_path: Path, pyproject: str | None) -> None:
    package = folder_tree(tmp_path, beside=True, inside=True, pyproject=None)
    if pyproject is not None:
        (tmp_path / "pyproject.toml").write_bytes(pyproject.encode("utf-8", "surrogateescape"))
    assert find_data_dir("datasets", package) == package / "_data" / "datasets"


def test_no_folder_at_all_says_where_it_was_looked_for(tmp_path: Path) -> None:
    package = folder_tree(tmp_path, beside=True, inside=False, pyproject=None)
    with pytest.raises(UserError) as caught:
        find_data_dir("datasets", package)
    for part in ("'datasets'", str(tmp_path / "datasets"), str(package / "_data" / "datasets"), "Install"):
        assert part in str(caught.value)
