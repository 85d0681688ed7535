"""The bundled mall, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.benchmarks.agenticshop.mall.pages import ShopPages
from grounding.benchmarks.agenticshop.mall.shops import read_shops
from grounding.cards.places import datasets_dir

MALL = datasets_dir() / "sample-mall"


@pytest.fixture(scope="session")
def folder() -> Path:
    return MALL


@pytest.fixture(scope="session")
def pages() -> dict[str, ShopPages]:
    return {shop.name: ShopPages(shop, MALL) for shop in read_shops(MALL)}
