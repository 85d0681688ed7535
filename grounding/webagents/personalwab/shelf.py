"""Data sets and the webs over them, each read and built once for runs that follow one another."""

from __future__ import annotations

from grounding.loaders.registry import locate
from grounding.records import Record
from grounding.webagents.personalwab.functions import WebFunctions
from grounding.webagents.personalwab.functions.recommend import NoRecommender, Recommender, open_recommender
from grounding.webagents.personalwab.functions.search import open_search
from grounding.webagents.personalwab.loader import find_files, load_shop
from grounding.webagents.personalwab.options import ShopOptions
from grounding.webagents.personalwab.records import ShopDataset


class Web(Record, frozen=True, kw_only=True):
    """The functions of a shop, and how many products its recommender chooses from."""

    functions: WebFunctions
    recommended: int


class Shelf:
    """Reads data sets and builds webs, each once for runs that follow one another."""

    def __init__(self) -> None:
        self._datasets: dict[tuple[object, ...], ShopDataset] = {}
        self._webs: dict[tuple[object, ...], Web] = {}

    def dataset(self, options: ShopOptions) -> ShopDataset:
        """The data set that the options name."""
        what = (options.dataset, options.data_dir, options.split)
        if what not in self._datasets:
            self._datasets[what] = load_for(options)
        return self._datasets[what]

    def web(self, options: ShopOptions, dataset: ShopDataset) -> Web:
        """The functions over a data set as the options want them."""
        what = (dataset.fingerprint, options.data_dir, options.search, options.search_index, options.preset)
        if what not in self._webs:
            self._webs[what] = _web(options, dataset)
        return self._webs[what]


def load_for(options: ShopOptions) -> ShopDataset:
    """Read the data set that the options name.

    Raises:
        UserError: it is not there or wrong.
    """
    return load_shop(options.dataset, options.data_dir, splits=(options.split,))


def _web(options: ShopOptions, dataset: ShopDataset) -> Web:
    files = find_files(locate(options.dataset, options.data_dir).folder)
    recommender: Recommender = NoRecommender()
    recommended = 0
    if files.checkpoint is not None and files.numbers is not None:
        loaded = open_recommender(files.checkpoint, files.numbers, leave_out_bought=options.preset == "paper")
        recommender, recommended = loaded, loaded.size
    search = open_search(options.search, dataset.products, options.search_index)
    return Web(functions=WebFunctions(dataset.products, search, recommender), recommended=recommended)
