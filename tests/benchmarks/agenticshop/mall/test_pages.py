"""What shops answer: every kind of page, each design's own notation, data for machines, paging and search."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from aiohttp import web

from grounding.benchmarks.agenticshop.mall.pages import ShopPages
from tools.sample_mall.truth import gold

MISSING = {"kettle": 200, "loom": 404, "pantry": 404, "volt": 404}


def get(shop: ShopPages, address: str) -> web.Response:
    parts = urlsplit(address)
    return shop.reply("GET", parts.path, dict(parse_qsl(parts.query)), {})


def text(reply: web.Response) -> str:
    assert reply.content_type == "text/html"
    return reply.body.decode()


def leads_to(reply: web.Response) -> str:
    return reply.headers.get("Location", "")


def test_every_address_of_the_truth_answers_as_its_class_says(pages: dict[str, ShopPages], folder: Path) -> None:
    seen = set()
    for url, truth in gold(folder).items():
        assert "mall.test:" not in url
        reply = get(pages[truth.shop], url)
        kind = "redirect" if leads_to(reply) else truth.page_class
        seen.add((truth.shop, kind))
        assert reply.status == 302 if leads_to(reply) else reply.status in (200, 403), url
        if kind == "product":
            assert truth.facts is not None
            assert reply.status == 200
        elif kind != "redirect":
            assert truth.facts is None
        if kind == "blocked":
            assert re.search("human", text(reply))
        if kind == "error":
            assert re.search(r"(?i)not found|404|does(n't| not) exist", text(reply))
    assert {kind for _, kind in seen} == {"product", "listing", "blocked", "error", "other", "redirect"}
    assert len({shop for shop, kind in seen if kind == "product"}) == 4


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_is_not_there_is_missed(pages: dict[str, ShopPages], name: str) -> None:
    shop = pages[name]
    for path in ("/nothing", "/static/../pages.py", "/img/../shops/kettle.json", "/reviews/nothing"):
        assert shop.reply("GET", path, {}, {}).status == MISSING[name], path
    assert shop.reply("GET", "/reviews/nothing.json", {}, {}).status == 404
    assert shop.reply("POST", "/", {}, {}).status == 405


@pytest.mark.parametrize("name", sorted(MISSING))
def test_all_links_and_pictures_lead_somewhere(pages: dict[str, ShopPages], name: str) -> None:
    """From the first page every product, category, picture and page of a listing can be reached."""
    shop = pages[name]
    todo, seen = ["/"], {"/"}
    while todo:
        path = todo.pop()
        reply = get(shop, path)
        assert reply.status in (200, 302, 403), path
        if reply.content_type != "text/html":
            continue
        body = reply.body.decode().replace("&amp;", "&")
        links = [*re.findall(r'(?:href|src|action)="(/[^"]*)"', body), leads_to(reply)]
        more = re.search(r'data-path="([^"]+)" data-next="(\d+)"', body)
        if more:
            links.append(f"{more[1]}?page={more[2]}")
        for link in links:
            if link and link not in seen:
                assert shop.design.search_method == "post" or link != "/results"
                seen.add(link)
                todo.append(link)
    assert {shop.design.product_path(goods) for goods in shop.shop.goods} <= {urlsplit(path).path for path in seen}


def search(shop: ShopPages, words: str) -> list[str]:
    """The slugs that the first page of results names, in their order, by the shop's own way to ask."""
    design = shop.design
    field = {design.search_parameter: words}
    method = "POST" if design.search_method == "post" else "GET"
    reply = shop.reply(method, design.search_path, {} if method == "POST" else field, field if method == "POST" else {})
    assert reply.status == 200
    if design.search_method == "script":
        paths = [card["path"] for card in json.loads(reply.body)["goods"]]
    else:
        paths = re.findall(r'href="([^"]+)"', text(reply))
    by_path = {design.product_path(goods): goods.slug for goods in shop.shop.goods}
    return list(dict.fromkeys(by_path[path] for path in paths if path in by_path))


@pytest.mark.parametrize(
    ("name", "words", "first"),
    [
        ("pantry", "Hollin & Fray Assam Gold loose leaf black tea", "assam-gold-loose-leaf-black-tea"),
        ("pantry", "decaf whole bean coffee", "sidama-decaf-whole-bean-coffee"),
        ("kettle", "gooseneck kettle", "gooseneck-kettle-bruna"),
        ("volt", "noise cancelling headphones", "aria-one-noise-cancelling-headphones"),
        ("loom", "linen midi dress sage", "linen-midi-dress-alma"),
    ],
)
def test_the_search_box_of_each_shop_finds(pages: dict[str, ShopPages], name: str, words: str, first: str) -> None:
    assert search(pages[name], words)[0] == first
    assert search(pages[name], "zzzz") == search(pages[name], "") == []
