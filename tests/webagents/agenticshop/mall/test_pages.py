"""What shops answer: every kind of page, each design's own notation, data for machines, paging and search."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.webagents.agenticshop.mall.designs import DESIGNS, code_first, dollars, euros, in_words
from grounding.webagents.agenticshop.mall.gold import address, gold
from grounding.webagents.agenticshop.mall.pages import Reply, ShopPages
from grounding.webagents.agenticshop.mall.search import find, words_of

PRODUCT_DATA = {"kettle": "itemtype", "loom": "", "pantry": "ld+json", "volt": "og:title"}
MISSING = {"kettle": 200, "loom": 404, "pantry": 404, "volt": 404}


def get(shop: ShopPages, address: str) -> Reply:
    parts = urlsplit(address)
    return shop.reply("GET", parts.path, dict(parse_qsl(parts.query)), {})


def text(reply: Reply) -> str:
    assert reply.content_type == "text/html"
    return reply.body.decode()


def test_every_address_of_the_truth_answers_as_its_class_says(pages: dict[str, ShopPages], folder: Path) -> None:
    seen = set()
    for url, truth in gold(folder).items():
        assert "mall.test:" not in url
        reply = get(pages[truth.shop], url)
        kind = "redirect" if reply.location else truth.page_class
        seen.add((truth.shop, kind))
        assert reply.status == 302 if reply.location else reply.status in (200, 403), url
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


def test_a_redirect_leads_to_what_its_truth_says(pages: dict[str, ShopPages], folder: Path) -> None:
    truths = gold(folder)
    redirects = 0
    for url, truth in truths.items():
        reply = get(pages[truth.shop], url)
        if reply.location:
            redirects += 1
            end = truths[f"http://{truth.shop}.mall.test{reply.location}"]
            assert (end.page_class, end.facts) == (truth.page_class, truth.facts)
    assert redirects >= 5


def test_every_shop_has_its_own_data_for_machines(pages: dict[str, ShopPages]) -> None:
    for name, mark in PRODUCT_DATA.items():
        shop = pages[name]
        body = text(get(shop, address(shop.shop, shop.shop.goods[0])))
        assert {one for one in PRODUCT_DATA.values() if one and one in body} == ({mark} - {""})


def test_the_price_is_in_the_page_but_for_the_shop_whose_script_writes_it(pages: dict[str, ShopPages]) -> None:
    for name, shop in pages.items():
        goods = shop.shop.goods[0]
        body = text(get(shop, address(shop.shop, goods))).partition("application/json")[0]
        assert (shop.design.money(goods.form.price) in body) == (name != "volt")


def test_another_products_price_stands_before_the_products_own(pages: dict[str, ShopPages]) -> None:
    found = 0
    for name in ("kettle", "pantry", "volt"):
        shop = pages[name]
        by_slug = {goods.slug: goods for goods in shop.shop.goods}
        for goods in shop.shop.goods:
            if goods.promotes:
                body = text(get(shop, address(shop.shop, goods)))
                promoted = shop.design.money(by_slug[goods.promotes].form.price)
                assert body.index(promoted) < body.index('id="price"')
                found += 1
    assert found >= 10


def test_json_ld_holds_the_price_of_the_form_that_is_shown(pages: dict[str, ShopPages]) -> None:
    shop = pages["pantry"]
    ranges = 0
    for goods in shop.shop.goods:
        if goods.guarded:
            continue
        body = text(get(shop, address(shop.shop, goods)))
        found = re.search(r'<script type="application/ld\+json">(.*?)</script>', body, re.DOTALL)
        assert found is not None
        data = json.loads(found[1])
        assert data["name"] == goods.title
        offers = data["offers"]
        ranges += offers["@type"] == "AggregateOffer"
        if offers["@type"] == "Offer":
            assert float(offers["price"]) == goods.form.price
        else:
            assert offers["lowPrice"] <= goods.form.price <= offers["highPrice"]
    assert ranges > 10


def test_every_shop_has_goods_that_are_sold_out_and_some_that_are_guarded(pages: dict[str, ShopPages]) -> None:
    for name, shop in pages.items():
        goods = shop.shop.goods
        assert any(one.sold_out for one in goods) or any(form.sold_out for one in goods for form in one.forms), name
        assert any(one.guarded for one in goods), name
    assert sum(one.sold_out for shop in pages.values() for one in shop.shop.goods) >= 4


def test_the_same_address_brings_the_same_bytes(pages: dict[str, ShopPages], folder: Path) -> None:
    for url, truth in gold(folder).items():
        assert get(pages[truth.shop], url) == get(pages[truth.shop], url)


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_is_not_there_is_missed(pages: dict[str, ShopPages], name: str) -> None:
    shop = pages[name]
    for path in (
        "/nothing",
        "/product/nothing",
        "/static/../pages.py",
        "/img/../shops/kettle.json",
        "/reviews/nothing",
    ):
        reply = shop.reply("GET", path, {}, {})
        assert reply.status == MISSING[name], path
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
        links = [*re.findall(r'(?:href|src|action)="(/[^"]*)"', body), reply.location]
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
    assert search(pages[name], "zzzz") == []
    assert search(pages[name], "") == []


def test_each_shop_asks_in_its_own_way() -> None:
    ways = {(design.search_method, design.search_parameter) for design in DESIGNS.values()}
    assert ways == {("get", "q"), ("get", "query"), ("post", "term"), ("script", "words")}


def test_results_are_paged(pages: dict[str, ShopPages]) -> None:
    shop = pages["pantry"]
    first = search(shop, "organic")
    second = get(shop, "/search?q=organic&page=2")
    assert len(first) == shop.design.page_size
    assert first[0] not in text(second)


@given(words=st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_words_can_be_searched_and_stay_text(pages: dict[str, ShopPages], words: str) -> None:
    shop = pages["kettle"]
    reply = shop.reply("GET", "/find", {"query": words}, {})
    assert reply.status == 200
    assert all(goods in shop.shop.goods for goods in find(shop.shop.goods, words))


@pytest.mark.parametrize("name", ["kettle", "pantry", "volt"])
def test_what_was_searched_is_escaped(pages: dict[str, ShopPages], name: str) -> None:
    shop, evil = pages[name], '"><script>alert(1)</script>'
    field = {shop.design.search_parameter: evil}
    reply = shop.reply("POST" if name == "volt" else "GET", shop.design.search_path, field, field)
    assert b"<script>alert" not in reply.body


def test_reviews_come_in_parts_as_json(pages: dict[str, ShopPages]) -> None:
    shop = pages["volt"]
    for goods in shop.shop.goods:
        place, got = 0, []
        while place is not None and not goods.guarded:
            part = json.loads(get(shop, f"/reviews/{goods.slug}.json?from={place}").body)
            got += [(one["title"], one["text"]) for one in part["reviews"]]
            place = part["next"]
        assert got == ([] if goods.guarded else [(one.title, one.text) for one in goods.reviews])
    assert json.loads(get(shop, f"/reviews/{shop.shop.goods[0].slug}.json?from=-1").body)["reviews"]
    assert json.loads(get(shop, f"/reviews/{shop.shop.goods[0].slug}.json?from=99").body) == {
        "reviews": [],
        "next": None,
    }


def test_notations() -> None:
    assert [dollars(1299), euros(1299), euros(12.5), code_first(12.5), code_first(1299)] == [
        "$1,299.00", "1.299,00 €", "12,50 €", "USD 12.5", "USD 1,299",
    ]  # fmt: skip
    assert [in_words(one) for one in (0.5, 1, 4.5, 5)] == [
        "Half a star out of five", "One star out of five", "Four and a half stars out of five",
        "Five stars out of five",
    ]  # fmt: skip


@given(amount=st.integers(0, 10**7))
def test_no_notation_loses_an_amount(amount: int) -> None:
    digits = re.sub(r"[^\d,]", "", euros(amount / 100))
    assert float(digits.replace(",", ".")) == amount / 100
    assert float(re.sub(r"[^\d.]", "", dollars(amount / 100))) == amount / 100
    assert float(re.sub(r"[^\d.]", "", code_first(amount / 100))) == amount / 100


def test_words_of_a_query() -> None:
    assert words_of("Headphones, glass & Dresses!") == ["headphone", "glass", "dresse"]
