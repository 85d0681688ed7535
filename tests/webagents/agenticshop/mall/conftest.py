"""The bundled mall, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from grounding.places import datasets_dir
from grounding.webagents.agenticshop.mall.folder import read_shops
from grounding.webagents.agenticshop.mall.pages import ShopPages
from grounding.webagents.agenticshop.mall.server import read_pictures

MALL = datasets_dir() / "sample-mall"


@pytest.fixture(scope="session")
def folder() -> Path:
    return MALL


@pytest.fixture(scope="session")
def pages() -> dict[str, ShopPages]:
    return {shop.name: ShopPages(shop, read_pictures(MALL, shop)) for shop in read_shops(MALL)}
