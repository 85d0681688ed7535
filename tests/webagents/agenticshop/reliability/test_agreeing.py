"""``grounding curation agree``: run folders and files of labels to tables."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from grounding.cli import app
from grounding.errors import UserError
from grounding.records import Failure
from grounding.webagents.agenticshop.records import Curation, Judgement
from grounding.webagents.agenticshop.reliability.agreeing import agree_with_people
from grounding.webagents.agenticshop.reliability.labels import LabelName, label_rank, read_label_file
from webagents.agenticshop.page.runs import judgement, parts
from webagents.agenticshop.reliability.runs import RUN_ID, write_labels, write_run


def as_rules(product: str, place: int, *, wrong_every: int = 5) -> LabelName:
    """What the made-up judge ``rules`` says, but for every fifth item."""
    number = int(product.split("/U")[1][:3]) + int(product[-1])
    good = (place + number + len("rules")) % 3 != 0
    return "satisfied" if good != (label_rank(0, f"{product}{place}") % wrong_every == 0) else "not-satisfied"


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, list[Curation]]:
    return tmp_path / "run", write_run(tmp_path / "run")


def test_a_judge_that_people_follow_agrees_more(run: tuple[Path, list[Curation]], tmp_path: Path) -> None:
    path, curations = run
    write_labels(tmp_path / "a.json", curations, as_rules)
    write_labels(
        tmp_path / "b.json",
        curations,
        lambda product, place: "cant-tell" if place == 3 else as_rules(product, place),
        annotator="ben",
    )
    agreed = agree_with_people([path], [tmp_path / "a.json", tmp_path / "b.json"], unsure="leave-out", seed=0)
    assert agreed.runs == (RUN_ID,)
    overall = {one.rater: one for one in agreed.figures if one.dimension is None}
    rules, looker, people = overall["rules"], overall["looker"], overall["between people"]
    # 5 tasks of 3 products with 7 items; ben leaves one of each out.
    assert (rules.products, rules.compared, people.compared) == (15, 15 * 7 + 15 * 6, 15 * 6)
    assert people.kappa.value == people.spearman.value == pytest.approx(1.0)
    assert rules.kappa.value is not None
    assert looker.kappa.value is not None
    assert rules.kappa.value > 0.4 > looker.kappa.value
    ann, ben = agreed.people
    assert (ann.undecided, ben.undecided, ann.seconds, ann.not_labelled) == (0, 15, 450.0, 0)
    as_no = agree_with_people([path], [tmp_path / "b.json"], unsure="not-satisfied", seed=0)
    assert as_no.figures[0].compared == 15 * 7


def test_the_command_prints_tables_with_the_paper_s(
    run: tuple[Path, list[Curation]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, curations = run
    write_labels(tmp_path / "a.json", curations, as_rules)
    said = ["curation", "agree", str(path), "--labels", str(tmp_path / "a.json")]
    assert app(said) == 0
    shown = capsys.readouterr().out
    for words in (
        "rules",
        "0.732",
        "0.774",
        "paper: w/o product info.",
        "functional",
        "0.792",
        "Spearman",
    ):
        assert words in shown
    assert app([*said, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["rater"] for one in found["figures"]} == {"rules", "looker"}


def test_conditions_of_several_runs_stand_side_by_side(run: tuple[Path, list[Curation]], tmp_path: Path) -> None:
    path, curations = run
    write_labels(tmp_path / "a.json", curations, as_rules)
    seen = [one.step_id for one in parts(tmp_path / "run")["extractions"]]
    blind: list[Judgement] = [
        msgspec.structs.replace(judgement(name, "looker", 0), condition="url-only", step_id=f"{name}/looker")
        for name in seen
    ]
    blind[0] = msgspec.structs.replace(blind[0], verdicts=(), failure=Failure(kind="error", message="503"))
    write_run(tmp_path / "blind", judgements=blind)
    agreed = agree_with_people([path, tmp_path / "blind"], [tmp_path / "a.json"], unsure="leave-out", seed=0)
    overall = [one for one in agreed.figures if one.dimension is None]
    assert [(one.rater, one.condition) for one in overall] == [
        ("run: looker", "full"),
        ("run: rules", "full"),
        ("blind: looker", "url-only"),
    ]
    assert next(one for one in agreed.judges if "url-only" in one.name).failed_products == 1


def test_labels_of_other_products_or_words_are_left_out(run: tuple[Path, list[Curation]], tmp_path: Path) -> None:
    path, curations = run
    file = write_labels(tmp_path / "a.json", curations, as_rules)
    first, second, *rest = file.products
    strange = msgspec.structs.replace(second.labels[0], text="Costs at most 4 with shipping")
    changed = (
        msgspec.structs.replace(first, url="http://elsewhere.test/"),
        msgspec.structs.replace(second, labels=(strange, *second.labels[1:]), blind=False),
        *rest,
    )
    (tmp_path / "a.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(file, products=changed, run_id="x")))
    agreed = agree_with_people([path], [tmp_path / "a.json"], unsure="leave-out", seed=0)
    (ann,) = agreed.people
    assert (ann.products, ann.other_product, ann.other_words, ann.not_blind) == (14, 1, 1, 1)
    assert len(agreed.warnings) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[]", "Save file"),
        (b"{", "not JSON"),
        (b"", "not JSON"),
        (b'{"format": "other"}', "field format"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UserError, match=words):
        read_label_file(tmp_path / "a.json")


def test_files_that_contradict_themselves_are_refused(run: tuple[Path, list[Curation]], tmp_path: Path) -> None:
    path, curations = run
    file = write_labels(tmp_path / "a.json", curations, as_rules)
    write_labels(tmp_path / "b.json", curations, as_rules)
    with pytest.raises(UserError, match="two files are of ann"):
        agree_with_people([path], [tmp_path / "a.json", tmp_path / "b.json"], unsure="leave-out", seed=0)
    twice = msgspec.structs.replace(file, products=(*file.products, file.products[0]))
    (tmp_path / "c.json").write_bytes(msgspec.json.encode(twice))
    with pytest.raises(UserError, match="labelled twice"):
        read_label_file(tmp_path / "c.json")
    (tmp_path / "d.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(file, annotator="<b>")))
    with pytest.raises(UserError, match="field annotator"):
        read_label_file(tmp_path / "d.json")
    with pytest.raises(UserError, match=r"can't be read"):
        read_label_file(tmp_path / "none.json")
    elsewhere = [msgspec.structs.replace(one, step_id=f"x/{one.step_id.partition('/')[2]}") for one in curations]
    write_labels(tmp_path / "e.json", elsewhere, as_rules)
    with pytest.raises(UserError, match="none of its 15 products"):
        agree_with_people([path], [tmp_path / "e.json"], unsure="leave-out", seed=0)
