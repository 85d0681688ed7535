"""The shop that PUMA learns in: its training instructions and its web, and the test, which is never learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grounding.options import ShopSearch
from grounding.records import Record
from grounding.training.puma.scoring import ResultScorer
from grounding.training.puma.split import PumaSplit
from grounding.webagents.personalwab.embeddings import KeptEmbeddings
from grounding.webagents.personalwab.extras import needs
from grounding.webagents.personalwab.functions import WebFunctions
from grounding.webagents.personalwab.loader import TESTED, load_shop
from grounding.webagents.personalwab.options import ShopOptions
from grounding.webagents.personalwab.records import ShopDataset, ShopTask
from grounding.webagents.personalwab.shelf import Shelf
from grounding.webagents.personalwab.verdicts import ShopRule


class LearntShop(Record, frozen=True, kw_only=True):
    """A shop as training sees it. ``dataset`` holds the list ``train`` alone; ``test`` are the tasks of the other."""

    dataset: ShopDataset
    test: tuple[ShopTask, ...]
    functions: WebFunctions
    embed: KeptEmbeddings

    def scorer(self, rule: ShopRule) -> ResultScorer:
        """Who says what a parameter is worth."""
        return ResultScorer(self.functions, self.dataset.products, rule)

    def tasks(self, ids: Sequence[str]) -> tuple[ShopTask, ...]:
        """Training tasks by their ids, in this order."""
        by_id = {task.id: task for task in self.dataset.tasks}
        return tuple(by_id[id_] for id_ in ids)

    def sides(self, split: PumaSplit) -> tuple[tuple[ShopTask, ...], tuple[ShopTask, ...]]:
        """The tasks that train and those that are held out."""
        return self.tasks(split.train), self.tasks(split.held_out)


def open_learnt_shop(
    dataset: str,
    data_dir: Path | None,
    *,
    search: ShopSearch = "bm25",
    search_index: Path | None = None,
    scoring: ShopRule = "paper",
) -> LearntShop:
    """Read a shop and build its web. The web has no product that only the test knows of.

    Raises:
        UserError: it is not there, something is wrong with it, or the extra ``web`` is not installed.
    """
    options = ShopOptions(
        dataset=dataset,
        data_dir=data_dir,
        split="train",
        agent="rules",
        search=search,
        search_index=search_index,
        preset=scoring,
    )
    shelf = Shelf()
    loaded = shelf.dataset(options)
    test = load_shop(dataset, data_dir, splits=TESTED).tasks
    with needs("jsonschema"):
        web = shelf.web(options, loaded)
    from grounding.webagents.personalwab.similarity import kept_embeddings

    return LearntShop(dataset=loaded, test=test, functions=web.functions, embed=kept_embeddings())
