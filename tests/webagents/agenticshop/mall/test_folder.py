"""Shops are read strictly: what contradicts itself is told, with the file and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grounding.errors import UserError
from grounding.webagents.agenticshop.mall.folder import read_shops, shops_of
from grounding.webagents.agenticshop.mall.server import read_pictures


def shop(**changes: Any) -> dict[str, Any]:
    goods = {
        "slug": "cup",
        "title": "Cup",
        "brand": "B",
        "category": "Cups",
        "description": "",
        "forms": [{"name": "", "price": 2.5}],
    }
    return {
        "name": "small", "title": "Small", "tagline": "", "design": "grocer", "currency": "USD", "shipping": 1.0,
        "free_above": 5.0, "delivery": "", "returns": "", "contact": "", "categories": ["Cups"],
        "goods": [goods], **changes,
    }  # fmt: skip


def written(folder: Path, content: Any) -> Path:
    (folder / "shops").mkdir(exist_ok=True)
    (folder / "shops" / "small.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def test_a_folder_without_shops_has_no_mall(tmp_path: Path) -> None:
    assert shops_of(tmp_path) == ()


def test_a_shop_is_found_under_the_name_of_its_file(tmp_path: Path) -> None:
    (site,) = shops_of(written(tmp_path, shop()))
    assert (site.name, site.home_url) == ("small", "http://small.mall.test/")


def test_the_bundled_mall_has_four(folder: Path) -> None:
    assert [site.name for site in shops_of(folder)] == ["kettle", "loom", "pantry", "volt"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "other"}, "the name of its file"),
        ({"goods": [*shop()["goods"], *shop()["goods"]]}, "occurs twice"),
        ({"categories": ["Pots"]}, "'Cups' is not among"),
        ({"front": ["jug"]}, "front: 'jug' is not a product"),
        ({"places": [{"path": "/x", "kind": "listing", "goods": ["jug"]}]}, "/x: 'jug' is not a product"),
        ({"places": [{"path": "/x", "kind": "redirect", "to": "/nowhere"}]}, "leads to '/nowhere'"),
        ({"goods": [shop()["goods"][0] | {"slug": "a/b"}]}, "can't stand in an address"),
        ({"goods": [shop()["goods"][0] | {"slug": "../b"}]}, "can't stand in an address"),
        ({"goods": [shop()["goods"][0] | {"chosen": 1}]}, "counts from 0"),
        ({"goods": [shop()["goods"][0] | {"forms": []}]}, "at least one form"),
        ({"goods": [shop()["goods"][0] | {"promotes": "jug"}]}, "promotes 'jug'"),
        ({"design": "bookshop"}, "bookshop"),
    ],
)
def test_contradictions_are_told(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=r"small\.json") as told:
        read_shops(written(tmp_path, shop(**changes)))
    assert says in str(told.value)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"name": "small"}', "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")]
)
def test_what_is_no_shop_is_told(tmp_path: Path, content: str) -> None:
    with pytest.raises(UserError, match=r"expected a shop as"):
        read_shops(written(tmp_path, content))


@pytest.mark.parametrize("name", ["../secret.svg", "cup.png", "/etc/passwd", "missing.svg"])
def test_pictures_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.svg").write_text("<svg/>")
    (one,) = read_shops(written(tmp_path, shop(goods=[shop()["goods"][0] | {"pictures": [name]}])))
    with pytest.raises(UserError):
        read_pictures(tmp_path, one)
