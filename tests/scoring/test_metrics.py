import subprocess
import sys

import pytest

from grounding.errors import UserError
from grounding.scoring import Metric, Part, metric, metrics, registered
from grounding.scoring.metrics import estimate

from .builders import Played


@pytest.fixture
def registry(monkeypatch):
    """A copy of the registry takes its place for the test."""
    monkeypatch.setattr(metrics, "_registry", dict(metrics._registry))
    metrics._load_entry_points.cache_clear()
    yield
    metrics._load_entry_points.cache_clear()


class Announced:
    """Stands for an installed package's entry point."""

    name, value = "late", "elsewhere.metrics"

    def __init__(self, load):
        self.load = load


def first_step(task):
    return Part(numerator=task.steps[0].is_hit, denominator=1)


def test_the_papers_metrics_are_registered():
    assert [each.name for each in registered()][:4] == [
        "step_accuracy",
        "instruction_accuracy",
        "average_progress",
        "task_success",
    ]


@pytest.mark.usefixtures("registry")
def test_a_new_metric_is_one_function():
    metric("first_step_accuracy")(first_step)
    extra = Played({"1": {"a": "+ -", "b": "- +"}, "2": {"a": "+"}}).summary().scores.extra
    assert list(extra) == ["first_step_accuracy"]
    score = extra["first_step_accuracy"]
    assert (score.k, score.n) == (2, 3)
    assert score.value == pytest.approx(200 / 3)
    assert 0 <= score.low <= score.value <= score.high <= 100


@pytest.mark.usefixtures("registry")
def test_a_metric_in_a_unit_of_its_own():
    @metric("mean_distance_px", counted=False, percent=False)
    def mean_distance_px(task):
        known = [s.verdict.distance_px for s in task.steps if s.verdict.distance_px is not None]
        return Part(numerator=sum(known), denominator=len(known))

    score = Played({"1": {"a": "+ - u", "b": "m"}}).summary().scores.extra["mean_distance_px"]
    assert (score.value, score.k, score.n, score.low, score.high) == (2.5, None, 2, 2.5, 2.5)


def test_a_metric_over_nothing_has_no_value():
    nothing = Metric(name="nothing", function=lambda _: Part(numerator=0, denominator=0))
    (session,) = Played({"1": {"a": "+"}}).joined()
    score = estimate([nothing], session.tasks)["nothing"]
    assert (score.value, score.k, score.n, score.low, score.high) == (None, 0, 0, None, None)


@pytest.mark.usefixtures("registry")
def test_a_name_is_given_once():
    with pytest.raises(ValueError, match=r"'step_accuracy' of .*first_step is already defined by .*paper"):
        metric("step_accuracy")(first_step)
    metric("first")(first_step)
    metric("first")(first_step)  # the same function again is no conflict


@pytest.mark.usefixtures("registry")
def test_an_installed_package_brings_its_metrics(monkeypatch):
    asked = []

    def installed(group):
        asked.append(group)
        return [Announced(lambda: metric("late")(first_step))]

    monkeypatch.setattr(metrics, "entry_points", installed)
    assert "late" in [each.name for each in registered()]
    registered()
    assert asked == ["grounding.metrics"]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("error", [ImportError("no module named elsewhere"), AttributeError("x"), ValueError("x")])
def test_a_package_that_cannot_be_loaded_is_named(monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setattr(metrics, "entry_points", lambda **_: [Announced(fail)])
    with pytest.raises(UserError, match=r"'late' \(elsewhere\.metrics, .*cannot be loaded: .*Repair or uninstall"):
        registered()


def test_packages_are_not_looked_for_at_import():
    code = (
        "import importlib.metadata as m; m.entry_points = None\n"
        "import grounding.scoring, sys; print(sorted({'scipy', 'cv2', 'PIL', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
