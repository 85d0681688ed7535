from __future__ import annotations

import importlib.metadata
from collections.abc import Collection
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from grounding.cli import run
from grounding.data import DatasetProblems, ExpectedCounts, Problem, inspect_dataset, load_dataset
from grounding.data import registry as cards
from grounding.data.registry import dataset_cards, departures, read_card, reference_plans
from grounding.data.release import data_name
from grounding.errors import UserError
from grounding.records import Dataset

if TYPE_CHECKING:
    from conftest import TinyDataset

CARD = "title: My data\nlayout: {layout}\nsource: here\nlicence: MIT\nname: mine\n"


def test_a_data_set_is_loaded_by_the_name_of_its_card(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    dataset = load_dataset("realwebassist", str(data_dir), history="auto", participants=["2"], deep=True)
    assert (dataset.name, [session.participant for session in dataset.sessions]) == ("realwebassist", ["2"])
    assert dataset.history_file
    assert load_dataset("sample-web", data_dir).name == "sample-web"


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


def test_a_folder_given_as_a_name(tiny_dataset: TinyDataset) -> None:
    data_dir = str(tiny_dataset())
    what = r"tiny is a folder: give it with --data-dir, and as the data set one of: .*percu, personalwab, "
    with pytest.raises(UserError, match=what):
        load_dataset(data_dir)


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
    points = EntryPoints(EntryPoint(name, target, "grounding.data") for name, target in targets.items())
    monkeypatch.setattr(importlib.metadata, "entry_points", points.select)


@pytest.mark.usefixtures("plugins")
class TestPlugins:
    def test_are_used_by_name(self, tmp_path: Path) -> None:
        assert load_dataset("mylayout", tmp_path) == Dataset(
            name="mylayout", fingerprint="own default, None, (), False", sessions=()
        )
        everything = load_dataset("mylayout", tmp_path, questions="q", history="h", participants=("p",), deep=True)
        assert everything.fingerprint == "q, h, ('p',), True"
        assert [problem.what for problem in inspect_dataset("mylayout", tmp_path / "absent").problems] == [
            "does not exist"
        ]

    @pytest.mark.parametrize("name", ["broken", "renamed"])
    def test_that_cannot_be_imported(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UserError, match=f"the layout '{name}' .* cannot be imported"):
            load_dataset(name, tmp_path)

    def test_that_are_no_functions(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="must be a function"):
            load_dataset("number", tmp_path)


FIELDS = """\
name: mine
title: My data
layout: realwebassist
source: here
licence: MIT
"""


def refused(tmp_path: Path, text: str) -> str:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        read_card(file)
    assert str(caught.value).startswith(f"{file}: ")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (FIELDS.replace("title: My data\n", ""), ["missing required field `title`", "name (needed)", "title (needed)"]),
        (FIELDS + "license: MIT\n", ["unknown field `license`", "licence (needed)"]),
        (FIELDS + "path: 3\n", ["Expected `str | null`, got `int`", "$.path"]),
        (
            FIELDS + "expected: {steps: many}\n",
            ["Expected `int | null`, got `str`", "$.expected.steps", "scored_steps"],
        ),
        (FIELDS + "expected: {pages: 3}\n", ["unknown field `pages`", "$.expected", "participants"]),
        ("- a\n- b\n", ["Expected `object`, got `array`"]),
        ("", ["Expected `object`, got `null`"]),
        ("a: [b\nc: d\n", ["is not YAML", "line 2"]),
        ("a: !!python/object:os.system x\n", ["is not YAML"]),
    ],
)
def test_a_wrong_card_says_file_field_and_what_is_allowed(tmp_path: Path, text: str, parts: list[str]) -> None:
    message = refused(tmp_path, text)
    for part in parts:
        assert part in message


def test_the_name_must_be_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.yaml").write_text(FIELDS)
    monkeypatch.setattr(cards, "datasets_dir", lambda: tmp_path)
    with pytest.raises(UserError, match=r"other\.yaml: name = 'mine': must be the name of the file, 'other'"):
        dataset_cards()


def test_the_sample_has_reference_instructions_and_others_need_not() -> None:
    found = reference_plans("sample-web")
    assert found is not None
    assert found.name == "reference.json"
    assert found.is_file()
    assert reference_plans("realwebassist") is None
    assert reference_plans("my-own-layout") is None


def test_what_departs_from_the_card_is_told_in_few_words_steps_first() -> None:
    found = ExpectedCounts(participants=3, steps=1200, tasks=9, groups={"platform": {"web": 5}})
    expected = ExpectedCounts(participants=5, steps=1272, tasks=9, scored_steps=7, groups={"platform": {"web": 6}})
    departs = departures(found, expected)
    assert departs == ("1,200 of 1,272 steps", "3 of 5 participants")
    assert data_name("web", departs) == "web(1,200 of 1,272 steps, not the release)"
    same = msgspec.structs.replace(expected, groups={"platform": {"web": 5}})
    assert departures(same, expected) == ("platform web: 5 scored steps, where the card says 6",)
    assert departures(expected, expected) == ()
    assert data_name("web", ()) == "web"


COUNTED = "name: mine\ntitle: t\nlayout: realwebassist\nsource: s\nlicence: l\nexpected: {%s}\n"


@pytest.mark.parametrize("choose", [(), ("--limit", "2"), ("--participant", "1"), ("--sample-id", "1/1")])
def test_a_part_that_the_user_chose_is_no_other_data_set(
    tiny_dataset: TinyDataset, tmp_path: Path, capfd: pytest.CaptureFixture[str], choose: tuple[str, ...]
) -> None:
    (tmp_path / "mine.yaml").write_text(
        COUNTED % "participants: 2, tasks: 4, steps: 8, scored_steps: 6, instructions: 99"
    )
    given = ["--dataset", str(tmp_path / "mine.yaml"), "--data-dir", str(tiny_dataset()), "--grounder", "center"]
    with pytest.raises(SystemExit):
        run(["eval", *given, *choose, "--log-dir", str(tmp_path / "runs")])
    out = capfd.readouterr().out
    assert "signature  dataset:mine@" in out
    assert "not the release" not in out


def test_another_data_set_never_passes_for_the_release(
    tiny_dataset: TinyDataset, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDING_EVAL_NO_REPORT", "false")
    data = "realwebassist(8 of 2,524 steps, not the release)"
    given = ["--dataset", "realwebassist", "--data-dir", str(tiny_dataset()), "--grounder", "center"]
    with pytest.raises(SystemExit):
        run(["eval", *given, "--log-dir", str(tmp_path / "runs")])
    out = " ".join(capfd.readouterr().out.split())
    assert f"{data} · planner none" in out
    assert f"signature dataset:{data}@" in out
    assert "8 of 2,524 steps; 2 of 10 participants; 4 of 107 tasks; 6 of 1,714 scored steps" in out
    (folder,) = (tmp_path / "runs").iterdir()
    page = (folder / "report.html").read_text()
    assert page.count(data) >= 2
    assert "realwebassist is not the release that its card describes" in page
    for command in (["score", str(folder)], ["report", str(folder), "--published"]):
        with pytest.raises(SystemExit):
            run(command)
        out = " ".join(capfd.readouterr().out.split())
        assert data in out
    rows = [line for line in out.split("│") if "this run" in line]
    assert rows
    assert all("not the" in row for row in rows), rows
    assert f"other data than the paper's ({data}, 6 steps, selection all)" in out


def test_a_check_warns_and_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = load_dataset("sample-web")
    folder = Path(sample.sessions[0].steps[0].screenshot.path).parent.parent.parent
    card = tmp_path / "mine.yaml"
    card.write_text(COUNTED % "participants: 99")
    (warning,) = inspect_dataset(str(card), folder, deep=False).warnings
    assert warning == f"{len(sample.sessions)} participants, where the card says 99"
    with pytest.raises(SystemExit) as ended:
        run(["check", "--dataset", str(card), "--data-dir", str(folder)])
    assert ended.value.code in (0, None)
    assert f"grounding: warning: {warning}" in capsys.readouterr().err
    assert inspect_dataset(str(card), folder, participants=["1"], deep=False).warnings == ()
