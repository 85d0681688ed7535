"""Products that somebody or something chose before, from a file.

Read are:

- ``KEY_search_output.json`` of the release, one file or a folder of them; a file of that form under another name is for
  every scenario in which its users occur;
- ``curations.jsonl`` of an earlier run, or the folder of that run;
- CSV with a line of names, or JSON lines, one product each: ``task_id`` or ``user`` (and ``scenario``), ``url``, and
  ``name`` and ``reasoning`` where there are any. The products of a task are in the order of their lines, or of a column
  ``rank``.

Pictures of an earlier run's steps stay with that run.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.journal import Journal
from grounding.webagents.agenticshop.agents.recorded import (
    KeptRecording,
    Owner,
    RecordedAgent,
    RecordedAnswer,
    hash_of,
    owner_of,
)
from grounding.webagents.agenticshop.records import Curated, Curation
from grounding.webagents.agenticshop.release.search import read_search_answers, search_outputs
from grounding.webagents.agenticshop.scenarios import scenario_named, scenario_of_search_file

MAX_BYTES = 256 << 20
CURATIONS = "curations.jsonl"
FORMS = (
    "KEY_search_output.json of the release or a folder of them, curations.jsonl or the folder of an earlier run, or "
    "CSV or JSON lines with task_id (or user and scenario) and url"
)


class ReplayAgent(RecordedAgent):
    """Hands out the products of a file."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            UserError: It can't be read, or is none of the forms; says where.
        """
        super().__init__("replay", read_recording(path))


def read_recording(path: Path) -> KeptRecording:
    """All answers of a file or folder.

    Raises:
        UserError: It can't be read, or is none of the forms; says where.
    """
    if path.is_dir():
        if (path / CURATIONS).is_file():
            return _earlier_run(path / CURATIONS)
        return _outputs({scenario: file for scenario, file in search_outputs(path).items()})
    if path.suffix == ".json":
        return _outputs({scenario_of_search_file(path.name): path})
    content = _content(path)
    if path.suffix == ".jsonl":
        if _is_journal(content):
            return _earlier_run(path)
        return _table(path, content, _json_rows(path, content))
    if path.suffix in (".csv", ".tsv"):
        return _table(path, content, _csv_rows(path, content))
    raise UserError(f"--curations {path}: unknown form; expected {FORMS}")


def _content(path: Path) -> bytes:
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise UserError(f"--curations {path}: {size:,} bytes; at most {MAX_BYTES:,}")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"--curations {path}: can't be read: {error.strerror}") from error


# --- the release ---------------------------------------------------------------------------------------------------


def _outputs(files: dict[Any, Path]) -> KeptRecording:
    answers: dict[Owner, RecordedAnswer] = {}
    contents = {}
    for scenario, file in files.items():
        contents[file.name] = _content(file)
        for user, entry in read_search_answers(file).items():
            answers[scenario, user] = RecordedAnswer(products=entry.products, failure=entry.failure)
    return KeptRecording(answers, hash_of(contents))


# --- an earlier run ------------------------------------------------------------------------------------------------


def _is_journal(content: bytes) -> bool:
    first = content.split(b"\n", 1)[0]
    try:
        decoded = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(decoded, dict) and "step_id" in decoded and "key" in decoded


def _earlier_run(path: Path) -> KeptRecording:
    journal = Journal(path, Curation, read_only=True)
    try:
        last = {one.step_id: one for one in journal}
    finally:
        journal.close()
    answers: dict[Owner, RecordedAnswer] = {}
    for step_id, one in last.items():
        owner = owner_of(step_id)
        if owner is None:
            raise UserError(f"--curations {path}: {step_id!r} is no task of users with needs (SCENARIO/USER)")
        answers[owner] = RecordedAnswer(
            products=one.products,
            trace=tuple(msgspec.structs.replace(step, screenshot="") for step in one.trace),
            raw=one.raw,
            ended=one.ended,
            requests=one.requests,
            seconds=one.seconds,
            failure=one.failure,
        )
    return KeptRecording(answers, hash_of({path.name: _content(path)}))


# --- tables --------------------------------------------------------------------------------------------------------


def _csv_rows(path: Path, content: bytes) -> list[tuple[int, dict[str, str]]]:
    try:
        text = content.decode("utf-8-sig")
        reader = csv.DictReader(
            io.StringIO(text), dialect="excel-tab" if path.suffix == ".tsv" else "excel", strict=True
        )
        rows = [(reader.line_num, {str(name): value or "" for name, value in row.items()}) for row in reader]
    except UnicodeDecodeError as error:
        raise UserError(f"--curations {path}: is not UTF-8; save it as UTF-8") from error
    except csv.Error as error:
        raise UserError(f"--curations {path}: is not CSV: {error}") from error
    return rows


def _json_rows(path: Path, content: bytes) -> list[tuple[int, dict[str, str]]]:
    rows = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            decoded = msgspec.json.decode(line, type=dict[str, str | int | float | None])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(f"--curations {path}, line {number}: {error}; expected an object with url") from error
        rows.append((number, {name: "" if value is None else str(value) for name, value in decoded.items()}))
    return rows


def _table(path: Path, content: bytes, rows: list[tuple[int, dict[str, str]]]) -> KeptRecording:
    found: dict[Owner, list[tuple[float, Curated]]] = {}
    for number, row in rows:
        where = f"--curations {path}, line {number}"
        owner = _row_owner(row, where)
        url = row.get("url", "").strip()
        if not url:
            raise UserError(f"{where}: there is no url; every line is one product with its address")
        of_task = found.setdefault(owner, [])
        rank = _rank(row.get("rank", ""), len(of_task), where)
        product = Curated(rank=0, url=url, name=row.get("name", ""), reasoning=row.get("reasoning", ""))
        of_task.append((rank, product))
    answers = {owner: RecordedAnswer(products=_ranked(products)) for owner, products in found.items()}
    return KeptRecording(answers, hash_of({path.name: content}))


def _row_owner(row: dict[str, str], where: str) -> Owner:
    if task_id := row.get("task_id", "").strip():
        owner = owner_of(task_id)
        if owner is None:
            raise UserError(f"{where}: task_id = {task_id[:100]!r}: expected SCENARIO/USER")
        return owner
    user = row.get("user", "").strip()
    if not user:
        raise UserError(f"{where}: there is neither a task_id nor a user")
    scenario = row.get("scenario", "").strip()
    try:
        return (scenario_named(scenario) if scenario else None), user
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _rank(text: str, default: int, where: str) -> float:
    if not text.strip():
        return default
    try:
        return int(text)
    except ValueError as error:
        raise UserError(f"{where}: rank = {text[:20]!r}: expected a whole number") from error


def _ranked(products: list[tuple[float, Curated]]) -> tuple[Curated, ...]:
    in_order = [product for _, product in sorted(products, key=lambda one: one[0])]
    return tuple(msgspec.structs.replace(product, rank=rank) for rank, product in enumerate(in_order))
