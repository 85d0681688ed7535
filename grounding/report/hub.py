"""Runs as a data set of the Hugging Face hub: a card with the scores, and Parquet files that ``load_dataset`` reads.

The card's ``configs`` are those of https://huggingface.co/docs/hub/datasets-manual-configuration; ``eval_results``
holds what https://huggingface.co/docs/hub/eval-results reads from the folder ``.eval_results`` of a model's repository.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding.data.registry import dataset_cards
from grounding.report.export import ExportTable, export_table, markdown
from grounding.report.frames import COLUMNS, Row, item_cells, opened, write_table
from grounding.report.rows import ItemRow, RunRows, read_rows

_COLUMNS = COLUMNS | {"screenshot": "name of the picture, which is not part of this data set"}
_SCORES = ("run", "dataset", "metric", "value", "unit", "k", "n", "low", "high", "p_holm", "partial", "signature")
_HUB = "https://huggingface.co/datasets/"


def write_hub(paths: Sequence[Path], out: str, *, baseline: Path | None = None) -> list[str]:
    """Write runs of one benchmark as a data set, a new folder here or where fsspec writes; returns its files' names.

    The configuration ``scores`` has a row for each run and metric, one named like each run a row for each of its items.
    Raises UserError: a package is missing, a run was never scored, the runs are of several benchmarks, or nothing can
    be written.
    """
    table = export_table(paths, baseline=baseline)
    runs = [read_rows(Path(row.folder)) for row in table.rows]
    scores = (
        {
            **{name: getattr(cell, name, None) for name in _SCORES},
            **{name: getattr(row, name) for name in ("dataset", "partial", "signature")},
            "run": row.name,
        }
        for row in table.rows
        for cell in row.cells
    )
    with opened(out) as (fs, root):
        written = write_table(fs, f"{root}/scores", "scores", _SCORES, scores)
        names = [f"scores/{name}" for name in written]
        for run in runs:
            items = [_item(row) for row in run.rows]
            more = dict.fromkeys(name for item in items for name in item if name not in _COLUMNS)
            folder = f"runs/{run.info.run_id}"
            written = write_table(fs, f"{root}/{folder}", "items", (*_COLUMNS, *more), iter(items))
            names += [f"{folder}/{name}" for name in written]
        hub = out.removeprefix("hf://datasets/")
        texts = {"README.md": _readme(table, runs, "OWNER/NAME" if hub == out else hub)}
        texts |= {f"eval_results/{run.info.run_id}.yaml": text for run in runs if (text := eval_results(run))}
        for name, text in texts.items():
            fs.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
            with fs.open(f"{root}/{name}", "wb") as file:
                file.write(text.encode())
    return [*texts, *names]


def eval_results(run: RunRows) -> str:
    """What a model's repository says of a run; "" where it is not of a whole release that the hub has."""
    card = dataset_cards().get(run.dataset)
    metric = run.shown()[0]
    value = run.scores[metric.name].value
    whole = run.status == "complete" and run.select == "all" and not getattr(run.info, "departs", ())
    if card is None or not card.source.startswith(_HUB) or value is None or not whole:
        return ""
    entry = {
        "dataset": {"id": card.source.removeprefix(_HUB), "task_id": "default"},
        "value": round(value, 2),
        "date": run.started_at[:10],
        "notes": f"{metric.label}, {metric.unit}; {run.signature}",
    }
    return _yaml([entry])


def _item(row: ItemRow) -> Row:
    name = None if row.screenshot is None else Path(row.screenshot.path).name
    return item_cells(row) | {"reason": row.reason.replace(str(Path.home()), "~") or None, "screenshot": name}


def _readme(table: ExportTable, runs: Sequence[RunRows], name: str) -> str:
    ids = [run.info.run_id for run in runs]
    title = f"Runs over {', '.join(dict.fromkeys(run.dataset for run in runs))}"
    scores = {"config_name": "scores", "data_files": _test("scores"), "default": True}
    head = {
        "pretty_name": title,
        "tags": ["gui-grounding", "evaluation"],
        "size_categories": [_size(sum(len(run.rows) for run in runs))],
        "configs": [scores, *({"config_name": each, "data_files": _test(f"runs/{each}")} for each in ids)],
    }
    load = f'scores = load_dataset("{name}")["test"]\nitems = load_dataset("{name}", "{ids[0]}")["test"]'
    cards, sources = dataset_cards(), []
    for card in (cards[each] for each in dict.fromkeys(run.dataset for run in runs) if each in cards):
        cited = f"\n\n```bibtex\n{card.citation.strip()}\n```" if card.citation else ""
        sources.append(f"{card.title}: {card.source}. Licence of its instructions: {card.licence}.{cited}")
    columns = (f"| `{one}` | {what} |" for one, what in _COLUMNS.items())
    parts = [
        f"---\n{_yaml(head)}---",
        f"# {title}",
        "Scores and every answer of these runs, by `grounding export --format hub` of the package gui-grounding.",
        markdown(table).rstrip(),
        f"```python\nfrom datasets import load_dataset\n\n{load}\n```",
        "\n".join(["| column | what it is |", "|---|---|", *columns]),
        "`score_NAME` are an item's own scores, `group_KIND` the groups that it is in.",
        "\n".join(f"- `{run.info.run_id}`: `{run.signature}`" for run in runs),
        *sources,
    ]
    return "\n\n".join(parts) + "\n"


def _test(folder: str) -> list[dict[str, str]]:
    return [{"split": "test", "path": f"{folder}/*.parquet"}]


def _size(items: int) -> str:
    """The hub's word for so many rows.

    >>> _size(262), _size(1714), _size(100_000)
    ('n<1K', '1K<n<10K', '100K<n<1M')
    """
    bounds = ("1K", "10K", "100K", "1M", "10M", "100M", "1B")
    over = sum(items >= 10**power for power in range(3, 9))
    return f"{bounds[over - 1]}<n<{bounds[over]}" if over else "n<1K"


def _yaml(value: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
    return re.sub(r"[\u0085\u2028\u2029]", " ", text)
