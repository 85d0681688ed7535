"""Rules on ratings and reviews."""

from __future__ import annotations

from grounding.webagents.agenticshop.judge.conditions import (
    RatingCountWithin,
    RatingShown,
    RatingWithin,
    ReviewsMention,
    ReviewsShown,
)
from grounding.webagents.agenticshop.judge.deciding.shown import MAX_QUOTE_CHARS, Finding, Shown, open_question, silent
from grounding.webagents.agenticshop.judge.vocabulary import places, tokens

_ENDINGS = ("", "s", "es", "d", "ed", "ing")


def rating(rule: RatingWithin | RatingShown, page: Shown) -> Finding:
    """The average rating."""
    stars = page.facts.rating
    if stars is None:
        return silent("how it is rated")
    quote = page.quote(
        "rating", f"{stars:g} out of 5", f"{stars:.1f} out of 5", f"{stars:g} stars", f"{stars:.1f}", f"{stars:g}"
    )
    held = isinstance(rule, RatingShown) or rule.bounds.holds(stars)
    return Finding(satisfied=held, reason=f"the average rating is {stars:g} out of 5", quote=quote)


def rating_count(rule: RatingCountWithin, page: Shown) -> Finding:
    """How many ratings or reviews there are, by the page's own count."""
    if rule.readable:
        read = len(page.facts.reviews)
        held = rule.bounds.holds(read)
        return Finding(satisfied=held, reason=f"{read} reviews can be read", quote=_review(page, 0), silent=not held)
    number = page.facts.rating_count
    if number is None:
        read = len(page.facts.reviews)
        if not read:
            return silent("how many ratings or reviews there are")
        quote = _review(page, 0)
        if rule.bounds.high is None and rule.bounds.holds(read):
            return Finding(satisfied=True, reason=f"{read} reviews can be read", quote=quote)
        if rule.bounds.above(read):
            return Finding(satisfied=False, reason=f"{read} reviews can be read", quote=quote)
        return open_question(f"{read} reviews can be read, and the page doesn't say how many there are", quote)
    quote = page.quote("rating_count", f"{number:,}", str(number))
    return Finding(
        satisfied=rule.bounds.holds(number), reason=f"the page counts {number} ratings or reviews", quote=quote
    )


def reviews(rule: ReviewsShown, page: Shown) -> Finding:
    """Whether there are reviews."""
    if page.facts.reviews:
        return Finding(satisfied=True, reason=f"{len(page.facts.reviews)} reviews can be read", quote=_review(page, 0))
    number = page.facts.rating_count
    if rule.readable or number is None:
        return Finding(satisfied=False, reason="no review can be read on the page", silent=True)
    quote = page.quote("rating_count", f"{number:,}", str(number))
    return Finding(satisfied=number > 0, reason=f"the page counts {number} ratings or reviews", quote=quote)


def mentions(rule: ReviewsMention, page: Shown) -> Finding:
    """Whether so many reviews hold one of the words. That none does shows nothing: the same can be said otherwise."""
    if not page.facts.reviews:
        return Finding(satisfied=False, reason="no review can be read on the page", silent=True)
    sought = [tokens(each) for each in rule.any_of]
    held = [
        number
        for number, review in enumerate(page.facts.reviews)
        if any(_holds(tokens(f"{review.title} . {review.text}"), each, exact=rule.exact) for each in sought)
    ]
    if len(held) >= rule.at_least:
        return Finding(
            satisfied=True, reason=f"{len(held)} of the reviews hold the words", quote=_review(page, held[0])
        )
    found = f"{len(held)} of {len(page.facts.reviews)} reviews that can be read hold the words"
    if page.facts.rating_count is not None and page.facts.rating_count > len(page.facts.reviews):
        return open_question(f"{found}, and there are more")
    if not rule.exact:
        return open_question(f"{found}, and another may say the same in others")
    return Finding(satisfied=False, reason=found)


def _holds(said: tuple[str, ...], sought: tuple[str, ...], *, exact: bool) -> bool:
    """Whether a review holds the words; a lone word that is not quoted may have an ending of its own."""
    if exact or len(sought) != 1:
        return bool(places(said, sought))
    forms = {sought[0] + ending for ending in _ENDINGS}
    return any(word in forms for word in said)


def _review(page: Shown, number: int) -> str:
    if number >= len(page.facts.reviews):
        return ""
    review = page.facts.reviews[number]
    return (review.text or review.title)[:MAX_QUOTE_CHARS]
