"""Participant 1: a weekend by the sea, a film, lunch for the office."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Session


def seaside(s: Session) -> None:
    """Compare two hotels in tabs and book one."""
    s.task("Book a weekend hotel by the sea")
    s.say("now roostly dot example please")
    s.click("chrome:address", "the browser's address bar | at the top", "implied")
    s.type("http://roostly.example/", "the address bar", enter=True)
    s.say("somewhere in Saltmere, search for that")
    s.click("label:has(#place)", "the 'Where' field ('Town or region') | in the search bar", "implied")
    s.type("Saltmere", "the 'Where' field")
    s.click(".mag", "the round magnifier button | at the right end of the search bar", "icon")
    s.say("pick September tenth to September twelfth")
    s.click("#dates", "the 'Dates' button ('Add dates') | in the search bar", "implied")
    s.click("[data-day='Sep 10']", "the day 10 | in the September 2027 calendar", "implied")
    s.click("[data-day='Sep 12']", "the day 12 | in the September 2027 calendar", "implied")
    s.say("with free breakfast")
    s.click(".pills button::Free breakfast", "the 'Free breakfast' filter | in the row below the search bar")
    s.say("open the first two in new tabs")
    s.click(
        ["[data-id=gullhouse] .im", "[data-id=gullhouse] .nm"],
        "the picture of 'The Gull House' | , first result",
        "ordinal",
    )
    s.click("chrome:tab/0", "the first browser tab with the list of stays | in the tab strip", "ordinal implied")
    s.scroll(2, side=0.3)
    s.click(
        ["[data-id=dunes] .im", "[data-id=dunes] .nm"],
        "the picture of 'Marram Dunes Hotel' | , second result",
        "ordinal",
    )
    s.say("show me the reviews")
    s.click(".tabs button::Reviews", "the 'Reviews' tab | below the photos", "named")
    s.watch("Read the reviews of 'Marram Dunes Hotel'")
    s.say("okay go to the one we opened before")
    s.click("chrome:tab/2", "the third browser tab, 'The Gull House - Roostly' | in the tab strip", "earlier")
    s.say("this is the cheaper one right? I like it. show me the pictures")
    s.click(
        [f".gal button:nth-child({n})" for n in range(1, 6)], "the large first photo | of 'The Gull House'", "implied"
    )
    s.say("next")
    s.click(".la.r", "the right arrow | beside the enlarged photo", "icon implied")
    s.say("next one")
    s.click(".la.r", "the right arrow | beside the enlarged photo (2 / 5)", "icon implied")
    s.say("close that")
    s.click(".lx", "the close (x) button | in the top right corner of the photo viewer", "icon implied")
    s.say("we'll take the room with the balcony")
    s.scroll(4)
    s.click(
        "[data-room='1'] .rs", "the 'Select' button of 'Superior double' | , second row of the room table", "implied"
    )
    s.say("reserve it")
    s.click("a.rsv", "the 'Reserve' button | in the price box on the right")
    s.say("my name is Robin Vale")
    s.click("#guest", "the 'Guest name' field | at the top of the form", "implied")
    s.type("Robin Vale", "the 'Guest name' field")
    s.say("and we arrive late, after six")
    s.click(".pills button::After 18:00", "the 'After 18:00' button | under 'Arrival time'", "implied")
    s.say("yes I read the rules, confirm it")
    s.click(".tick", "the 'I have read the house rules' checkbox | below the arrival times", "implied")
    s.click("a.rsv", "the 'Confirm and pay' button | on the right", "named")
    s.say("close all the other tabs")
    s.click(
        ["chrome:close/0", "chrome:close/1"], "the close button of the first browser tab | in the tab strip", "icon"
    )
    s.click("chrome:close/0", "the close button of the remaining other browser tab | , left of the current one", "icon")


def film(s: Session) -> None:
    """Pick a film and two seats."""
    s.task("Get two tickets for a film on Saturday")
    s.say("go to marqueetickets dot example")
    s.click("chrome:address", "the browser's address bar | at the top", "implied")
    s.type("http://marqueetickets.example/", "the address bar", enter=True)
    s.say("show me movies")
    s.click("nav a::Movies", "the 'Movies' link | in the header")
    s.say("which one has the best rating, click that")
    s.click(
        ["[data-id=last-cairn] .im", "[data-id=last-cairn] .nm"],
        "the poster of 'The Last Cairn' (4.8) | , fourth in the row",
        "compare",
    )
    s.say("save it for later with the heart")
    s.click("[aria-label=Wish]", "the heart button | at the right of the title 'The Last Cairn'", "icon")
    s.say("Saturday the twelfth")
    s.click(".days button::Sat 12", "the 'Sat 12' day button | , third in the row", "named")
    s.say("the eight o'clock show")
    s.click(".times a::~20:00", "the '20:00' showing | , third in the row", "implied")
    s.say("two seats next to each other in the middle of row D")
    s.click(
        [f"[data-seat=D{n}]" for n in (5, 6)],
        "seat D5 | in row D of the seat map (seat D6 beside it is the other one)",
        "place",
    )
    s.click("[data-seat=D6]", "seat D6 | in row D of the seat map, right of the chosen D5", "place")
    s.say("hmm, one row further back for both, sorry")
    s.click(["[data-seat=D5]", "[data-seat=D6]"], "the chosen seat D5 | in row D, to take it back", "change earlier")
    s.click("[data-seat=D6]", "the chosen seat D6 | in row D, to take it back", "change earlier")
    s.click(
        ["[data-seat=E5]", "[data-seat=E6]"],
        "seat E5 | in row E of the seat map (E6 beside it is the other one)",
        "place earlier",
    )
    s.click("[data-seat=E6]", "seat E6 | in row E of the seat map, right of the chosen E5", "place earlier")
    s.say("continue")
    s.click("a.go::Continue", "the 'Continue' button | below the total")
    s.say("add popcorn")
    s.click(".snk button::~Popcorn", "the 'Popcorn' button | , first of the snacks")
    s.say("and buy it")
    s.click("a.go::Buy tickets", "the 'Buy tickets' button | on the right")


def lunch(s: Session) -> None:
    """Order for the office."""
    s.task("Order a late lunch for the office")
    s.say("okay food now. quickfork dot example")
    s.click("chrome:address", "the browser's address bar | at the top", "implied")
    s.type("http://quickfork.example/", "the address bar", enter=True)
    s.say("only places with free delivery")
    s.click(".fil button::Free delivery", "the 'Free delivery' filter | below the food pictures")
    s.say("the healthy one")
    s.click(
        ["[data-id=basil] .im", "[data-id=basil] .nm"],
        "the card of 'Basil & Bowl' (Healthy) | , first place",
        "named",
    )
    s.say("two harvest bowls")
    s.click("[data-dish=harvest] .ad", "the plus button of 'Harvest bowl' ($12.00) | in the menu", "icon")
    s.click(
        ".mo [aria-label='One more']",
        "the plus button of the quantity | at the bottom of the 'Harvest bowl' dialog",
        "icon",
    )
    s.click("button::Add to order", "the green 'Add to order' button | in the dialog", "implied")
    s.say("and one of the soup")
    s.click("[data-dish=lentil] .ad", "the plus button of 'Lentil soup' ($8.00) | in the menu", "icon implied")
    s.click("button::Add to order", "the green 'Add to order' button | in the dialog", "implied")
    s.say("hm no, remove the soup again")
    s.click(
        "[data-line=lentil] [aria-label='One less']",
        "the bin icon of the 'Lentil soup' line | in 'Your order'",
        "icon change earlier",
    )
    s.say("go to checkout")
    s.click(["a::Go to checkout", "a.bask"], "the 'Go to checkout' button | at the bottom of 'Your order'")
    s.say("at one thirty")
    s.click(".sz button::13:30", "the '13:30' time button | in the 'When' row", "implied")
    s.say("pay with the lunch card")
    s.click("label::Lunch card", "the 'Lunch card' option | under 'Payment'")
    s.say("and tell the rider third floor")
    s.click("#note", "the 'Note for the rider' field ('Door code, floor ...') | above 'Payment'", "implied")
    s.type("Third floor", "the note field")
    s.say("okay order it")
    s.click("button::Place order", "the 'Place order' button | on the right", "named")
    s.say("is it still being made? reload it")
    s.click("chrome:reload", "the browser's reload button | left of the address bar", "icon implied")
