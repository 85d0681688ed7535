"""``grounding eval`` and ``grounding score`` where the data set is a shop: options to runs to one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.attended import INTERRUPTED
from grounding.report.show import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL, wide_console
from grounding.webagents.personalwab.options import ShopOptions
from grounding.webagents.personalwab.page.page import REPORT, shop_page
from grounding.webagents.personalwab.published import print_published_shop
from grounding.webagents.personalwab.runfiles import ShopFolder
from grounding.webagents.personalwab.running import evaluate_shop, paid_calls
from grounding.webagents.personalwab.scorebook import ShopScored, rescore_shop
from grounding.webagents.personalwab.shelf import Shelf
from grounding.webagents.personalwab.table import print_shop
from grounding.webagents.personalwab.verdicts import ShopRule, Which

WIDE = 132


def shop_command(runs: Sequence[ShopOptions], *, rule: ShopRule | None, as_json: bool, published: bool) -> int:
    """Run one or several runs over one shop and print them in one table; the exit code is the worst of them.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet.
    """
    shelf = Shelf()
    results: list[ShopScored] = []
    for options in runs:
        elsewhere = [call for done in results for call in paid_calls(ShopFolder(done.folder))]
        results.append(evaluate_shop(options, shelf=shelf, elsewhere=elsewhere))
        if results[-1].info.stopped == INTERRUPTED:
            break
    return show_shop(results, rule=rule or runs[0].rule, as_json=as_json, published=published)


def shop_score_command(
    run: Path, *, rule: ShopRule | None, as_json: bool, attempt: Which | None, published: bool
) -> int:
    """Score a run over a shop again from its stored episodes. Asks no chat model.

    Raises:
        UserError: there is no run in the folder, or it is damaged.
    """
    result = rescore_shop(run, attempt=attempt)
    if (run / REPORT).exists():
        # A page that shows other figures than the table would be believed.
        result = msgspec.structs.replace(result, report=shop_page(result))
    return show_shop([result], rule=rule or result.info.asked.preset, as_json=as_json, published=published)


def show_shop(results: Sequence[ShopScored], *, rule: ShopRule, as_json: bool, published: bool) -> int:
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
        print_shop(console, results, rule=rule)
        if published:
            print_published_shop(console, results)
    if any(result.info.stopped == INTERRUPTED for result in results):
        print("interrupted; the same command again goes on from here", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_OK if all(result.summary.status == "complete" for result in results) else EXIT_PARTIAL
