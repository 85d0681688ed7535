"""Participant 2: headphones and a birthday gift."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Session


def headphones(s: Session) -> None:
    """Compare headphones in tabs and side by side."""
    s.task("Buy wireless headphones for under a hundred dollars")
    s.say("search for wireless headphones")
    s.click("#q", "the search box ('What are you looking for?') | in the header", "implied")
    s.type("wireless headphones", "the search box of Voltlane")
    s.click(".go", "the yellow magnifier button | right of the search box", "icon")
    s.say("under a hundred")
    s.click(".chip::Under $100", "the 'Under $100' filter | above the products", "named")
    s.say("and sort by rating")
    s.click(".seg button::Rating", "the 'Rating' sort button | above the products")
    s.say("okay open the first and the third one in new tabs")
    s.click("[data-id=aria-700] .nt", "the 'Open in new tab' link of 'Orbit Aria 700' | , first product", "ordinal")
    s.click("chrome:tab/0", "the first browser tab with the search results | in the tab strip", "ordinal implied")
    s.click("[data-id=pebble-2] .nt", "the 'Open in new tab' link of 'Pebble 2 Earbuds' | , third product", "ordinal")
    s.say("hm these are earbuds, I want the big ones. close this tab")
    s.click(
        "chrome:close/1",
        "the close button of the current browser tab, 'Pebble 2 Earbuds - Voltlane' | , second in the strip",
        "icon earlier change",
    )
    s.say("go to the other one you opened")
    s.click("chrome:tab/1", "the second browser tab, 'Orbit Aria 700 - Voltlane' | in the tab strip", "earlier")
    s.say("click on reviews")
    s.click([".tabs button::Reviews", ".mid .rt a"], "the 'Reviews' tab | below the product's rating")
    s.say("can you show me just the bad ones")
    s.click(".fl button::1 star", "the '1 star' button | in the 'Show' row above the reviews", "implied")
    s.watch("Read the one-star review")
    s.say("what's the battery life, is that in the specs?")
    s.click(".tabs button::Specs", "the 'Specs' tab | left of 'Reviews'")
    s.say("forty hours, nice. back to the results, I want to compare it with the brown one")
    s.click("chrome:tab/0", "the first browser tab with the search results | in the tab strip", "earlier")
    s.click("[data-id=aria-700] .cmp", "the 'Compare' checkbox of 'Orbit Aria 700' | , first product", "implied")
    s.click(
        "[data-id=studio-m] .cmp",
        "the 'Compare' checkbox of the brown 'Northvale Studio M' | , second product",
        "implied",
    )
    s.say("compare them")
    s.click(".tray a.buy", "the 'Compare now' button | in the dark bar at the bottom")
    s.say("add the cheaper one to the cart")
    s.click(
        "button.buy[data-id=studio-m]",
        "the 'Add to cart' button under 'Northvale Studio M' ($74.00) | , last row of the table",
        "compare",
    )
    s.say("okay cart")
    s.click("a[aria-label=Cart]", "the cart icon | at the right end of the header", "icon")
    s.say("I have a code, it's SPRING ten, apply that")
    s.click("#coupon", "the coupon 'Code' field | in the box on the right", "implied")
    s.type("SPRING10", "the coupon field")
    s.click("button::Apply", "the 'Apply' button | right of the coupon field")
    s.say("proceed to checkout")
    s.click("a::Proceed to checkout", "the 'Proceed to checkout' button | below the total")
    s.say("send it to the office")
    s.click("label::~Office", "the 'Office, 40 Mill Lane' address | , second under 'Deliver to'")
    s.say("place order")
    s.click("button::Place order", "the 'Place order' button | below the total")
    s.say("good. close the second tab, we don't need it")
    s.click(
        "chrome:close/1",
        "the close button of the second browser tab, 'Orbit Aria 700 - Voltlane' | in the tab strip",
        "icon ordinal",
    )


def gift(s: Session) -> None:
    """Save, compare and buy small things."""
    s.task("Buy a gift for a friend's birthday")
    s.say("let's go to harborgoods dot example in this tab")
    s.click("chrome:address", "the browser's address bar | at the top", "implied")
    s.type("http://harborgoods.example/", "the address bar", enter=True)
    s.say("click on books")
    s.click("nav a::Books", "the 'Books' link | in the navigation bar")
    s.say("heart the one on the left")
    s.click(
        "[data-id=coast-book] .save",
        "the heart button on the card of 'Coastlines: A Picture Book' | , left card",
        "icon place",
    )
    s.say("and the puzzle")
    s.click(
        "[data-id=map-puzzle] .save", "the heart button on the card of 'Old Harbor Map Puzzle' | , right card", "icon"
    )
    s.say("now go to my saved things")
    s.click("a[aria-label=Saved]", "the heart icon with the number 2 | in the header", "icon implied")
    s.say("which one is less expensive? add that")
    s.click(
        "[data-id=map-puzzle] .add",
        "the 'Add to cart' button in the card of 'Old Harbor Map Puzzle' ($23.00) | , second card",
        "compare",
    )
    s.say("remove the other one from the list")
    s.click(
        "[data-id=coast-book] .save",
        "the filled heart button on the card of 'Coastlines: A Picture Book' | , first card",
        "icon earlier",
    )
    s.say("um, search for a mug too")
    s.click("#q", "the search box ('Search for gifts, home, clothing') | in the header", "implied")
    s.type("mug", "the search box")
    s.click("button.go", "the magnifier button | at the right end of the search box", "icon")
    s.say("okay go into it")
    s.click(
        ["[data-id=fog-mug] .pic", "[data-id=fog-mug] .name"],
        "the picture of 'Fogline Stoneware Mug' | , the only result",
        "implied",
    )
    s.say("I want the green one")
    s.click("[aria-label=Moss]", "the green 'Moss' colour swatch | , last under 'Colour'", "icon implied")
    s.say("what about delivery")
    s.click(".tabs button::Delivery", "the 'Delivery' tab | below the picture")
    s.watch("Read the delivery terms")
    s.say("fine, add it")
    s.click("button.primary::Add to cart", "the dark 'Add to cart' button | right of the quantity")
    s.say("keep shopping")
    s.click("button::Keep shopping", "the 'Keep shopping' button | in the dialog")
    s.say("no wait, let's just pay. go to the basket")
    s.click("a[aria-label=Cart]", "the cart icon with the number 2 | at the right end of the header", "icon change")
    s.say("take the puzzle out, I think she has it")
    s.click(
        "[data-line=map-puzzle] .bin", "the bin icon | at the right of the 'Old Harbor Map Puzzle' line", "icon change"
    )
    s.say("check out")
    s.click("a::Check out", "the 'Check out' button | in the summary")
    s.say("express delivery, the birthday is tomorrow")
    s.click(".radio::~Express", "the 'Express, next day' option | under 'Delivery'")
    s.say("and place the order")
    s.click("button::Place order", "the 'Place order' button | in the order box on the right", "named")
