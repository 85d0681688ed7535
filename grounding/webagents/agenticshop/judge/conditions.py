"""What an item of a checklist asks for, where that can be decided without a model: typed, and said back in words.

Every record is one rule; :data:`Rule` is any of them. ``words`` says what the rule asks, so that a reader can hold it
against the item that it was read from.
"""

from __future__ import annotations

from typing import Literal

from grounding.records import Record
from grounding.webagents.agenticshop.judge.bounds import Bounds

# --- price --------------------------------------------------------------------------------------------------------

Basis = Literal["price", "total", "either"]
"""What is compared: the price alone, the price with shipping, or both where the item doesn't say which it means."""


class PriceWithin(Record, frozen=True, kw_only=True, tag=True):
    """The price lies in a range. ``currency`` is an ISO code, "$" for a dollar that is not named, "" for any."""

    bounds: Bounds
    currency: str = ""
    basis: Basis = "price"

    @property
    def words(self) -> str:
        """What is asked for."""
        what = {
            "price": "the price is",
            "total": "price and shipping together are",
            "either": "the price, with shipping and without, is",
        }[self.basis]
        return f"{what} {self.bounds.words(lambda amount: money_words(amount, self.currency))}"


class UnitPriceWithin(Record, frozen=True, kw_only=True, tag=True):
    """The price of one piece lies in a range: the price over the number of pieces that the page states."""

    bounds: Bounds
    currency: str = ""

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the price of one piece is {self.bounds.words(lambda amount: money_words(amount, self.currency))}"


class Discounted(Record, frozen=True, kw_only=True, tag=True):
    """The product costs less than its list price, by at least so many percent."""

    percent: float = 0.0

    @property
    def words(self) -> str:
        """What is asked for."""
        return (
            f"the price is at least {self.percent:g}% under the list price" if self.percent else "the price is reduced"
        )


class ShippingWithin(Record, frozen=True, kw_only=True, tag=True):
    """Shipping costs so much; at most 0 is free shipping."""

    bounds: Bounds
    currency: str = ""

    @property
    def words(self) -> str:
        """What is asked for."""
        if self.bounds == Bounds(high=0.0):
            return "shipping is free"
        return f"shipping costs {self.bounds.words(lambda amount: money_words(amount, self.currency))}"


# --- what others say of it ------------------------------------------------------------------------------------------


class RatingWithin(Record, frozen=True, kw_only=True, tag=True):
    """The average rating, out of five, lies in a range."""

    bounds: Bounds

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the average rating is {self.bounds.words()} out of 5"


class RatingCountWithin(Record, frozen=True, kw_only=True, tag=True):
    """There are so many ratings or reviews, as the page counts them; ``readable``: so many can be read on it."""

    bounds: Bounds
    readable: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        if self.readable:
            return f"the number of reviews that can be read is {self.bounds.words()}"
        return f"the number of ratings or reviews is {self.bounds.words()}"


class RatingShown(Record, frozen=True, kw_only=True, tag=True):
    """The page shows an average rating."""

    @property
    def words(self) -> str:
        """What is asked for."""
        return "an average rating is shown"


class ReviewsShown(Record, frozen=True, kw_only=True, tag=True):
    """There are reviews; ``readable``: their words can be read on the page."""

    readable: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        return "the text of at least one review can be read" if self.readable else "there are reviews"


class ReviewsMention(Record, frozen=True, kw_only=True, tag=True):
    """So many reviews have one of these words in them.

    ``exact``: the item puts them in quotes; else a review may say the same in other words.
    """

    any_of: tuple[str, ...]
    at_least: int = 1
    exact: bool = True

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"{_count(self.at_least, 'review')} with the words {_quoted(self.any_of)}"


# --- names --------------------------------------------------------------------------------------------------------


class BrandIs(Record, frozen=True, kw_only=True, tag=True):
    """The brand is one of these, or, with ``excluded``, none of them."""

    any_of: tuple[str, ...]
    excluded: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the brand is {'not ' if self.excluded else ''}{_listed(self.any_of)}"


class SellerIs(Record, frozen=True, kw_only=True, tag=True):
    """The seller is one of these, or, with ``excluded``, none of them."""

    any_of: tuple[str, ...]
    excluded: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the seller is {'not ' if self.excluded else ''}{_listed(self.any_of)}"


# --- terms --------------------------------------------------------------------------------------------------------

Term = Literal["brand", "seller", "price", "shipping cost", "delivery time", "returns policy", "warranty", "stock"]
"""Something that a page can say of its offer."""


class TermStated(Record, frozen=True, kw_only=True, tag=True):
    """The page says something of a term, whatever it says. ``with_days``: of returns, within which time."""

    term: Term
    with_days: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the page states the {self.term}{' with its days' if self.with_days else ''}"


class ArrivesWithin(Record, frozen=True, kw_only=True, tag=True):
    """It arrives, or is sent off (``dispatch``), within so many days."""

    days: float
    business: bool = False
    dispatch: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        kind = "business day" if self.business else "day"
        return f"it {'is sent' if self.dispatch else 'arrives'} within {_count(self.days, kind)}"


class ReturnsAccepted(Record, frozen=True, kw_only=True, tag=True):
    """It can be sent back within at least so many days; ``free``: at no cost."""

    at_least_days: float = 0.0
    free: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        time = f" within at least {_count(self.at_least_days, 'day')}" if self.at_least_days else ""
        return f"it can be returned{' for free' if self.free else ''}{time}"


class WarrantyAtLeast(Record, frozen=True, kw_only=True, tag=True):
    """The warranty lasts at least so many months; ``lifetime``: for life."""

    months: float = 0.0
    lifetime: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        return (
            "the warranty is for life"
            if self.lifetime
            else f"the warranty lasts {_count(self.months, 'month')} or more"
        )


class InStock(Record, frozen=True, kw_only=True, tag=True):
    """The product can be bought now."""

    @property
    def words(self) -> str:
        """What is asked for."""
        return "it is in stock"


# --- the product itself -------------------------------------------------------------------------------------------


class Offered(Record, frozen=True, kw_only=True, tag=True):
    """It comes in one of these forms and that form is not sold out. ``kind``: ``size``, ``colour`` or such."""

    any_of: tuple[str, ...]
    kind: str = ""

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"it can be had in {f'{self.kind} ' if self.kind else ''}{_listed(self.any_of)}"


class FormsAtLeast(Record, frozen=True, kw_only=True, tag=True):
    """It comes in so many sizes, colours or such."""

    kind: str
    at_least: int

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"it comes in at least {_count(self.at_least, self.kind)}"


class AttributeIs(Record, frozen=True, kw_only=True, tag=True):
    """A line of the page's table of facts holds one of these values, or, with ``excluded``, none of them."""

    name: str
    any_of: tuple[str, ...]
    excluded: bool = False

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"{self.name} is {'not ' if self.excluded else ''}{_listed(self.any_of)}"


class AttributeStated(Record, frozen=True, kw_only=True, tag=True):
    """The page's table of facts has a line of this name, whatever it holds."""

    name: str

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the {self.name} is stated"


class MeasureWithin(Record, frozen=True, kw_only=True, tag=True):
    """A measure in the page's table of facts lies in a range of this unit."""

    name: str
    bounds: Bounds
    unit: str = ""

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"{self.name} is {self.bounds.words(lambda number: f'{number:g} {self.unit}'.strip())}"


class PicturesWithin(Record, frozen=True, kw_only=True, tag=True):
    """The page shows so many pictures of the product."""

    bounds: Bounds

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the number of pictures is {self.bounds.words()}"


class WordsStated(Record, frozen=True, kw_only=True, tag=True):
    """The page says one of these of the product, in these words. ``title_only``: in its title.

    ``exact``: the item puts them in quotes; else they are a set term, and another way to say it would do as well.
    """

    any_of: tuple[str, ...]
    title_only: bool = False
    exact: bool = True

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"the {'title' if self.title_only else 'page'} says {_quoted(self.any_of)}"


# --- several ------------------------------------------------------------------------------------------------------


class AllOf(Record, frozen=True, kw_only=True, tag=True):
    """Every one of several rules."""

    rules: tuple[Rule, ...]

    @property
    def words(self) -> str:
        """What is asked for."""
        return ", and ".join(rule.words for rule in self.rules)


class AnyOf(Record, frozen=True, kw_only=True, tag=True):
    """At least one of several rules."""

    rules: tuple[Rule, ...]

    @property
    def words(self) -> str:
        """What is asked for."""
        return ", or ".join(rule.words for rule in self.rules)


Rule = (
    PriceWithin
    | UnitPriceWithin
    | Discounted
    | ShippingWithin
    | RatingWithin
    | RatingCountWithin
    | RatingShown
    | ReviewsShown
    | ReviewsMention
    | BrandIs
    | SellerIs
    | TermStated
    | ArrivesWithin
    | ReturnsAccepted
    | WarrantyAtLeast
    | InStock
    | Offered
    | FormsAtLeast
    | AttributeIs
    | AttributeStated
    | MeasureWithin
    | PicturesWithin
    | WordsStated
    | AllOf
    | AnyOf
)


def money_words(amount: float, currency: str) -> str:
    """An amount as it is said, such as ``50 USD`` or ``$12.50``.

    >>> money_words(12.5, "$"), money_words(50, "EUR")
    ('$12.50', '50 EUR')
    """
    number = f"{amount:.2f}".removesuffix(".00")
    if currency == "$":
        return f"${number}"
    return f"{number} {currency}".strip()


def _count(number: float, noun: str) -> str:
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(names)


def _quoted(words: tuple[str, ...]) -> str:
    return " or ".join(f'"{each}"' for each in words)
