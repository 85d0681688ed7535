"""A run folder over made-up products, and people's files of labels for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from grounding.webagents.agenticshop.records import Curation, Judgement, product_id
from grounding.webagents.agenticshop.reliability.labels import FORMAT, ItemLabel, LabelFile, LabelName, ProductLabels
from grounding.webagents.agenticshop.runfiles import CurationAsked, CurationFolder, CurationRunInfo
from webagents.agenticshop.page.runs import CHECKLIST, parts

RUN_ID = "tiny_replay_0"


def write_run(path: Path, *, tasks: int = 7, judgements: list[Judgement] | None = None) -> list[Curation]:
    """A finished run of `parts`; returns its curations."""
    made = parts(path, tasks=tasks)
    folder = CurationFolder(path)
    folder.create()
    asked = CurationAsked(
        dataset="tiny",
        fingerprint="0" * 64,
        select="all",
        agent="replay",
        agent_identity="a",
        model="",
        base_url="",
        extractor="structural",
        extractor_identity="e",
        recorded="",
        web="own",
        seed=0,
        version="1",
    )
    folder.write_info(
        CurationRunInfo(
            run_id=RUN_ID,
            status="complete",
            signature="s",
            asked=asked,
            judges=(),
            preset="paper",
            data_dir="",
            command="",
            versions={},
            started_at="",
        )
    )
    folder.write_tasks(made["tasks"])
    curations = list(made["curations"])
    for journal, records in (
        (folder.curations(), curations),
        (folder.extractions(), made["extractions"]),
        (folder.judgements(), made["judgements"] if judgements is None else judgements),
    ):
        for record in records:
            journal.append(record)  # type: ignore[arg-type]
        journal.close()
    folder.release()
    return curations


def write_labels(
    path: Path, curations: list[Curation], says: Callable[[str, int], LabelName], *, annotator: str = "ann"
) -> LabelFile:
    """A file with a label for every item of every counted product; ``says`` gets the product and the item's place."""
    products = []
    for curation in curations:
        for one in curation.products[:3]:
            name = product_id(curation.step_id, one.rank)
            labels = tuple(
                ItemLabel(item=item.id, text=item.text, label=says(name, place)) for place, item in enumerate(CHECKLIST)
            )
            products.append(ProductLabels(product=name, url=one.url, labels=labels, seconds=30.0))
    file = LabelFile(
        format=FORMAT,
        annotator=annotator,
        run_id=RUN_ID,
        signature="s",
        seed=0,
        sample=50,
        pages="all",
        products=tuple(products),
    )
    path.write_bytes(msgspec.json.encode(file))
    return file
