"""A run folder as a run would have left it, without having opened a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.agenticshop.made import made_curation, made_extraction, made_judgement
from grounding.benchmarks.agenticshop.judge.base import JudgedProduct, judgement_key
from grounding.benchmarks.agenticshop.records import Curation, CurationTask, Extraction, Judgement
from grounding.benchmarks.agenticshop.scorebook import CurationAsked, CurationFolder, CurationRunInfo, JudgeMade
from grounding.run.journal import Journal


def run_info(run_id: str = "run", judges: Sequence[str] = ("reference",), **asked: Any) -> CurationRunInfo:
    fields: dict[str, Any] = {
        "dataset": "sample-mall",
        "fingerprint": "f" * 64,
        "select": "all",
        "agent": "site-search",
        "agent_identity": "a",
        "model": "",
        "base_url": "",
        "extractor": "structural",
        "extractor_identity": "e",
        "recorded": "",
        "web": "own",
        "seed": 0,
        "version": "0",
    }
    return CurationRunInfo(
        run_id=run_id,
        status="complete",
        signature="",
        asked=CurationAsked(**{**fields, **asked}),
        judges=tuple(JudgeMade(name=name, identity=f"{name} 1") for name in judges),
        preset="paper",
        data_dir="",
        command="grounding eval --dataset sample-mall",
        versions={"grounding": "0"},
        started_at="2026-01-01T00:00:00Z",
        wall_s=12.5,
    )


def journals(folder: CurationFolder) -> tuple[Journal[Curation], Journal[Extraction], Journal[Judgement]]:
    """The files of a run's answers, open to be written."""
    path = folder.path
    return (
        Journal(path / "curations.jsonl", Curation),
        Journal(path / "extractions.jsonl", Extraction),
        Journal(path / "judgements.jsonl", Judgement),
    )


def write_run(
    path: Path,
    tasks: Sequence[CurationTask],
    satisfied: Mapping[str, Sequence[str]],
    *,
    judges: Sequence[str] = ("reference",),
    **asked: Any,
) -> CurationFolder:
    """A whole run: three products for every task, of which each judge says that these items are satisfied."""
    folder = CurationFolder(path)
    folder.create()
    folder.write_info(run_info(path.name, judges, **asked))
    folder.write_tasks(tasks)
    curations, extractions, judgements = journals(folder)
    for task in tasks:
        urls = [f"http://a.test/{task.user}/{rank}" for rank in range(3)]
        curations.append(made_curation(task, urls))
        for rank, url in enumerate(urls):
            extraction = made_extraction(task, rank, url)
            extractions.append(extraction)
            for judge in judges:
                key = judgement_key(f"{judge} 1", JudgedProduct(checklist=task.checklist, extraction=extraction))
                judgements.append(made_judgement(task, rank, satisfied[task.id], judge=judge, key=key))
    for journal in (curations, extractions, judgements):
        journal.close()
    folder.release()
    return folder
