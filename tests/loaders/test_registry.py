from __future__ import annotations

import importlib.metadata
from collections.abc import Collection
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grounding.errors import UserError
from grounding.loaders import DatasetProblems, Problem, check_dataset, layouts, load_dataset
from grounding.places import datasets_dir
from grounding.records import Dataset

from .helpers import change

if TYPE_CHECKING:
    from conftest import TinyDataset

CARD = "title: My data\nlayout: {layout}\nsource: here\nlicence: MIT\nname: mine\n"


def test_a_data_set_is_loaded_by_the_name_of_its_card(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    dataset = load_dataset("realwebassist", str(data_dir), history="auto", participants=["2"], deep=True)
    assert (dataset.name, [session.participant for session in dataset.sessions]) == ("realwebassist", ["2"])
    assert dataset.history_file
    assert load_dataset("sample-web", data_dir).name == "sample-web"


def test_another_questions_file_is_passed_on(tiny_dataset: TinyDataset) -> None:
    with pytest.raises(DatasetProblems, match="has no questions_other"):
        load_dataset("realwebassist", tiny_dataset(), questions="questions_other.json")


def test_a_data_set_that_must_be_fetched_says_how() -> None:
    with pytest.raises(UserError) as caught:
        load_dataset("realwebassist")
    for part in ("'realwebassist'", "--data-dir", "hf download stonehj05/RealWebAssist", "--repo-type dataset"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["RealWebAssist", "realwebasist"])
def test_an_unknown_name_gets_a_suggestion(name: str) -> None:
    with pytest.raises(UserError) as caught:
        load_dataset(name)
    assert str(caught.value).startswith(f"no data set is called '{name}' (did you mean 'realwebassist'?); there are: ")
    assert "sample-web" in str(caught.value)


def test_a_strange_name_gets_the_list() -> None:
    with pytest.raises(UserError, match=r"no data set is called 'xyz'; there are: .*realwebassist, .*sample-web"):
        check_dataset("xyz")


def test_check_returns_what_load_raises(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(edit=change(0, task=None, instruction=""))
    assert check_dataset("realwebassist", tiny_dataset("good")) == []
    problems = check_dataset("realwebassist", data_dir)
    assert [problem.field for problem in problems] == ["task", "instruction"]
    with pytest.raises(DatasetProblems) as caught:
        load_dataset("realwebassist", data_dir)
    assert list(caught.value.problems) == problems


def test_a_card_can_be_given_by_its_path(tiny_dataset: TinyDataset, tmp_path: Path) -> None:
    tiny_dataset("here")
    (tmp_path / "card.yaml").write_text(CARD.format(layout="realwebassist") + "path: here\n")
    assert load_dataset(str(tmp_path / "card.yaml")).name == "mine"


def test_a_bundled_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(CARD.format(layout="realwebassist") + "path: gone\n")
    with pytest.raises(UserError) as caught:
        load_dataset(str(tmp_path / "card.yaml"))
    assert f"card.yaml: path = 'gone': there is no folder {tmp_path / 'gone'}; " in str(caught.value)


def test_a_folder_given_as_a_name(tiny_dataset: TinyDataset) -> None:
    data_dir = str(tiny_dataset())
    what = r"tiny is a folder: give it with --data-dir, and as the data set one of: .*percu, personalwab, "
    with pytest.raises(UserError, match=what):
        load_dataset(data_dir)


def test_a_folder_of_the_same_name_does_not_hide_a_card(
    tiny_dataset: TinyDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tiny_dataset("realwebassist")
    monkeypatch.chdir(data_dir.parent)
    assert load_dataset("realwebassist", "realwebassist").name == "realwebassist"


def test_a_card_with_an_unknown_layout(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(CARD.format(layout="realwebasist"))
    with pytest.raises(UserError, match=r"card\.yaml: layout = 'realwebasist': no such layout \(did you mean"):
        load_dataset(str(tmp_path / "card.yaml"), tmp_path)


def load_my_layout(
    data_dir: Path,
    *,
    questions: str = "own default",
    history: str | None = None,
    participants: Collection[str] = (),
    name: str = "",
    deep: bool = False,
) -> Dataset:
    if not data_dir.exists():
        raise DatasetProblems([Problem(file=str(data_dir), what="does not exist", fix="make it")])
    return Dataset(name=name, fingerprint=f"{questions}, {history}, {participants}, {deep}", sessions=())


NOT_A_FUNCTION = 3


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = {
        "mylayout": f"{__name__}:load_my_layout",
        "broken": "no_such_module:load",
        "renamed": f"{__name__}:no_such_function",
        "number": f"{__name__}:NOT_A_FUNCTION",
    }
    points = EntryPoints(EntryPoint(name, target, "grounding.loaders") for name, target in targets.items())
    monkeypatch.setattr(importlib.metadata, "entry_points", points.select)


@pytest.mark.usefixtures("plugins")
class TestPlugins:
    def test_are_listed(self) -> None:
        assert {"broken", "mylayout", "number", "percu", "realwebassist", "renamed"} <= set(layouts())
        assert layouts() == sorted(set(layouts()))

    def test_are_used_by_name(self, tmp_path: Path) -> None:
        assert load_dataset("mylayout", tmp_path) == Dataset(
            name="mylayout", fingerprint="own default, None, (), False", sessions=()
        )
        everything = load_dataset("mylayout", tmp_path, questions="q", history="h", participants=("p",), deep=True)
        assert everything.fingerprint == "q, h, ('p',), True"
        assert [problem.what for problem in check_dataset("mylayout", tmp_path / "absent")] == ["does not exist"]

    def test_are_used_by_cards(self, tmp_path: Path) -> None:
        (tmp_path / "card.yaml").write_text(CARD.format(layout="mylayout"))
        assert load_dataset(str(tmp_path / "card.yaml"), tmp_path).name == "mine"

    def test_need_a_folder(self) -> None:
        with pytest.raises(UserError, match="'mylayout' does not come with the package: say where it lies"):
            load_dataset("mylayout")

    @pytest.mark.parametrize("name", ["broken", "renamed"])
    def test_that_cannot_be_imported(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UserError, match=f"the layout '{name}' .* cannot be imported"):
            load_dataset(name, tmp_path)

    def test_that_are_no_functions(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="must be a function"):
            load_dataset("number", tmp_path)


@pytest.mark.skipif(not (datasets_dir() / "sample-web").is_dir(), reason="datasets/sample-web is not there")
class TestBundledSample:
    def test_has_no_problems(self) -> None:
        assert check_dataset("sample-web", history="auto") == []

    def test_is_loaded(self) -> None:
        dataset = load_dataset("sample-web", history="auto")
        assert dataset.name == "sample-web"
        assert any(step.region for session in dataset.sessions for step in session.steps)
