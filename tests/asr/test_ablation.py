"""What recognition errors change: differences, slopes, curves, and whose fault it was; by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.asr.ablation import Spot, ablate, curves, fit_slope
from grounding.records import Failure

from .heard import Lines, heard_run, run

TRUTH: Lines = {"1": {"a": "++ +", "b": "+ -"}, "2": {"c": "+ + +"}}
#                ids      1/1 1/2 1/3    1/4 1/5         2/1 2/2 2/3
HEARD: Lines = {"1": {"a": "-+ +", "b": "- +"}, "2": {"c": "u - +"}}
SAID = "open the shopping cart now"
TEXTS = {
    "1/1": "open a shopping cart now",
    "1/4": "Open the shopping cart, now!",
    "1/5": "hope in the chopping card",
    "2/3": "opened the shopping cart",
}
GONE = {"2/1": Failure(kind="unparsed", message="no transcript: nothing was heard")}


def test_rows_differences_and_changed_steps() -> None:
    found = ablate(
        [run("truth", TRUTH), heard_run("pocketsphinx@babble:5dB", HEARD, TEXTS, failures=GONE)], title="made up"
    )
    assert found.truth == 0
    truth, heard = found.rows
    assert truth.words is None
    assert truth.difference is None
    assert (heard.missing, heard.unparsed, heard.failed) == (0, 1, 0)
    assert heard.difference is not None
    assert (heard.difference.won, heard.difference.lost) == (1, 4)
    assert heard.difference.metrics["step_accuracy"].value == pytest.approx(100 * (4 - 7) / 8)
    assert heard.words is not None
    # 1 + 0 + 4 or 5 + all 5 left out + 2 errors of 7 instructions with 5 words each.
    assert heard.words.errors.reference_words == 35
    assert [(one.step_id, one.is_lost, one.cause) for one in found.changed] == [
        ("1/1", True, "words"),
        ("1/4", True, "spelling"),
        ("1/5", False, "words"),
        ("2/1", True, "unheard"),
        ("2/2", True, "before"),
    ]
    assert found.changed[0].word_error_percent == pytest.approx(20)
    assert found.changed[3].heard == ""
    assert found.changed[3].word_error_percent == pytest.approx(100)


def test_each_instruction_is_one_spot_with_the_accuracy_lost_on_its_steps() -> None:
    found = ablate([run("truth", TRUTH), heard_run("pocketsphinx", HEARD, TEXTS, failures=GONE)], title="")
    assert [spot.lost_percent for spot in found.spots] == [50, 0, 100, -100, 100, 100, 0]
    assert found.spots[0].word_error_percent == pytest.approx(20)
    assert found.slope is not None
    assert found.slope.instructions == 7


def test_the_truth_may_stand_anywhere_and_without_it_there_is_no_difference() -> None:
    heard = heard_run("pocketsphinx", HEARD, TEXTS)
    found = ablate([heard, run("truth", TRUTH)], title="")
    assert (found.truth, found.rows[0].difference is None, found.rows[1].difference is None) == (1, False, True)
    alone = ablate([heard], title="")
    assert alone.truth is None
    assert alone.changed == ()
    assert alone.spots == ()
    assert alone.slope is None
    assert alone.rows[0].difference is None


def test_runs_over_other_steps_are_not_compared() -> None:
    with pytest.raises(ValueError, match="only in one"):
        ablate([run("truth", {"1": {"a": "+"}}), heard_run("pocketsphinx", {"1": {"a": "++"}}, {})], title="")


# --- slopes -------------------------------------------------------------------------------------------------------


def spot(rate: float, lost: float, task: str = "t") -> Spot:
    return Spot(condition="c", participant="1", task=task, word_error_percent=rate, lost_percent=lost)


spots = st.lists(
    st.builds(
        spot,
        st.integers(0, 300).map(float),
        st.sampled_from([-100.0, 0.0, 50.0, 100.0]),
        st.sampled_from(["a", "b", "c"]),
    ),
    min_size=3,
    max_size=40,
)


@given(spots)
def test_the_slope_is_that_of_least_squares(found: list[Spot]) -> None:
    slope = fit_slope(found)
    x = np.array([each.word_error_percent / 10 for each in found])
    y = np.array([each.lost_percent for each in found])
    assert slope.instructions == len(found)
    if np.ptp(x) == 0:
        assert slope.value is None
        assert slope.low is None
    else:
        assert slope.value == pytest.approx(np.polyfit(x, y, 1)[0], abs=1e-6, rel=1e-6)
        assert slope.low is None or slope.low <= slope.high  # type: ignore[operator]


def test_a_loss_that_grows_with_the_errors_is_found_and_its_interval_holds_it() -> None:
    drawn = np.random.default_rng(1)
    found = []
    for task in range(60):
        for _ in range(6):
            rate = float(drawn.uniform(0, 100))
            found.append(spot(rate, 100.0 if drawn.uniform() < rate / 200 else 0.0, task=str(task)))
    slope = fit_slope(found)
    assert slope.low is not None
    assert slope.high is not None
    assert slope.low < 5 < slope.high  # 50 points over 100 per cent.
    assert slope.low > 0


def test_people_are_drawn_together_where_that_is_asked_for() -> None:
    found = [spot(10.0 * at, 100.0 * (at % 2), task=str(at)) for at in range(8)]
    assert fit_slope(found, clusters="task").low != fit_slope(found, clusters="participant").low


# --- curves -------------------------------------------------------------------------------------------------------


def test_levels_of_one_noise_are_a_curve_in_their_order() -> None:
    names = ["truth", "pocketsphinx", *(f"pocketsphinx@babble:{level}dB" for level in (10, -5, 0))]
    names += ["pocketsphinx@typing:0dB", "pocketsphinx@babble:0dB:active", "pocketsphinx@babble:5dB:active"]
    runs = [run(name, TRUTH) if name == "truth" else heard_run(name, TRUTH, {}) for name in names]
    found = ablate(runs, title="")
    assert [(curve.recogniser, curve.noise) for curve in found.curves] == [
        ("pocketsphinx", "babble"),
        ("pocketsphinx", "babble, active speech"),
    ]
    assert [level.snr_db for level in found.curves[0].levels] == [-5, 0, 10]
    assert found.curves[0].clean is not None
    assert found.curves[0].clean.condition == "pocketsphinx"
    assert curves(found.rows[:2]) == ()
