"""Participant 1: a gift, a dinner, a brunch recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Session


def gift(s: Session) -> None:
    """Look around, change the mind, buy a scarf."""
    s.task("Buy a gift for a friend's birthday")
    s.say("okay so I need a present, can you search for a candle")
    s.click("#q", "the search box with the placeholder 'Search for gifts, home, clothing' | in the header", "named")
    s.type("candle", "the search box of Harbor Goods")
    s.click("button.go", "the magnifier button | at the right end of the search box", "icon")
    s.say("hmm just one. go back")
    s.click("chrome:back", "the browser's back button | left of the address bar", "icon")
    s.say("okay click on gift ideas")
    s.click(
        ["nav.cats a::Gift ideas", ".hero a::Shop gifts"],
        "the 'Gift ideas' link | in the navigation bar (the 'Shop gifts' button leads to the same page)",
    )
    s.say("um, can you sort it by price, cheapest first")
    s.click("button.drop", "the 'Sort: Best match' dropdown | above the results on the right")
    s.click(".options button::Price: low to high", "the 'Price: low to high' option | in the opened sort menu")
    s.say("I don't want to spend more than twenty-five")
    s.click("aside label::Up to $25", "the 'Up to $25' checkbox | under Price in the left sidebar", "implied")
    s.say("yeah the second one, let me see that")
    s.click(
        ["[data-id=fern-pot] .pic", "[data-id=fern-pot] .name"],
        "the picture of 'Little Fern in a Pot' ($21.00) | , second card in the first row",
        "ordinal",
    )
    s.say("what do people say about it")
    s.click([".tabs button::~Reviews", "a.count"], "the 'Reviews (95)' tab | below the product picture", "implied")
    s.say("scroll down a little")
    s.scroll(3)
    s.say("not great. let's go back to the list")
    s.click("chrome:back", "the browser's back button | left of the address bar", "icon earlier change")
    s.say("actually take that price thing off again")
    s.click("button.clear", "the 'Clear filters' link | below the filters in the left sidebar", "implied change")
    s.say("can you put the sorting to top rated")
    s.click("button.drop", "the 'Sort: Price: low to high' dropdown | above the results on the right", "implied")
    s.click(".options button::Top rated", "the 'Top rated' option | in the opened sort menu", "named")
    s.say("okay open the one at the very top left")
    s.click(
        ["[data-id=tide-scarf] .pic", "[data-id=tide-scarf] .name"],
        "the picture of 'Tidewater Wool Scarf' ($34.00) | , first card in the first row",
        "place",
    )
    s.say("let's go with the yellow one")
    s.click(
        ".swatches.big button[aria-label=Mustard]",
        "the yellow 'Mustard' colour swatch | under 'Colour'",
        "icon implied",
    )
    s.say("oh and wrap it please")
    s.click("label.wrap", "the 'Gift wrap it (free)' checkbox | below the 'Add to cart' button", "implied")
    s.say("make it two")
    s.click(".buy button[aria-label=More]", "the plus button of the quantity | left of 'Add to cart'", "icon implied")
    s.say("add it to the cart")
    s.click("button.primary::Add to cart", "the dark 'Add to cart' button | next to the quantity of the scarf")
    s.say("okay yes go to the cart")
    s.click([".dialog a::Go to cart"], "the 'Go to cart' button | in the 'Added to your cart' dialog")
    s.say("actually no, one scarf is enough")
    s.click(
        ".line button[aria-label=Less]",
        "the minus button | of the 'Tidewater Wool Scarf' line in the cart",
        "icon change",
    )
    s.say("okay check out")
    s.click("a.primary::Check out", "the 'Check out' button | in the summary on the right")
    s.say("in the gift note write happy birthday Nell")
    s.click("#note", "the 'Gift note (optional)' field | at the right end of the form's second row")
    s.type("Happy birthday Nell", "the gift note field")
    s.say("and I'll pick it up myself")
    s.click(".radio::~Pick up", "the 'Pick up at Pier 4' delivery option | , last in the list", "implied")
    s.say("place the order")
    s.click("button.primary::Place order", "the 'Place order' button | in the order summary")


def dinner(s: Session) -> None:
    """Compare two pizza places and order."""
    s.task("Order dinner for two under forty dollars")
    s.say("go to quickfork dot example")
    s.click("chrome:address", "the browser's address bar | at the top", "implied")
    s.type("http://quickfork.example/", "the address bar", enter=True)
    s.say("I feel like pizza")
    s.click(".kinds button::Pizza", "the 'Pizza' category | , first in the row of pictures at the top", "named")
    s.say("which of these comes faster? take that one")
    s.click(
        ["[data-id=slice] .im", "[data-id=slice] .nm"],
        "the card of 'Slice Republic' (20 min) | , the second of two places",
        "compare",
    )
    s.say("um, the rating is kind of low, go back")
    s.click("chrome:back", "the browser's back button | left of the address bar", "icon change")
    s.say("okay, then the other one")
    s.click(
        ["[data-id=napoli] .im", "[data-id=napoli] .nm"],
        "the card of 'Nonna Pia Pizza' (4.7) | , the first of two places",
        "earlier",
    )
    s.say("let's get the mushroom one")
    s.click(
        "[data-dish=funghi] .ad", "the plus button of 'Funghi' ($13.00) | , right column of the menu", "icon implied"
    )
    s.say("large")
    s.click(".mo .sz button::Large", "the 'Large' size button | in the Funghi dialog")
    s.say("with olives and chilli oil")
    s.click([".mo label::~Olives", ".mo label::~Chilli oil"], "the 'Olives' checkbox | under Extras in the dialog")
    s.click(".mo label::~Chilli oil", "the 'Chilli oil' checkbox | under Extras in the dialog")
    s.say("okay add that")
    s.click("button::Add to order", "the green 'Add to order' button | at the bottom of the dialog")
    s.say("and the green salad too")
    s.scroll(3)
    s.click("[data-dish=green-salad] .ad", "the plus button of 'Green salad' ($6.00) | in the menu", "icon")
    s.click("button::Add to order", "the green 'Add to order' button | at the bottom of the 'Green salad' dialog")
    s.say("let me make that two salads")
    s.click(
        "[data-line=green-salad] button[aria-label='One more']",
        "the plus button of the 'Green salad' line | in 'Your order'",
        "icon earlier",
    )
    s.say("checkout")
    s.click("a.go::Go to checkout", "the 'Go to checkout' button | at the bottom of 'Your order'")
    s.say("let's have it at seven")
    s.click(".sz button::19:00", "the '19:00' time button | , last in the 'When' row", "implied")
    s.say("tip two dollars")
    s.click(".sz button::$2", "the '$2' button | in the 'Tip the rider' row")
    s.say("hmm, actually the biggest tip, it's raining")
    s.click(".sz button::$5", "the '$5' button | , last in the 'Tip the rider' row", "compare change")
    s.say("good, order it")
    s.click("button.go::Place order", "the 'Place order' button | in the order box on the right")
    s.say("wait a second until it says something")
    s.watch("Waited for the order page", "wait")


def brunch(s: Session) -> None:
    """Find a recipe and set it up for six."""
    s.task("Find a recipe for a weekend brunch")
    s.say("open a new tab and go to potluckpages dot example")
    s.click("chrome:newtab", "the new tab button (plus) | right of the last tab", "icon")
    s.click("chrome:address", "the browser's address bar | of the new tab", "implied")
    s.type("http://potluckpages.example/", "the address bar of the new tab", enter=True)
    s.say("click on brunch")
    s.click("nav a::Brunch", "the 'Brunch' link | , first in the navigation below the title")
    s.say("only the ones up to forty minutes")
    s.click(".fl button::Up to 40 min", "the 'Up to 40 min' filter button | left above the recipes", "named")
    s.say("the pancakes look nice")
    s.click(
        ["[data-id=lemon-pancakes] .im", "[data-id=lemon-pancakes] .nm"],
        "the picture of 'Lemon ricotta pancakes' | , first recipe",
        "named",
    )
    s.say("can you play the video")
    s.click(".pl", "the round play button | in the middle of the recipe's picture", "icon implied")
    s.say("okay close it")
    s.click(".vd .x", "the close (x) button | in the top right corner of the video", "icon implied")
    s.say("we're six people")
    s.scroll(3)
    s.click(".sv button[aria-label=More]", "the plus button next to 'Serves' | in the ingredients box", "icon implied")
    s.click(
        ".sv button[aria-label=More]",
        "the plus button next to 'Serves' | (now 5) in the ingredients box",
        "icon implied",
    )
    s.say("I already have eggs and butter, tick those")
    s.click(["[data-ing=eggs]", "[data-ing=butter]"], "the 'eggs' checkbox | in the ingredients list", "named")
    s.click("[data-ing=butter]", "the 'butter' checkbox | , last in the ingredients list", "named")
    s.say("go back up and save the recipe")
    s.scroll(-6)
    s.click("button.rd", "the 'Save recipe' button | under the recipe's title")
    s.say("let me look at the first tab again")
    s.click("chrome:tab/0", "the first browser tab, 'On its way - Quickfork' | in the tab strip", "ordinal earlier")
    s.say("okay food is coming. close this one")
    s.click("chrome:close/0", "the close button of the first browser tab | ('On its way - Quickfork')", "icon earlier")
