"""Pictures of sweeps: what is drawn, that nothing is cut off and no text lies on another."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from grounding.errors import UserError
from grounding.report.plot import PlotPoint, SweepPlot, draw, picture
from grounding.scoring.metrics import shown
from grounding.scoring.scored import Estimate, OfficialScores, PaperScores, Scores
from grounding.scoring.scored import Figure as Official


def scores(value: float, n: int = 1714) -> Scores:
    def estimate(share: float, n: int, *, counted: bool = True) -> Estimate:
        k = round(n * share / 100) if counted else None
        return Estimate(value=share, k=k, n=n, low=max(0.0, share - 6), high=min(100.0, share + 6))

    paper = PaperScores(
        step_accuracy=estimate(value, n),
        instruction_accuracy=estimate(value, n),
        average_progress=estimate(value / 3, 107, counted=False),
        task_success=estimate(value / 8, 107),
    )
    nothing = OfficialScores(**dict.fromkeys(OfficialScores.__struct_fields__, Official(value=0, n=0)))
    return Scores(paper=paper, official=nothing)


METRICS = shown([scores(50)], several=True)


def lines(series: list[str], xs: tuple[float, ...] = (0, 1, 2, 5, 10, 15, 20), **more: Any) -> SweepPlot:
    points = [
        PlotPoint(series=name, x=x, scores=scores(60 + number + min(x, 20) / 2), partial=x == 2)
        for number, name in enumerate(series)
        for x in xs
    ]
    return SweepPlot(
        points=tuple(points),
        metrics=METRICS,
        x_option="history",
        series_options=("planner",),
        subtitle="a data set · grounder g",
        **more,
    )


def dots(names: list[str]) -> SweepPlot:
    points = [PlotPoint(series=name, x=None, scores=scores(40 + 7 * n)) for n, name in enumerate(names)]
    return SweepPlot(
        points=tuple(points),
        metrics=METRICS,
        x_option="",
        series_options=("plans",),
        subtitle="a data set · grounder g",
    )


MANY = [f"planner-{number}" for number in range(9)]
LONG = ["a very long name of a planner with its prompt explicit and more words than fit " * 2, "short"]
PLOTS = {
    "one line": lines([""]),
    "two lines": lines(["o3", "gpt-4o"]),
    "many lines": lines(MANY),
    "long names": lines(LONG),
    "one value": lines([""], xs=(5.0,)),
    "large numbers": lines([""], xs=(100_000.0, 2_500_000.0, 8_847_360.0)),
    "two rows": dots(["none", "reference"]),
    "many rows": dots(MANY),
    "long rows": dots(LONG),
    "one row": dots(["none"]),
}


def shown_texts(figure: Figure) -> list[Text]:
    """All words and numbers of a picture; labels beyond the end of an axis are not drawn."""
    found = [*figure.texts, *([figure._suptitle] if figure._suptitle else [])]
    for legend in figure.legends:
        found += [*legend.get_texts(), legend.get_title()]
    for panel in figure.axes:
        found += [panel._left_title, panel.title, panel.xaxis.label, panel.yaxis.label]  # type: ignore[attr-defined]
        for axis in (panel.xaxis, panel.yaxis):
            low, high = sorted(axis.get_view_interval())
            found += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [text for text in dict.fromkeys(found) if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("name", PLOTS)
def test_nothing_is_cut_off_and_no_text_lies_on_another(name: str) -> None:
    figure = picture(PLOTS[name])
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    texts = [(text.get_text(), text.get_window_extent(renderer)) for text in shown_texts(figure)]
    assert texts
    width, height = figure.canvas.get_width_height()
    for words, box in texts:
        assert box.x0 >= -1, words
        assert box.x1 <= width + 1, words
        assert box.y0 >= -1, words
        assert box.y1 <= height + 1, words
    for (one, first), (other, second) in itertools.combinations(texts, 2):
        assert not (
            min(first.x1, second.x1) - max(first.x0, second.x0) > 1
            and min(first.y1, second.y1) - max(first.y0, second.y0) > 1
        ), (one, other)


def test_a_line_holds_every_value_in_order_with_its_interval() -> None:
    figure = picture(lines([""], xs=(10, 0, 5)))
    success, progress, accuracy = figure.axes
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        "task success (%), n = 107 tasks",
        "average progress (%), n = 107 tasks",
        "step accuracy (%), n = 1714 steps",
    ]
    (line,) = (line for line in accuracy.lines if len(line.get_xdata()) == 3)  # type: ignore[arg-type]
    assert list(line.get_xdata()) == [0, 5, 10]  # type: ignore[arg-type]
    assert list(line.get_ydata()) == [60, 62.5, 65]  # type: ignore[arg-type]
    assert len(accuracy.containers) == 3
    assert "history" in accuracy.get_xlabel()
    assert success.get_ylim()[0] < 0 < progress.get_ylim()[0] + 5


def test_the_files_are_written_whole(tmp_path: Path) -> None:
    assert [path.name for path in draw(PLOTS["two lines"], tmp_path)] == ["sweep.png", "sweep.svg"]
    with Image.open(tmp_path / "sweep.png") as image:
        assert image.width == round(3.5 * 220)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep.png", "sweep.svg"]
    before = (tmp_path / "sweep.svg").read_bytes()
    draw(PLOTS["two lines"], tmp_path)
    assert (tmp_path / "sweep.svg").read_bytes() == before
    (tmp_path / ".sweep.png.new").mkdir()
    with pytest.raises(UserError, match=r"sweep\.png: can't be written: .*The runs themselves are kept"):
        draw(PLOTS["one line"], tmp_path)
