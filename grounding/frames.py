"""A run folder in, tidy pandas frames out: one row a step, one column a fact.

``grounding.load_run(path)`` is this module's :func:`load_run`. Needs pandas: ``pip install 'grounding[frames]'``.
:data:`COLUMNS` says what every column is; lengths are in pixels of the original screenshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from grounding.errors import UserError
from grounding.parquet import fresh_table
from grounding.runfolder import RunFolder, RunInfo
from grounding.runrows import COLUMNS, TABLES, Cell, Row, cell_of, table_rows

__all__ = ["COLUMNS", "RunFrames", "load_run"]

DataFrame: TypeAlias = Any
"""``pandas.DataFrame``, without pandas being needed to read this file."""

_DTYPES: dict[Cell, str] = {"flag": "boolean", "count": "Int64", "measure": "Float64", "text": "string"}


@dataclass(frozen=True)
class RunFrames:
    """A run as frames. ``info`` is the content of ``run.json``; :data:`COLUMNS` documents every column."""

    info: RunInfo
    steps: DataFrame
    plans: DataFrame
    predictions: DataFrame
    verdicts: DataFrame

    @cached_property
    def joined(self) -> DataFrame:
        """One row for each scored step, with everything that is known of it; made when it is first asked for."""
        joined = self.verdicts.merge(self.steps, on="step_id", how="left", validate="1:1")
        for frame, prefix in ((self.plans, "plan_"), (self.predictions, "prediction_")):
            named = {column: f"{prefix}{column}" for column in frame.columns if column != "step_id"}
            joined = joined.merge(frame.rename(columns=named), on="step_id", how="left", validate="1:1")
        return joined


def load_run(path: str | Path) -> RunFrames:
    """Read a scored run: each table from its Parquet file where that is up to date, else from the JSON lines.

    Args:
        path: The run's folder.

    Raises:
        UserError: pandas is not installed, there is no run in the folder, it was never scored, or a file is damaged.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UserError("load_run needs pandas: pip install 'grounding[frames]'") from error
    folder = RunFolder(Path(path))
    info = folder.read_info()
    frames = {}
    for name in TABLES:
        table = fresh_table(folder.path, name)
        frames[name] = _frame(pd, table_rows(folder, name), COLUMNS[name]) if table is None else _from_arrow(pd, table)
    return RunFrames(info=info, **frames)


def _frame(pd: Any, rows: Iterable[Row], columns: Mapping[str, str]) -> DataFrame:
    """A frame with these columns and what else the rows have, whether or not there are any rows.

    Types are pandas's nullable ones and the same for every run, whatever is missing in it.
    """
    found = list(rows)
    more = dict.fromkeys(name for row in found for name in row if name not in columns)
    frame = pd.DataFrame(found, columns=[*columns, *more], dtype=object)
    return frame.astype({name: _DTYPES[cell_of(name)] for name in frame.columns})


def _from_arrow(pd: Any, table: Any) -> DataFrame:
    """The same from a table of Arrow."""
    dtypes = {name: pd.api.types.pandas_dtype(_DTYPES[cell_of(name)]) for name in table.column_names}
    # Column by column, so that only one is held twice.
    return pd.DataFrame({name: dtype.__from_arrow__(table[name]) for name, dtype in dtypes.items()})
