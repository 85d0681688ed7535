"""Small pages of shops for tests, and the shortest way from HTML to facts."""

from __future__ import annotations

from typing import Any

from grounding.benchmarks.agenticshop.extraction.structural import extract_page
from grounding.benchmarks.agenticshop.records import Extraction, ProductFacts, RenderedPage

URL = "https://shop.test/p/copper-kettle"


def made_page(**more: Any) -> RenderedPage:
    fields: dict[str, Any] = {"url": URL, "final_url": URL, "status": 200, "content_type": "text/html"}
    return RenderedPage(**{**fields, **more})


def html_of(body: str, *, head: str = "", title: str = "Copper Kettle 1.7 L | Harbour Goods", lang: str = "en") -> str:
    return f'<!doctype html><html lang="{lang}"><head><title>{title}</title>{head}</head><body>{body}</body></html>'


def product(
    offer: str = '<div class="price">$59.00</div>',
    *,
    after: str = "",
    buy: str = "<button>Add to cart</button>",
    **more: str,
) -> str:
    """A plain product page: title, offer, a way to buy, and what else is asked for."""
    return html_of(
        '<header><a href="/">Harbour Goods</a><nav><a href="/c/kettles">Kettles</a></nav></header>'
        f'<main><h1>Copper Kettle 1.7 L</h1><div class="info">{offer}{buy}</div>{after}</main>'
        "<footer>Harbour Goods, Quay 1</footer>",
        **more,
    )


def json_ld(**more: str) -> str:
    """A script of JSON-LD; the keywords are fields of the product as JSON text."""
    named = {"name": '"Copper Kettle 1.7 L"'} | {name.strip("_"): value for name, value in more.items()}
    fields = "".join(f', "{name}": {value}' for name, value in named.items())
    return (
        f'<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "Product"{fields}}}</script>'
    )


def offer_json(price: str, currency: str = "USD", **more: str) -> str:
    fields = "".join(f', "{name}": {value}' for name, value in more.items())
    return f'{{"@type": "Offer", "price": "{price}", "priceCurrency": "{currency}"{fields}}}'


def extracted(html: str, **more: Any) -> Extraction:
    return extract_page(made_page(**more), html)


def facts(html: str, **more: Any) -> ProductFacts:
    found = extracted(html, **more)
    assert found.page_class == "product", (found.page_class, found.class_reason)
    assert found.facts is not None
    return found.facts


def quotes(of: ProductFacts, field: str) -> dict[str, str]:
    """The words behind a fact by where they are from."""
    return {one.source: one.quote for one in of.sources if one.field == field}


# --- pages built as shops of several kinds build them, each of the same kettle at 59.95, and nothing of their words ---

LIKE_A_MARKETPLACE = html_of(
    '<header id="navbar"><form role="search"><input></form><span class="cart">0</span></header>'
    '<div id="crumbs-div"><ul class="a-breadcrumb"><li><a href="/k">Kitchen</a></li></ul></div>'
    '<div id="dp"><div id="left"><div id="altImages" class="thumbs"><img src="/i/41a._SS40_.jpg"></div></div>'
    '<div id="center"><h1 id="title"><span id="productTitle"> Copper Kettle 1.7 L </span></h1>'
    '<a id="bylineInfo" href="/stores/harbour">Visit the Harbour Store</a>'
    '<div id="averageCustomerReviews"><span class="a-icon-alt">4.6 out of 5 stars</span>'
    ' <a href="#r">1,284 ratings</a></div>'
    '<div id="corePrice"><span class="a-price"><span class="a-offscreen">$59.95</span><span aria-hidden="true">'
    '<span class="a-price-symbol">$</span><span class="a-price-whole">59<span class="a-price-decimal">.</span></span>'
    '<span class="a-price-fraction">95</span></span></span><span class="basisPrice">List Price: '
    '<span class="a-text-strike">$79.95</span></span></div>'
    '<ul class="a-unordered-list"><li><span>Boils water for seven cups in under four minutes</span></li>'
    "<li><span>Handle stays cool</span></li></ul></div>"
    '<div id="buybox"><div class="a-section">$59.95</div><div id="delivery">FREE delivery <b>Tuesday, 3 March</b></div>'
    '<div id="availability"><span>In Stock</span></div><select name="quantity"><option>1</option>'
    "<option>2</option></select>"
    '<input type="submit" value="Add to Cart"><div>Ships from Amazing</div><div>Sold by Quay Goods</div></div></div>'
    '<div id="sims-fbt"><h2>Frequently bought together</h2><div><a href="/dp/2"><img src="t.jpg">'
    "Tea tin</a> $9.99</div>"
    "<div>Total price: $69.94</div></div>"
    '<div id="sp_detail" aria-label="Sponsored"><a href="/dp/3"><img src="s.jpg">'
    "Kettle by another</a><span>$24.99</span></div>"
)
LIKE_A_SMALL_SHOP = html_of(
    '<div class="announcement-bar">Free shipping on orders over $75</div><header class="site-header">x</header>'
    '<main id="MainContent"><div class="product__info"><p class="product__text">HARBOUR</p>'
    '<div class="product__title"><h1>Copper Kettle 1.7 L</h1></div><div class="price price--on-sale">'
    '<div class="price__regular"><span class="visually-hidden">Regular price</span> '
    '<span class="price-item--regular">$79.95 USD</span></div><div class="price__sale"><span>Regular price</span> '
    '<s class="price-item--regular">$79.95 USD</s> <span>Sale price</span> '
    '<span class="price-item--sale">$59.95 USD</span></div></div>'
    '<div class="product__tax">Shipping calculated at checkout.</div>'
    '<form action="/cart/add"><fieldset><legend>Size</legend><input type="radio" id="s1"><label for="s1">1 L</label>'
    '<input type="radio" id="s2" checked><label for="s2">1.7 L</label></fieldset><button name="add">'
    "Add to cart</button></form>"
    '<div class="product__description"><p>A kettle for people who like tea.</p></div></div>'
    '<product-recommendations><h2>You may also like</h2><ul><li><a href="/products/tin"><img src="t.jpg">Tea tin</a>'
    '<div class="price"><span class="price-item--regular">$9.95 USD</span></div></li></ul>'
    "</product-recommendations></main>",
    head=json_ld(offers=offer_json("79.95"), brand='{"name": "Harbour"}'),
)
LIKE_AN_AUCTION = html_of(
    '<div class="x-item-title"><h1><span>Copper Kettle 1.7 L</span></h1></div><div class="x-sellercard">'
    '<a href="/str/q">quaygoods</a> (3241) 99.5% positive</div><div class="x-price-primary"><span>'
    'US $59.95</span></div><div class="x-additional-info">or Best Offer</div><div>Condition: <span>'
    'New</span></div><a class="ux-call-to-action button" role="button" href="/buy">Buy It Now</a>'
    '<a role="button" href="/cart">Add to cart</a><div class="ux-labels-values--shipping"><div><span>'
    'Shipping:</span></div><div><span>US $8.50</span> <span>Standard Shipping</span>. <a href="/d">'
    'See details</a></div></div><div class="ux-labels-values--deliverto"><div>Delivery:</div><div>'
    'Estimated between Tue, Mar 3 and Fri, Mar 6</div></div><div class="ux-labels-values--returns"><div>'
    "Returns:</div><div>30 days returns. Buyer pays for return shipping.</div></div><h2>"
    'Similar sponsored items</h2><div class=mfe><a href="/itm/3"><img src=a.jpg><h3>Copper kettle 2L</h3>'
    '<div>$24.99</div><div>Free shipping</div></a><a href="/itm/4"><img src=b.jpg><h3>Tea kettle</h3>'
    "<div>$19.99</div></a></div>"
)
LIKE_A_GERMAN_SHOP = html_of(
    '<div class="content"><h1>Copper Kettle 1.7 L</h1><p>von <a href="/m">Harbour</a></p>'
    '<div class="preis-box"><span class="uvp">UVP 79,95 €</span> <span class="preis">59,95 €</span>'
    '<small>inkl. MwSt., <a href="/v">zzgl. Versand</a> 4,90 €</small></div><p>'
    "Auf Lager, Lieferzeit 2-3 Tage</p><button>In den Warenkorb</button><p>"
    "4,6 von 5 Sternen (212 Bewertungen)</p></div>",
    lang="de",
)
WITHOUT_NAMES = html_of(
    "<div id=app><div class=c1><div class=c2><img src=/1.jpg></div><div class=c3><h1>"
    "Copper Kettle 1.7 L</h1><div class=c4>59.95 USD</div><div class=c5>Qty <input value=1></div>"
    "<div class=c6 role=button>Add to cart</div></div></div><div class=c7><div class=c8>"
    'Others looked at</div><div class=c9><a class=ca href="/x/2"><img src=/2.jpg></a><div class=cb>'
    'Tea tin</div><div class=cc>9.95 USD</div></div><div class=c9><a class=ca href="/x/3">'
    "<img src=/3.jpg></a><div class=cb>Tea cup</div><div class=cc>7.95 USD</div></div></div></div>"
)
