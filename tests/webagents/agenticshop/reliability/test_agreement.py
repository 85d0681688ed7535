"""Agreement of judges with people, against scipy and statsmodels and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa as their_kappa

from grounding.scoring.kappa import cohens_kappa
from grounding.scoring.ranks import phi
from grounding.webagents.agenticshop.records import ItemVerdict, Judgement
from grounding.webagents.agenticshop.reliability.agreement import PEOPLE, _drawn, agreement_figures
from grounding.webagents.agenticshop.reliability.raters import Asked, Rater, judge_raters
from webagents.agenticshop.page.runs import CHECKLIST

COUNT = st.integers(0, 30)
ASKED = {"s/u/0": Asked(product="s/u/0", url="http://a.test/", checklist=CHECKLIST)}


def rater(name: str, says: dict[str, dict[str, bool]], *, person: bool = True) -> Rater:
    return Rater(name=name, condition=None if person else "full", opinions=says)


def random_says(seed: int, products: int, share: float = 0.5) -> dict[str, dict[str, bool]]:
    chance = np.random.default_rng(seed)
    return {f"p/{n}": {item.id: bool(chance.random() < share) for item in CHECKLIST} for n in range(products)}


@given(COUNT, COUNT, COUNT, COUNT)
def test_coefficients_of_a_draw_are_the_exact_ones(a: int, b: int, c: int, d: int) -> None:
    cells = np.array([[a, b, c, d]], dtype=np.float64)
    for kind, exact in (("kappa", cohens_kappa([[a, b], [c, d]]).value), ("phi", phi([[a, b], [c, d]]))):
        found = float(_drawn(cells, kind)[0])
        if exact is None:
            assert np.isnan(found)
        else:
            assert found == pytest.approx(exact, abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_figures_are_those_of_other_libraries(seed: int) -> None:
    mine, theirs = random_says(seed, 12), random_says(seed + 5000, 12, 0.6)
    figure = agreement_figures([rater("j", mine, person=False)], [rater("ann", theirs)])[0]
    pairs = [(mine[p][i], theirs[p][i]) for p in mine for i in mine[p]]
    table = np.array([[sum(pair == (x, y) for pair in pairs) for y in (True, False)] for x in (True, False)])
    assert (figure.compared, figure.products, figure.pairs) == (84, 12, 1)
    assert figure.kappa.value == pytest.approx(their_kappa(table).kappa)
    first, second = np.array(pairs, dtype=float).T
    assert figure.spearman.value == pytest.approx(float(stats.spearmanr(first, second).statistic))
    shares = [[sum(says[p].values()) for p in mine] for says in (mine, theirs)]
    assert figure.by_product == pytest.approx(float(stats.spearmanr(*shares).statistic))
    assert figure.kappa.interval is not None
    assert figure.kappa.interval.low <= figure.kappa.interval.high


def test_dimensions_and_people_have_figures_of_their_own() -> None:
    one = {"p/0": {"brand_preferences/0": True, "price_sensitivity/0": False, "price_sensitivity/1": True}}
    two = {"p/0": {"brand_preferences/0": True, "price_sensitivity/0": True, "price_sensitivity/1": False}}
    figures = agreement_figures([rater("j", one, person=False)], [rater("ann", one), rater("ben", two)])
    by = {(each.rater, each.dimension): each for each in figures}
    assert len(figures) == 14
    assert (by["j", None].pairs, by["j", None].compared) == (2, 6)
    # With ann the judge agrees in everything (kappa 1), with ben as (1 yes-yes, 1, 1, 0): kappa -0.5.
    assert by["j", None].kappa.value == pytest.approx((1 + -0.5) / 2)
    assert by[PEOPLE, None].kappa.value == pytest.approx(-0.5)
    assert by[PEOPLE, "price_sensitivity"].kappa.value == pytest.approx(-1.0)
    assert by[PEOPLE, "price_sensitivity"].agree_percent == 0
    # Everybody says yes: nothing to agree on beyond chance. One product alone gives no interval.
    assert by["j", "brand_preferences"].kappa.value is None
    assert by["j", None].kappa.interval is None
    assert by["j", "review_sensitivity"].compared == 0
    assert by["j", "review_sensitivity"].agree_percent is None


def test_equal_arguments_give_equal_intervals_and_order_does_not_matter() -> None:
    judge = rater("j", random_says(1, 20), person=False)
    people = [rater("ann", random_says(2, 20)), rater("ben", dict(reversed(random_says(3, 20).items())))]
    assert agreement_figures([judge], people, seed=4) == agreement_figures([judge], people, seed=4)
    turned = agreement_figures([judge], people[::-1], seed=4)
    assert turned[0].kappa.value == pytest.approx(agreement_figures([judge], people, seed=4)[0].kappa.value or 0)


def test_an_interval_covers_what_it_is_of() -> None:
    """Raters that agree by chance alone: the interval holds 0 about 19 times out of 20."""
    held = 0
    for seed in range(20):
        judge, person = rater("j", random_says(seed, 25), person=False), rater("a", random_says(900 + seed, 25))
        figure = agreement_figures([judge], [person])[0]
        assert figure.kappa.interval is not None
        held += figure.kappa.interval.low <= 0 <= figure.kappa.interval.high
    assert 16 <= held <= 20


def judged(*verdicts: ItemVerdict, product: str = "s/u/0", judge: str = "m/1") -> Judgement:
    return Judgement(step_id=f"{product}/{judge}", key="k", judge=judge, verdicts=verdicts)


def test_what_a_judge_leaves_open_is_no_opinion_and_what_it_forgets_is_no() -> None:
    first, second = CHECKLIST[0].id, CHECKLIST[1].id
    (found,) = judge_raters(
        [
            judged(ItemVerdict(item=first, satisfied=True)),
            judged(
                ItemVerdict(item=first, satisfied=True), ItemVerdict(item=second, satisfied=False, flags=("undecided",))
            ),
            judged(product="s/other/0"),
        ],
        ASKED,
    )
    assert (found.name, found.condition, found.undecided) == ("m/1", "full", 1)
    assert found.opinions == {"s/u/0": {item.id: item.id == first for item in CHECKLIST if item.id != second}}
