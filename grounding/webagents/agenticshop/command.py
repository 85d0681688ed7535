"""``grounding eval`` and ``grounding score`` where products are curated: options to runs to one set of tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.attended import INTERRUPTED
from grounding.options import ScoringName
from grounding.report.show import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL, wide_console
from grounding.webagents.agenticshop.options import CurationOptions
from grounding.webagents.agenticshop.page.page import REPORT
from grounding.webagents.agenticshop.paging import with_page
from grounding.webagents.agenticshop.preparation import FinderOpener, no_grounder, read_dataset
from grounding.webagents.agenticshop.published import print_published_curations
from grounding.webagents.agenticshop.records import CurationDataset
from grounding.webagents.agenticshop.runfiles import CurationFolder
from grounding.webagents.agenticshop.running import evaluate_curation, paid_calls
from grounding.webagents.agenticshop.scorebook import CurationScored, rescore_curation
from grounding.webagents.agenticshop.table import print_curations

WIDE = 132


def curation_command(
    runs: Sequence[CurationOptions], *, as_json: bool, published: bool, open_finder: FinderOpener = no_grounder
) -> int:
    """Run one or several runs over the same users and print them together; the exit code is the worst of them.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet.
    """
    read: dict[CurationOptions, CurationDataset] = {}

    def load(options: CurationOptions) -> CurationDataset:
        which = CurationOptions(dataset=options.dataset, data_dir=options.data_dir, scenario=options.scenario)
        if which not in read:
            read[which] = read_dataset(options)
        return read[which]

    results: list[CurationScored] = []
    for options in runs:
        elsewhere = [call for done in results for call in paid_calls(CurationFolder(done.folder))]
        results.append(evaluate_curation(options, load=load, open_finder=open_finder, elsewhere=elsewhere))
        if results[-1].info.stopped == INTERRUPTED:
            break
    return show_curations(results, rule=runs[0].preset, as_json=as_json, published=published)


def curation_score_command(run: Path, *, rule: ScoringName | None, as_json: bool, published: bool) -> int:
    """Score a run again from what it has stored. Asks nobody.

    Raises:
        UserError: there is no run in the folder, or it is damaged.
    """
    result = rescore_curation(run)
    if (run / REPORT).exists():
        # A page that shows other figures than the table would be believed.
        result = with_page(result)
    return show_curations([result], rule=rule or result.info.preset, as_json=as_json, published=published)


def show_curations(results: Sequence[CurationScored], *, rule: ScoringName, as_json: bool, published: bool) -> int:
    """Print results; 0 for complete runs, 1 where one is partial, 130 where it was interrupted now."""
    for result in results:
        if result.set_aside is not None:
            print(f"the earlier run was set aside as {result.set_aside}", file=sys.stderr)
    if as_json:
        summaries = [result.summary for result in results]
        shown = summaries[0] if len(summaries) == 1 else summaries
        print(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
    else:
        console = wide_console(WIDE)
        print_curations(console, results, rule=rule)
        if published:
            print_published_curations(console, results)
    if any(result.info.stopped == INTERRUPTED for result in results):
        print("interrupted; the same command again goes on from here", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_OK if all(result.summary.status == "complete" for result in results) else EXIT_PARTIAL
