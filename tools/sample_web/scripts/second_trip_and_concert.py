"""Participant 2: a flight and a concert."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Session


def flight(s: Session) -> None:
    """Fill in the search, filter, choose seats."""
    s.task("Book a return flight to Lisbon in June")
    s.say("new tab please, skyhop dot example")
    s.click("chrome:newtab", "the new tab button (plus) | right of the last tab", "icon")
    s.click("chrome:address", "the browser's address bar | of the new tab", "implied")
    s.type("http://skyhop.example/", "the address bar of the new tab", enter=True)
    s.say("from Berlin to Lisbon")
    s.click(["label:has(#from)", "label:has(#to)"], "the 'From' field | in the search panel", "named")
    s.type("Berlin", "the 'From' field")
    s.click("label:has(#to)", "the 'To' field | in the search panel", "named")
    s.type("Lisbon", "the 'To' field")
    s.say("um, pick June fourteenth to June twentieth")
    s.click("#out", "the 'Depart' date field ('Pick a date') | in the search panel", "implied")
    s.click("[data-day=Jun-14]", "the day 14 | in the June 2027 calendar", "implied")
    s.click("[data-day=Jun-20]", "the day 20 | in the June 2027 calendar", "implied")
    s.click("button::Done", "the 'Done' button | at the bottom right of the calendar", "implied")
    s.say("we're two")
    s.click("button.ppl::~traveller", "the '1 traveller' dropdown | at the top right of the search panel", "implied")
    s.click("[aria-label='More adults']", "the plus button next to 'Adults' | in the opened menu", "icon implied")
    s.click(".p1 button.done", "the 'Done' button | in the opened travellers menu", "implied")
    s.say("search")
    s.click("button.find", "the orange 'Search' button | at the right end of the search panel")
    s.say("nonstop only")
    s.click("aside label::Nonstop", "the 'Nonstop' option | under 'Stops' on the left", "named")
    s.say("show the cheapest ones first")
    s.click(".sorts button::~Cheapest", "the 'Cheapest' tab | above the flights")
    s.say("what's included in the top one")
    s.click(
        "[data-id=PL047] .more", "the down arrow of the Pelican flight PL047 ($119) | , first in the list", "icon place"
    )
    s.say("okay but that's late. I'd rather take the one that leaves around one")
    s.click(
        "[data-id=PL031] a.sel",
        "the 'Select' button of the Pelican flight 13:05 - 15:40 ($131) | , second in the list",
        "implied change",
    )
    s.say("can we get two seats together in the very first row, on the left side. not the aisle")
    s.click(["[data-seat='1A']", "[data-seat='1B']"], "seat 1A | in the first row of the seat map, leftmost", "place")
    s.click("[data-seat='1B']", "seat 1B | in the first row of the seat map, right of the chosen 1A", "place")
    s.say("and one bag to check in")
    s.click("[aria-label='More bags']", "the plus button next to 'Checked bag, $32' | on the right", "icon implied")
    s.say("insurance too")
    s.click("aside label.ck", "the 'Add travel insurance, $12' checkbox | on the right")
    s.say("hmm no. take the insurance out")
    s.click("aside label.ck", "the checked 'Add travel insurance, $12' checkbox | on the right", "change earlier")
    s.say("continue")
    s.click("a.sel::Continue", "the 'Continue' button | on the right")
    s.say("my first name is Ada")
    s.click("#first", "the 'First name' field | in the passenger form")
    s.type("Ada", "the 'First name' field")
    s.say("last name Winter")
    s.click("#last", "the 'Last name' field | in the passenger form")
    s.type("Winter", "the 'Last name' field")
    s.say("and it's miz")
    s.click(".ways button::Ms", "the 'Ms' button | under 'Title'", "implied")
    s.say("confirm")
    s.click("button::Confirm booking", "the 'Confirm booking' button | on the right")
    s.say("can you print this")
    s.click("[aria-label=Print]", "the printer icon | , first of the three round buttons", "icon implied")


def concert(s: Session) -> None:
    """Choose a concert, a zone and tickets."""
    s.task("Reserve seats for a concert in June")
    s.say("go to marqueetickets dot example")
    s.click("chrome:address", "the browser's address bar | at the top", "implied")
    s.type("http://marqueetickets.example/", "the address bar", enter=True)
    s.say("show me what comes next in the big banner")
    s.click(".arr.r", "the right arrow | at the right end of the banner", "icon implied")
    s.say("go back one")
    s.click(".arr.l", "the left arrow | at the left end of the banner", "icon earlier")
    s.say("concerts")
    s.click("header nav a::Concerts", "the 'Concerts' link | in the header")
    s.say("sort them so the cheap ones come first")
    s.click(".so > button", "the 'Popular' sort dropdown | at the top right", "implied")
    s.click(".sm button::Lowest price", "the 'Lowest price' option | in the opened menu", "implied")
    s.say("open the folk one")
    s.click(
        ["[data-id=mara-quill] .im", "[data-id=mara-quill] .nm"],
        "the poster of 'Mara Quill' (Folk) | , second in the row",
        "named",
    )
    s.say("is there a trailer")
    s.click("[aria-label='Play trailer']", "the play button | right of the title 'Mara Quill'", "icon implied")
    s.watch("Watched the trailer", "wait")
    s.say("close it")
    s.click(".vid .x", "the close (x) button | at the top right of the trailer", "icon implied")
    s.say("where is it exactly, click on venue")
    s.click(".tabs button::Venue", "the 'Venue' tab | next to 'Reviews'", "named")
    s.say("okay the second date")
    s.click(
        "[data-date='1'] a.go",
        "the 'Find seats' button of the second date (Jun 13, 15:00) | in the list of dates",
        "ordinal",
    )
    s.say("not the floor, the one right behind it")
    s.click(
        ["[data-zone='Lower ring']", "label::~Lower ring"],
        "the purple 'Lower ring' zone | in the seating plan, below 'Floor'",
        "place",
    )
    s.say("three tickets")
    s.click("[aria-label='More tickets']", "the plus button next to 'Tickets' | (now 1) on the right", "icon implied")
    s.click("[aria-label='More tickets']", "the plus button next to 'Tickets' | (now 2) on the right", "icon implied")
    s.say("what does the cheapest zone cost? okay take that instead")
    s.click(
        ["[data-zone='Balcony']", "label::~Balcony"],
        "the green 'Balcony' zone ($21) | , the last one in the seating plan",
        "compare change",
    )
    s.say("continue")
    s.click("a.go::Continue", "the 'Continue' button | on the right")
    s.say("I'll print them at home")
    s.click("label::Print at home", "the 'Print at home' option | under 'How do you want your tickets?'")
    s.say("buy")
    s.click("a::Buy tickets", "the 'Buy tickets' button | on the right")
