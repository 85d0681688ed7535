"""What a page tells beside the offer: brand, seller, path, facts, features, words of stock and terms, forms."""

from __future__ import annotations

import pytest

from grounding.webagents.agenticshop.records import Attribute, Money, Variant

from .pages import facts, json_ld, offer_json, product, quotes

PRICE = '<p class="price">$59.00</p>'


@pytest.mark.parametrize(
    "shown",
    [
        '<p>by <a href="/b/harbour">Harbour</a></p>',
        "<p>Brand: Harbour</p>",
        "<p>Visit the Harbour Store</p>",
        '<p class="product-vendor">Harbour</p>',
        "<table><tr><th>Brand</th><td>Harbour</td></tr></table>",
        "<dl><dt>Manufacturer</dt><dd>Harbour</dd></dl>",
        "<ul><li><b>Brand</b> <span>Harbour</span></li></ul>",
        '<p itemprop="brand">Harbour</p>',
    ],
)
def test_the_brand_on_the_page(shown: str) -> None:
    assert facts(product(shown + PRICE)).brand == "Harbour"


def test_data_names_the_brand_before_the_page() -> None:
    head = json_ld(brand='{"name": "Harbour"}', offers=offer_json("59"))
    found = facts(product(f"<p>by Quay Goods</p>{PRICE}", head=head))
    assert found.brand == "Harbour"
    assert quotes(found, "brand") == {"page": "Quay Goods", "json-ld": "Harbour"}


@pytest.mark.parametrize(
    ("shown", "seller"),
    [
        ("<p>Sold by Quay &amp; Co</p>", "Quay & Co"),
        ("<p>Sold and shipped by Quay Goods.</p>", "Quay Goods"),
        ("<p>Seller: Quay Goods</p>", "Quay Goods"),
        ("", ""),
    ],
)
def test_the_seller(shown: str, seller: str) -> None:
    assert facts(product(PRICE + shown)).seller == seller


def test_attributes_of_tables_lists_and_lines() -> None:
    after = (
        "<table><tr><th>Material</th><td>Copper</td></tr><tr><td>Capacity:</td><td>1.7 l</td></tr>"
        "<tr><td>a</td><td>b</td><td>c</td></tr></table><dl><dt>Power</dt><dd>2200 W</dd></dl>"
        "<ul><li>Colour: Red</li><li><b>Weight</b> <span>1 kg</span></li><li>Shipping: $4.99</li></ul>"
        "<div hidden><table><tr><th>Origin</th><td>Portugal</td></tr></table></div>"
        "<section><h2>Related products</h2><table><tr><th>Size</th><td>9 m</td></tr></table></section>"
    )
    assert facts(product(after=after)).attributes == (
        Attribute(name="Material", value="Copper"),
        Attribute(name="Capacity", value="1.7 l"),
        Attribute(name="Power", value="2200 W"),
        Attribute(name="Colour", value="Red"),
        Attribute(name="Weight", value="1 kg"),
        Attribute(name="Origin", value="Portugal"),
    )


@pytest.mark.parametrize(
    "shown",
    [
        "<h2>Features</h2><ul><li>Boils fast</li><li>Cool handle</li></ul>",
        '<ul class="feature-bullets"><li>Boils fast</li><li>Cool handle</li></ul>',
        "<h3>About this item</h3><div></div><ul class='highlights'><li>Boils fast</li><li>Cool handle</li></ul>",
        "<p>A kettle for people who like tea.</p><ul><li>Boils fast</li><li>Cool handle</li></ul>",
    ],
)
def test_features(shown: str) -> None:
    assert facts(product(after=shown)).features == ("Boils fast", "Cool handle")


def test_links_are_no_features() -> None:
    assert (
        facts(product(after='<ul><li><a href="/a">About us</a></li><li><a href="/b">Our shops</a></li></ul>')).features
        == ()
    )


@pytest.mark.parametrize(
    "shown",
    [
        '<p itemprop="description">A kettle for people who like tea.</p>',
        '<div class="product-description"><h2>Description</h2><p>A kettle for people who like tea.</p></div>',
        "<h2>About this product</h2><p>A kettle for people who like tea.</p><table><tr><td>a</td><td>"
        "b</td></tr></table>",
        "<p>A kettle for people who like tea.</p>",
    ],
)
def test_the_description(shown: str) -> None:
    assert facts(product(after=shown)).description == "A kettle for people who like tea."


@pytest.mark.parametrize(
    "crumbs",
    [
        '<nav aria-label="Breadcrumb"><ol><li><a href="/">Home</a></li><li><a>Kitchen</a></li><li>'
        "Kettles</li></ol></nav>",
        '<div class="breadcrumbs"><a href="/">Home</a> \u203a <a href="/k">Kitchen</a>'
        ' \u203a <a href="/e">Kettles</a></div>',
        '<p class="crumbs">Home / Kitchen / Kettles / Copper Kettle 1.7 L</p>',
    ],
)
def test_the_path_of_categories(crumbs: str) -> None:
    assert facts(product().replace("<main>", f"<main>{crumbs}")).categories == ("Kitchen", "Kettles")


@pytest.mark.parametrize(
    ("shown", "availability"),
    [
        ("<p>In stock</p>", "in_stock"),
        ("<p>Only 2 left</p>", "in_stock"),
        ("<p>Sold out</p>", "sold_out"),
        ("<p>Currently unavailable.</p>", "sold_out"),
        ("<p>Out of stock. Notify me when it is back.</p>", "sold_out"),
        ("<p>Not in stock</p>", "sold_out"),
        ("", "in_stock"),
        ("<select><option>1 L</option><option disabled>2 L sold out</option></select><p>In stock</p>", "in_stock"),
        ('<label><input type="radio"> 1 L</label><label><input type="radio"> 2 L (sold out)</label>', "in_stock"),
    ],
)
def test_stock_in_words(shown: str, availability: str) -> None:
    assert facts(product(PRICE + shown)).availability == availability


def test_visible_words_of_stock_win_over_data() -> None:
    head = json_ld(offers=offer_json("59", availability='"https://schema.org/InStock"'))
    found = facts(product(f"{PRICE}<p>Sold out</p>", head=head, buy=""))
    assert found.availability == "sold_out"
    assert quotes(found, "availability") == {"page": "Sold out", "json-ld": "in_stock"}
    assert facts(product(PRICE, head=head, buy="")).availability == "in_stock"


def test_another_products_stock_is_not_this_ones() -> None:
    other = '<h2>You may also like</h2><div><a href="/p/x"><img src="x.png">Kettle X</a> $9.00 <b>sold out</b></div>'
    assert facts(product(f"{PRICE}<p>In stock</p>", after=other)).availability == "in_stock"


def test_terms_in_the_pages_words() -> None:
    after = (
        "<p>Arrives in 3 to 5 business days</p><p>Free returns within 30 days</p><p>2-year warranty on the body</p>"
        "<p>Money-back guarantee</p>"
    )
    found = facts(product(PRICE, after=after))
    assert found.delivery_text == "Arrives in 3 to 5 business days"
    assert found.returns_text == "Free returns within 30 days | Money-back guarantee"
    assert found.warranty_text == "2-year warranty on the body"
    table = (
        "<table><tr><th>Returns</th><td>14 days, unopened</td></tr><tr><th>Warranty</th><td>3 years</td></tr></table>"
    )
    found = facts(product(PRICE, after=table))
    assert "14 days, unopened" in found.returns_text
    assert "3 years" in found.warranty_text
    assert facts(product(PRICE)).returns_text == ""


@pytest.mark.parametrize(
    ("shown", "variants"),
    [
        (
            "<select><option>Choose a size</option><option selected>1 L \u2013 $49.00</option>"
            "<option disabled>2 L</option></select>",
            (
                Variant(name="1 L", price=Money(amount=49.0, currency="USD")),
                Variant(name="2 L", availability="sold_out"),
            ),
        ),
        (
            '<label><input type="radio" name="f" checked> Red</label><label>'
            '<input type="radio" name="f" disabled> Blue</label>',
            (Variant(name="Red"), Variant(name="Blue", availability="sold_out")),
        ),
        (
            '<input type="radio" id="a"><label for="a">Red</label><input type="radio" id="b">'
            '<label for="b">Blue</label>',
            (Variant(name="Red"), Variant(name="Blue")),
        ),
        (
            '<button aria-pressed="true">Red</button><button aria-pressed="false">Blue</button>',
            (Variant(name="Red"), Variant(name="Blue")),
        ),
        (
            '<div class="swatches"><span role="button" title="Red"></span>'
            '<span role="button" title="Blue"></span></div>',
            (Variant(name="Red"), Variant(name="Blue")),
        ),
        (
            '<select><option data-price="$49.00">1 L</option><option data-price="$69.00">'
            "2 L (+$20.00)</option></select>",
            (
                Variant(name="1 L", price=Money(amount=49.0, currency="USD")),
                Variant(name="2 L (+$20.00)", price=Money(amount=69.0, currency="USD")),
            ),
        ),
        ('<select name="quantity"><option>1</option><option>2</option></select>', ()),
        ('<select aria-label="Sort by"><option>Price</option><option>Rating</option></select>', ()),
        ("<select><option>1</option><option>2</option><option>3</option></select>", ()),
    ],
)
def test_forms_to_choose_from(shown: str, variants: tuple[Variant, ...]) -> None:
    assert facts(product(PRICE + shown)).variants == variants


@pytest.mark.parametrize(
    ("shown", "count"),
    [
        ('<div class="gallery"><img src="/i/k-1.png"><img src="/i/k-2.png"><img src="/i/k-1_thumb.png"></div>', 2),
        ('<img src="/a.png" alt="Copper Kettle 1.7 L, front"><img src="/logo.png" alt="Harbour">', 1),
        ('<div class="thumbs"><img src="/i/k_64x64.jpg"><img src="/i/k_800x800.jpg"></div>', 1),
        ("", None),
    ],
)
def test_different_pictures_are_counted(shown: str, count: int | None) -> None:
    assert facts(product(shown + PRICE)).picture_count == count


@pytest.mark.parametrize(
    "shown",
    [
        '<section id="reviews"><h2>Customer reviews</h2><ul><li><h3>Good</h3><span aria-label="4 out of 5"></span>'
        "<p>Boils very fast.</p></li><li><h3>Bad</h3><span aria-label="
        '"2 out of 5"></span><p>It leaks a lot.</p></li></ul></section>',
        '<div class="review-item"><b class="review-title">Good</b><i class="stars">★★★★☆</i><p class="review-text">'
        'Boils very fast.</p></div><div class="review-item"><b class="review-title">Bad</b><i class="stars">★★☆☆☆</i>'
        '<p class="review-text">It leaks a lot.</p></div>',
        '<div itemprop="review" itemscope><b itemprop="name">Good</b><i itemprop="ratingValue" content="8"></i>'
        '<i itemprop="bestRating" content="10"></i><p itemprop="reviewBody">Boils very fast.</p></div>'
        '<div itemprop="review" itemscope><b itemprop="name">Bad</b><i itemprop="ratingValue" content="2"></i>'
        '<p itemprop="reviewBody">It leaks a lot.</p></div>',
        "<h2>Opinions</h2><blockquote><strong>Good</strong> 4/5 <p>Boils very fast.</p></blockquote>"
        "<blockquote><strong>Bad</strong> 2/5 <p>It leaks a lot.</p></blockquote>",
    ],
)
def test_reviews_that_can_be_read(shown: str) -> None:
    found = facts(product(PRICE, after=shown)).reviews
    assert [(one.title, one.text, one.rating) for one in found] == [
        ("Good", "Boils very fast.", 4.0),
        ("Bad", "It leaks a lot.", 2.0),
    ]


def test_reviews_of_page_and_data_are_told_apart_by_their_words() -> None:
    head = json_ld(
        offers=offer_json("59"), review='[{"reviewBody": "Boils very fast!"}, {"reviewBody": "Only in the data."}]'
    )
    items = "<li><p>Boils very fast.</p><i>4/5</i></li><li><p>It leaks a lot.</p><i>2/5</i></li>"
    shown = f'<section class="reviews"><ul>{items}</ul></section>'
    found = facts(product(PRICE, head=head, after=shown)).reviews
    assert [one.text for one in found] == ["Boils very fast.", "It leaks a lot.", "Only in the data."]


def test_the_foot_of_a_page_tells_nothing_of_the_product() -> None:
    shown = product("<table><tr><td>Weight</td><td>165 g</td></tr></table>" + PRICE)
    foot = "<p>Voltera: Electronics without riddles</p><p>Help desk: help@volt.test</p>"
    before = {one.name for one in facts(shown.replace("</body>", f"<div>{foot}</div></body>")).attributes}
    after = {one.name for one in facts(shown.replace("</body>", f'<div id="foot">{foot}</div></body>')).attributes}
    assert (before - after, after) == ({"Voltera", "Help desk"}, {"Weight"})
