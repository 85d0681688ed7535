"""Participant 3: a long weekend in the mountains, a dessert, a show for the children."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session import Session


def play(s: Session) -> None:
    """The whole session, task by task."""
    s.visit("http://roostly.example/")
    _mountains(s)
    _dessert(s)
    _show(s)


def _mountains(s: Session) -> None:
    s.task("Plan a long weekend in the mountains with a flight and a hotel")
    s.say("click on the mountains picture")
    s.click(".moods a:nth-child(2)", "the 'Mountains' picture | , second under 'By mood'")
    s.say("can you sort by guest score")
    s.click(".so > button", "the 'Recommended' sort dropdown | at the top right of the list", "implied")
    s.click(".sm button::Guest score", "the 'Guest score' option | in the opened menu")
    s.say("which one is the cheapest on the map, click that")
    s.click("[data-pin=larch]", "the '$52' price tag | on the map", "compare")
    s.say("oh it's a hostel. what about the ninety-one one")
    s.click("[data-pin=brook]", "the '$91' price tag | on the map", "change")
    s.say("okay that one, open it")
    s.click("a.pop", "the 'Brookside Inn' card | at the bottom left of the map", "earlier")
    s.say("does it have any good reviews")
    s.click(".tabs button::Reviews", "the 'Reviews' tab | below the photos", "named")
    s.watch("Read the reviews of 'Brookside Inn'")
    s.say("hmm. go back to the list")
    s.click("chrome:back", "the browser's back button | left of the address bar", "icon")
    s.say("open the one with the best score")
    s.click(
        ["[data-id=summit] .im", "[data-id=summit] .nm"],
        "the picture of 'Summit House Alderhorn' (9.5) | , first in the list",
        "compare",
    )
    s.say("like it")
    s.click(".one [aria-label=Like]", "the heart icon | at the top right of the hotel page", "icon")
    s.say("take the family one")
    s.click("[data-room='2'] .rs", "the 'Select' button of the 'Family room' | , last row of the table", "named")
    s.say("hmm, that's a lot. take the first room instead")
    s.click(
        "[data-room='0'] .rs",
        "the 'Select' button of the 'Standard double' | , first row of the table",
        "ordinal change",
    )
    s.say("let me check flights before I book. new tab, skyhop dot example")
    s.click("chrome:newtab", "the new tab button (plus) | right of the last tab", "icon")
    s.click("chrome:address", "the browser's address bar | of the new tab", "implied")
    s.type("http://skyhop.example/", "the address bar of the new tab", enter=True)
    s.say("there's one with a mountain in the pictures, click on it")
    s.click(
        ".esc a:nth-child(2)", "the 'Innsbruck' picture with the mountain | , second under 'Easy escapes'", "implied"
    )
    s.say("only Northwind")
    s.click("aside label::Northwind", "the 'Northwind' checkbox | under 'Airlines'")
    s.say("the earlier one looks good, save it")
    s.click(
        "[data-id=NW214] .hrt",
        "the heart button of the Northwind flight 06:40 - 09:05 | , first in the list",
        "icon compare",
    )
    s.say("select it")
    s.click(
        "[data-id=NW214] a.sel",
        "the 'Select' button of the Northwind flight 06:40 - 09:05 | , first in the list",
        "earlier",
    )
    s.say("actually let me go back to the hotel first")
    s.click(
        "chrome:tab/1",
        "the second browser tab, 'Summit House Alderhorn - Roostly' | in the tab strip",
        "earlier change",
    )
    s.say("reserve")
    s.click("a.rsv::Reserve", "the 'Reserve' button | on the right")
    s.say("write Ada Winter as the guest")
    s.click("#guest", "the 'Guest name' field | at the top of the form")
    s.type("Ada Winter", "the 'Guest name' field")
    s.say("we'll be there in the early afternoon, like two o'clock")
    s.click(".pills button::Before 15:00", "the 'Before 15:00' button | under 'Arrival time'", "implied")
    s.say("okay confirm")
    s.click("a.rsv::Confirm and pay", "the 'Confirm and pay' button | on the right")
    s.say("close all the tabs except the last one")
    s.click(
        ["chrome:close/0", "chrome:close/1"], "the close button of the first browser tab | in the tab strip", "icon"
    )
    s.click(
        "chrome:close/0", "the close button of the first browser tab | in the tab strip, left of the Skyhop tab", "icon"
    )


def _dessert(s: Session) -> None:
    s.task("Pick a dessert recipe and keep it for later")
    s.say("let's do potluckpages dot example")
    s.click("chrome:address", "the browser's address bar | at the top", "implied")
    s.type("http://potluckpages.example/", "the address bar", enter=True)
    s.say("um, click dessert")
    s.click("nav a::Dessert", "the 'Dessert' link | in the navigation below the title")
    s.say("order them by rating")
    s.click(".fl button::Top rated", "the 'Top rated' order button | at the top right")
    s.say("the third one doesn't need an oven, right? save that one")
    s.click(
        "[data-id=berry-cups] .bm",
        "the bookmark button on the picture of 'Frozen berry cups' | , third recipe",
        "icon ordinal",
    )
    s.say("and look at the first one")
    s.click(
        ["[data-id=plum-cake] .im", "[data-id=plum-cake] .nm"],
        "the picture of 'Sunken plum cake' | , first recipe",
        "ordinal",
    )
    s.say("can you change it to cups or whatever they use in America")
    s.click(".un::US", "the 'US' button | next to 'Metric' in the ingredients box", "implied")
    s.say("no, that's worse, put it back")
    s.click(".un::Metric", "the 'Metric' button | next to 'US' in the ingredients box", "change earlier")
    s.say("let me read the comments")
    s.click(".tabs button::Comments", "the 'Comments' tab | right of 'Nutrition'", "named")
    s.watch("Read the comments")
    s.say("give it four")
    s.click("[aria-label='4 stars']", "the fourth heart | in the 'Your rating' row below the comments", "icon ordinal")
    s.say("put everything on my shopping list")
    s.click(".lst", "the 'Add to shopping list' button | at the bottom of the ingredients box")
    s.say("where are the things I saved")
    s.click(".rt a::~My recipe box", "the 'My recipe box (1)' link | at the top right", "implied")
    s.say("good. back to the cake please")
    s.click("chrome:back", "the browser's back button | left of the address bar", "icon earlier")
    s.say("save this one as well")
    s.click("button.rd", "the 'Save recipe' button | under the recipe's title")


def _show(s: Session) -> None:
    s.task("Take the children to a show")
    s.say("new tab, marqueetickets dot example")
    s.click("chrome:newtab", "the new tab button (plus) | right of the last tab", "icon")
    s.click("chrome:address", "the browser's address bar | of the new tab", "implied")
    s.type("http://marqueetickets.example/", "the address bar of the new tab", enter=True)
    s.say("we're in Saltmere, change the city")
    s.click("button.city", "the city dropdown 'Portwick' | in the header", "implied")
    s.click(".cm button::Saltmere", "the 'Saltmere' entry | in the opened city menu")
    s.say("shows")
    s.click("header nav a::Shows", "the 'Shows' link | in the header")
    s.say("the puppets one")
    s.click(
        ["[data-id=pip-whale] .im", "[data-id=pip-whale] .nm"],
        "the poster of 'Pip and the Whale' (Puppets) | , first in the row",
    )
    s.say("is it good? let me see reviews")
    s.click(".tabs button::Reviews", "the 'Reviews' tab | next to 'About'", "named")
    s.say("put it on the wish list")
    s.click("main [aria-label=Wish]", "the heart icon | right of the title 'Pip and the Whale'", "icon")
    s.say("let me see the circus as well, go back")
    s.click("chrome:back", "the browser's back button | left of the address bar", "icon")
    s.click(
        ["[data-id=cloud-circus] .im", "[data-id=cloud-circus] .nm"],
        "the poster of 'Cloud Circus' | , second in the row",
        "named",
    )
    s.say("no, the first one was better, it's cheaper too")
    s.click("header [aria-label='Wish list']", "the heart icon | in the header", "icon earlier change")
    s.click(
        ["[data-id=pip-whale] .im", "[data-id=pip-whale] .nm"],
        "the poster of 'Pip and the Whale' | , the only one on the wish list",
        "earlier",
    )
    s.say("the earlier date")
    s.click(
        "[data-date='0'] a.go",
        "the 'Find seats' button of the first date (Jun 13, 20:00) | in the list of dates",
        "compare",
    )
    s.say("eight in the evening is too late for them. other date")
    s.click("chrome:back", "the browser's back button | left of the address bar", "icon change")
    s.click(
        "[data-date='1'] a.go",
        "the 'Find seats' button of the second date (Jun 14, 15:00) | in the list of dates",
        "ordinal",
    )
    s.say("as close to the stage as possible")
    s.click(
        ["[data-zone='Floor']", "label::~Floor"], "the pink 'Floor' zone | at the top of the seating plan", "compare"
    )
    s.say("three please")
    s.click("[aria-label='More tickets']", "the plus button next to 'Tickets' | (now 1) on the right", "icon implied")
    s.click("[aria-label='More tickets']", "the plus button next to 'Tickets' | (now 2) on the right", "icon implied")
    s.say("okay go on")
    s.click("a.go::Continue", "the 'Continue' button | below the total")
    s.say("popcorn and lemonade")
    s.click(
        [".snk button::~Popcorn", ".snk button::~Lemonade"], "the 'Popcorn' button | , first of the snacks", "named"
    )
    s.click(".snk button::~Lemonade", "the 'Lemonade' button | , last of the snacks", "named")
    s.say("I'll pick up the tickets at the box office")
    s.click("label::Box office", "the 'Box office' option | , last under 'How do you want your tickets?'")
    s.say("my email is ada at winter dot example")
    s.click("#email", "the 'Email' field | below the ticket options")
    s.type("ada@winter.example", "the 'Email' field")
    s.say("buy them")
    s.click("a::Buy tickets", "the 'Buy tickets' button | on the right")
    s.say("add it to my calendar")
    s.click(
        "main [aria-label=Calendar]", "the calendar icon | , second of the three icons under the text", "icon implied"
    )
    s.say("close the recipe one, then I'm done")
    s.click(
        "chrome:close/0",
        "the close button of the first browser tab, 'Sunken plum cake - Potluck Pages' | in the tab strip",
        "icon earlier",
    )
