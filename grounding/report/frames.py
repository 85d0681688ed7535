"""A scored run of any benchmark as a table: one row an item, one column a fact; as a pandas frame and as Parquet files.

An item is a step, or a task where tasks are scored as wholes. :data:`COLUMNS` says what every column is; lengths are in
pixels of the original screenshot. What the run amounts to is in one frame more, ``metrics``, with a row for each
metric, overall and in each group: its columns are in :data:`METRICS`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from grounding.errors import UserError, install
from grounding.records import html_table
from grounding.report.groups import count, interval, with_unit
from grounding.report.rows import ItemRow, break_down, read_rows
from grounding.scoring.scored import Estimate

DataFrame: TypeAlias = Any
"""``pandas.DataFrame``, without pandas being needed to read this file."""

Row = dict[str, Any]

Cell = Literal["flag", "count", "measure", "text"]

COLUMNS = {
    "item_id": "id of the step, or of the task where tasks are scored as wholes",
    "task": "the task that it belongs to",
    "user": "who",
    "outcome": "what became of it, in the benchmark's words",
    "result": "hit, miss, unparsed, error or missing",
    "is_hit": "whether it is right",
    "instruction": "what was asked",
    "plan": "what a planner made of it for the grounder; missing without one",
    "target": "what is right, in words",
    "answer": "what was answered, as it was read",
    "reply": "the reply as it came",
    "reason": "why it is not right, in words",
    "screenshot": "path of the picture at the time of the run; missing where there is none",
    "screenshot_sha256": "hash of its bytes",
    "screen_width_px": "its width",
    "screen_height_px": "its height",
    "gold_region": "where a click is right: boxes and polygons, as JSON",
    "gold_left_px": "left edge of the rectangle around all of them; missing where there is none",
    "gold_top_px": "its top edge",
    "gold_right_px": "its right edge",
    "gold_bottom_px": "its bottom edge",
    "x_px": "first point of the answer; missing where it has none",
    "y_px": "the same, downwards",
    "distance_px": "how far it is off, where that is measured: to the nearest edge of the region, 0 inside",
    "seconds": "wall time of its requests",
    "input_tokens": "tokens of the requests, as the server counted them",
    "output_tokens": "tokens of the replies",
    "cost_usd": "what it cost in US dollars; missing where no price is known",
}
"""The columns of ``frame()``. Every metric that is a mean over items is one more column ``score_NAME`` in its unit,
every kind of group a column ``group_KIND``, several names joined by ``|``."""

METRICS = {
    "group_kind": "participant or a kind of label, such as platform; missing for the whole run",
    "group": "the participant or the label's name; missing for the whole run",
    "metric": "name of the metric: the paper's and every registered one",
    "value": "the score; missing where nothing was measured",
    "unit": "of value, low and high: % or another",
    "k": "how many are right, where the metric counts things",
    "n": "of how many, or over how many the mean is taken",
    "low": "lower end of the 95 % interval; missing where there is none",
    "high": "its upper end",
    "method": "how the interval was made: bootstrap, wilson, wilson over clusters, or none",
}
"""The columns of ``metrics``."""

_DTYPES: dict[Cell, str] = {"flag": "boolean", "count": "Int64", "measure": "Float64", "text": "string"}
_COUNTS = frozenset({"k", "n", "screen_width_px", "screen_height_px", "input_tokens", "output_tokens"})
_MEASURES = frozenset({"value", "low", "high", "p_holm", "seconds"})


def cell_of(column: str) -> Cell:
    """What a column holds: true or false, a whole number, a fraction or text. Any cell may be missing."""
    if column == "is_hit":
        return "flag"
    if column in _COUNTS:
        return "count"
    if column.startswith("group_"):
        return "text"
    measured = column in _MEASURES or column.startswith("score_") or column.endswith(("_px", "_usd"))
    return "measure" if measured else "text"


class Run:
    """A scored run, from its folder.

    ``folder`` is its path, ``info`` the content of ``run.json``, ``summary`` that of ``summary.json``. Frames need
    pandas and are read when they are first asked for.

    Raises:
        UserError: there is no run in the folder, it was never scored, or a file is damaged; pandas is not installed and
            a frame is asked for.
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = Path(path)
        self._run = read_rows(self.folder)
        self.benchmark, self.info, self.summary = self._run.benchmark, self._run.info, self._run.summary

    @property
    def scores(self) -> dict[str, Estimate]:
        """Every metric by its name, by the paper's definitions: value, unit, k of n and the 95 % interval."""
        return self._run.scores

    @cached_property
    def metrics(self) -> DataFrame:
        """The same as a frame, with those of every group."""
        return _frame(self._metric_rows(), METRICS)

    def frame(self) -> DataFrame:
        return self._items.copy()

    @cached_property
    def _items(self) -> DataFrame:
        return _frame(map(item_cells, self._run.read()), COLUMNS)

    def _metric_rows(self) -> Iterator[Row]:
        run = self._run
        for metric in run.shown():
            yield _metric_cells(None, None, metric.name, run.scores[metric.name])
        for kind in dict.fromkeys(("participant", *run.kinds)):
            if kind in run.columns():
                for row in break_down(run, kind).rows:
                    yield _metric_cells(kind, row.name, run.metrics[0].name, row.accuracy)
                    for name, each in row.extra.items():
                        yield _metric_cells(kind, row.name, name, each)

    def __repr__(self) -> str:
        return f"<Run {self._title()}: {'; '.join(' '.join(row) for row in self._said())}; {self.folder}>"

    def _repr_html_(self) -> str:
        return f"{html_table(self._title(), self._said())}<code>{escape(str(self.folder))}</code>"

    def _title(self) -> str:
        return f"{self._run.dataset}, {self._run.name}, {self._run.status}"

    def _said(self) -> Iterator[tuple[str, str]]:
        for metric in self._run.shown():
            each = self.scores[metric.name]
            if each.value is not None:
                value = with_unit(each.value, each.unit)
                ends = interval(each.low, each.high, each.unit)
                yield metric.label, f"{value} {ends}".rstrip() + f" ({count(each.k, each.n)})"


_SAME = (
    "task",
    "outcome",
    "result",
    "is_hit",
    "instruction",
    "distance_px",
    "seconds",
    "input_tokens",
    "output_tokens",
)
_TEXTS = ("user", "plan", "target", "answer", "reply", "reason")


def item_cells(row: ItemRow) -> Row:
    """The row of an item; what is missing may not be there."""
    cells: Row = {"item_id": row.id, "cost_usd": row.usd, **{name: getattr(row, name) for name in _SAME}}
    cells |= {name: getattr(row, name) or None for name in _TEXTS}
    if (shot := row.screenshot) is not None:
        cells |= {"screenshot": shot.path, "screenshot_sha256": shot.sha256}
        cells |= {"screen_width_px": shot.size.width, "screen_height_px": shot.size.height}
    if (region := row.region) is not None:
        cells["gold_region"] = msgspec.json.encode(region).decode()
        corners = [(point.x_px, point.y_px) for polygon in region.polygons for point in polygon.points]
        corners += [(box.left_px, box.top_px) for box in region.boxes]
        corners += [(box.right_px, box.bottom_px) for box in region.boxes]
        if corners:
            for low, high, along in zip(("left", "top"), ("right", "bottom"), zip(*corners, strict=True), strict=True):
                cells |= {f"gold_{low}_px": min(along), f"gold_{high}_px": max(along)}
    if row.points:
        cells |= {"x_px": row.points[0].x_px, "y_px": row.points[0].y_px}
    return cells | _more_cells(row)


def _more_cells(row: ItemRow) -> Row:
    scores = {f"score_{name}": score for name, score in row.scores.items()}
    return scores | {f"group_{kind}": "|".join(names) for kind, names in row.groups.items()}


def _metric_cells(kind: str | None, group: str | None, metric: str, found: Estimate) -> Row:
    # All fields, those with their default value too.
    fields = {field: getattr(found, field) for field in found.__struct_fields__}
    return {"group_kind": kind, "group": group, "metric": metric, **fields}


def _frame(rows: Iterable[Row], columns: Mapping[str, str]) -> DataFrame:
    """A frame with these columns and what else the rows have, whether or not there are any rows.

    Types are pandas's nullable ones and the same for every run, whatever is missing in it.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UserError(f"a run's frames need pandas: {install('frames')}") from error
    found = list(rows)
    more = dict.fromkeys(name for row in found for name in row if name not in columns)
    frame = pd.DataFrame(found, columns=[*columns, *more], dtype=object)
    return frame.astype({name: _DTYPES[cell_of(name)] for name in frame.columns})


# --- Parquet --------------------------------------------------------------------------------------------------------

ROWS_A_FILE, ROWS_A_GROUP = 500_000, 50_000
"""Rows of one file, and those that are held at a time and that one of its row groups has."""


def write_parquet(path: Path, out: str) -> list[str]:
    """Write a scored run's items as Parquet files ``items-00000.parquet`` …; returns their names.

    Args:
        path: The run's folder.
        out: A new folder here, or where fsspec writes, such as ``s3://bucket/folder``.

    Raises:
        UserError: a package is missing, the run was never scored, a file of it is damaged, or nothing can be written.
    """
    run = read_rows(path)
    with opened(out) as (fs, root):
        # Read twice, not held: a run may have millions of items.
        columns = dict.fromkeys([*COLUMNS, *(name for row in run.read() for name in _more_cells(row))])
        return write_table(fs, root, "items", columns, map(item_cells, run.read()))


@contextmanager
def opened(out: str) -> Iterator[tuple[Any, str]]:
    """A file system and an empty folder on it that Parquet files are written to.

    Raises:
        UserError: a package is missing, there are files already, or nothing can be written there.
    """
    try:
        import fsspec.core
        import pyarrow as arrow  # noqa: F401
    except ImportError as error:
        raise UserError(f"Parquet files need pyarrow and fsspec: {install('parquet')}") from error
    try:
        fs, root = fsspec.core.url_to_fs(out)
        if fs.exists(root) and fs.find(root):
            raise UserError(f"--out {out}: there are files already; name another folder")
        yield fs, root
    except (OSError, ValueError, ImportError) as error:
        raise UserError(f"--out {out}: can't be written: {' '.join(str(error).split())[:300]}") from error


def write_table(fs: Any, root: str, table: str, columns: Iterable[str], rows: Iterator[Row]) -> list[str]:
    """Write rows as ``TABLE-00000.parquet`` … into a folder that :func:`opened` gave; returns the files' names."""
    import pyarrow as arrow
    import pyarrow.parquet

    types = {"flag": arrow.bool_(), "count": arrow.int64(), "measure": arrow.float64(), "text": arrow.string()}
    schema = arrow.schema([(name, types[cell_of(name)]) for name in columns])
    written: list[str] = []
    batch = list(islice(rows, ROWS_A_GROUP))
    while batch or not written:
        written.append(f"{table}-{len(written):05}.parquet")
        fs.makedirs(root, exist_ok=True)
        with (
            fs.open(f"{root}/{written[-1]}", "wb") as file,
            arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            for _ in range(ROWS_A_FILE // ROWS_A_GROUP):
                cells = [arrow.array([row.get(one.name) for row in batch], type=one.type) for one in schema]
                writer.write_table(arrow.Table.from_arrays(cells, schema=schema))
                batch = list(islice(rows, ROWS_A_GROUP))
                if not batch:
                    break
    return written
