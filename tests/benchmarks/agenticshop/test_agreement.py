"""``grounding curation agree``: run folders and files of labels to tables, held against scipy and statsmodels."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa as their_kappa

from benchmarks.agenticshop.runs import journals
from benchmarks.agenticshop.shown import CHECKLIST, JUDGES, shown_run
from grounding.benchmarks.agenticshop.agreement import (
    PEOPLE,
    ItemLabel,
    LabelFile,
    ProductLabels,
    agree_with_people,
    agreement_figures,
    coefficients,
    drawn_coefficients,
    judged,
    read_label_file,
)
from grounding.benchmarks.agenticshop.records import Curation, ItemVerdict, Judgement, product_id
from grounding.cli import app
from grounding.errors import UserError
from grounding.records import Failure

Run = tuple[Path, list[Curation]]
Label = Literal["satisfied", "not-satisfied", "cant-tell"]


def as_rules(product: str, place: int) -> Label:
    """What the made-up judge ``reference`` says, but for every fifth item."""
    number = int(product.split("/U")[1][:3]) + int(product[-1])
    good = (place + number + JUDGES["reference"]) % 3 != 0
    return "satisfied" if good != (zlib.crc32(f"{product}{place}".encode()) % 5 == 0) else "not-satisfied"


def write_labels(
    path: Path, curations: list[Curation], says: Callable[[str, int], Label] = as_rules, annotator: str = "ann"
) -> LabelFile:
    """A file with a label for every item of every counted product; ``says`` gets the product and the item's place."""

    def label(name: str, url: str) -> ProductLabels:
        every = enumerate(CHECKLIST)
        labels = tuple(ItemLabel(item=one.id, text=one.text, label=says(name, place)) for place, one in every)
        return ProductLabels(product=name, url=url, labels=labels)

    found = tuple(label(product_id(one.step_id, of.rank), of.url) for one in curations for of in one.products[:3])
    file = LabelFile(format="grounding-curation-labels.1", annotator=annotator, run_id="tiny", products=found)
    path.write_bytes(msgspec.json.encode(file))
    return file


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = shown_run(tmp_path / "run", tasks=7)
    return folder.path, list(folder.curations().values())


def test_a_judge_that_people_follow_agrees_more(run: Run, tmp_path: Path) -> None:
    path, curations = run
    one, two = tmp_path / "a.json", tmp_path / "b.json"
    write_labels(one, curations)
    write_labels(two, curations, lambda name, place: "cant-tell" if place == 3 else as_rules(name, place), "ben")
    agreed = agree_with_people(path, [one, two], seed=0)
    overall = {one.rater: one for one in agreed.figures if one.dimension is None}
    rules, looker, people = overall["reference"], overall["looker"], overall[PEOPLE]
    # 5 tasks of 3 products with 7 items; ben leaves one of each out.
    assert (rules.products, rules.compared, people.compared) == (15, 15 * 7 + 15 * 6, 15 * 6)
    assert people.kappa == people.spearman == pytest.approx(1.0)
    assert (rules.kappa or 0) > 0.4 > (looker.kappa or 1)
    assert agreed.people == ("ann", "ben")
    assert agreed.raters["ben"] == "90 items of 15 products"


def test_the_command_prints_tables_with_the_papers(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, curations = run
    write_labels(tmp_path / "a.json", curations)
    said = ["curation", "agree", str(path), "--labels", str(tmp_path / "a.json")]
    assert app(said) == 0
    shown = capsys.readouterr().out
    for words in ("reference", "0.732", "0.774", "paper: w/o product info.", "functional", "0.792", "Spearman"):
        assert words in shown
    assert app([*said, "--json"]) == 0
    assert {one["rater"] for one in json.loads(capsys.readouterr().out)["figures"]} == {"reference", "looker"}


def test_a_judgement_that_is_an_error_is_no_opinion(run: Run, tmp_path: Path) -> None:
    write_labels(tmp_path / "a.json", run[1])
    folder = shown_run(tmp_path / "blind", tasks=7, judges=("looker",))
    with closing(journals(folder)[2]) as judgements:
        for number, one in enumerate(list(judgements)):
            failure = None if number else Failure(kind="error", message="503")
            judgements.append(msgspec.structs.replace(one, condition="url-only", failure=failure))
    agreed = agree_with_people(folder.path, [tmp_path / "a.json"], seed=0)
    assert agreed.figures[0].rater == "looker"
    assert agreed.raters["looker"] == "98 items of 14 products"


def test_labels_of_other_products_or_words_are_left_out(run: Run, tmp_path: Path) -> None:
    path, curations = run
    first, second, *rest = (file := write_labels(tmp_path / "a.json", curations)).products
    strange = msgspec.structs.replace(second.labels[0], text="Costs at most 4 with shipping")
    changed = (
        msgspec.structs.replace(first, url="http://elsewhere.test/"),
        msgspec.structs.replace(second, labels=(strange, *second.labels[1:])),
        *rest,
    )
    (tmp_path / "a.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(file, products=changed, run_id="x")))
    agreed = agree_with_people(path, [tmp_path / "a.json"], seed=0)
    assert agreed.raters["ann"] == "97 items of 14 products"


def test_files_that_contradict_themselves_are_refused(run: Run, tmp_path: Path) -> None:
    path, curations = run
    one, other = tmp_path / "a.json", tmp_path / "b.json"
    write_labels(one, curations)
    write_labels(other, curations)
    with pytest.raises(UserError, match="two files are of ann"):
        agree_with_people(path, [one, other], seed=0)
    other.write_bytes(b'{"format": "another"}')
    with pytest.raises(UserError, match="Invalid enum value"):
        read_label_file(other)
    elsewhere = [msgspec.structs.replace(one, step_id=f"x/{one.step_id.partition('/')[2]}") for one in curations]
    write_labels(other, elsewhere)
    with pytest.raises(UserError, match="none of its products"):
        agree_with_people(path, [other], seed=0)
    # An unknown product without an address is none of the run's, either.
    bare = ProductLabels(product="x/U000/0", url="", labels=())
    other.write_bytes(msgspec.json.encode(msgspec.structs.replace(read_label_file(one), products=(bare,))))
    with pytest.raises(UserError, match="none of its products"):
        agree_with_people(path, [other], seed=0)


# --- figures ---


def random_says(seed: int, share: float = 0.5) -> dict[str, dict[str, bool]]:
    chance = np.random.default_rng(seed)
    return {f"p/{n}": {item.id: bool(chance.random() < share) for item in CHECKLIST} for n in range(12)}


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_figures_are_those_of_other_libraries(seed: int) -> None:
    mine, theirs = random_says(seed), random_says(seed + 5000, 0.6)
    figure = agreement_figures({"j": mine}, {"ann": theirs})[0]
    pairs = [(mine[p][i], theirs[p][i]) for p in mine for i in mine[p]]
    table = np.array([[sum(pair == (x, y) for pair in pairs) for y in (True, False)] for x in (True, False)])
    assert (figure.compared, figure.products) == (84, 12)
    assert figure.kappa == pytest.approx(their_kappa(table).kappa)
    first, second = np.array(pairs, dtype=float).T
    assert figure.spearman == pytest.approx(float(stats.spearmanr(first, second).statistic))
    assert figure.kappa_interval is not None
    assert figure.kappa_interval.low <= figure.kappa_interval.high


@given(st.lists(st.sampled_from([0, 1, 2, 30]), min_size=4, max_size=4))
def test_draws_are_of_the_same_coefficients(cells: list[int]) -> None:
    table = np.array(cells, dtype=np.float64).reshape(2, 2)
    kappa, spearman = drawn_coefficients(table[np.newaxis])
    assert (kappa[0], spearman[0]) == pytest.approx(coefficients(table), nan_ok=True)


def test_an_extra_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(UserError, match=r"scikit-learn: pip install 'gui-grounding\[browser\]'"):
        agreement_figures({"j": random_says(1)}, {"ann": random_says(2)})


def test_dimensions_and_people_have_figures_of_their_own() -> None:
    one = {"p/0": {"brand_preferences/0": True, "price_sensitivity/0": False, "price_sensitivity/1": True}}
    two = {"p/0": {"brand_preferences/0": True, "price_sensitivity/0": True, "price_sensitivity/1": False}}
    figures = agreement_figures({"j": one}, {"ann": one, "ben": two})
    by = {(each.rater, each.dimension): each for each in figures}
    assert len(figures) == 14
    assert by["j", None].compared == 6
    # With ann the judge agrees in everything (kappa 1), with ben as (1 yes-yes, 1, 1, 0): kappa -0.5.
    assert by["j", None].kappa == pytest.approx((1 + -0.5) / 2)
    assert by[PEOPLE, None].kappa == pytest.approx(-0.5)
    assert by[PEOPLE, "price_sensitivity"].kappa == -1.0
    # Everybody says yes: nothing to agree on beyond chance. One product alone gives no interval.
    assert by["j", "brand_preferences"].kappa is by["j", None].kappa_interval is None
    assert by["j", "review_sensitivity"].compared == 0


def test_what_a_judge_leaves_open_is_no_opinion_and_what_it_forgets_is_no() -> None:
    first, second = CHECKLIST[0].id, CHECKLIST[1].id

    yes, undecided = ItemVerdict(item=first, satisfied=True), ItemVerdict(item=second, satisfied=False)
    verdicts = (yes, msgspec.structs.replace(undecided, flags=("undecided",)))
    said = Judgement(step_id="s/u/0/m/1", key="k", judge="m/1", verdicts=verdicts)
    asked = {"s/u/0": ("http://a.test/", CHECKLIST)}
    found = judged({"s/u/0": said, "s/other/0": said}, asked)
    assert found == {"s/u/0": {item.id: item.id == first for item in CHECKLIST if item.id != second}}


def test_without_labels_judges_are_held_against_the_reference(run: Run, tmp_path: Path) -> None:
    agreed = agree_with_people(run[0], [], seed=0)
    assert (agreed.people, {one.rater for one in agreed.figures}) == (("reference",), {"looker"})
    assert agreed.figures[0].compared == 15 * 7
    alone = shown_run(tmp_path / "alone", tasks=7, judges=("looker",))
    with pytest.raises(UserError, match="the reference did not judge"):
        agree_with_people(alone.path, [], seed=0)
