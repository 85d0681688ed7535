"""One line of a calculation: a name, bytes, and how they come about."""

from __future__ import annotations

from collections.abc import Iterable

from grounding.records import Record

GIB = 1024**3


class Term(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A part of the memory of one device. ``exact``: counted, not approximated. ``formula`` has the numbers in it."""

    name: str
    bytes: int
    formula: str
    exact: bool = False


def term(name: str, size: int, formula: str, shards: int = 1, *, exact: bool = False) -> Term:
    """A term, split over ``shards`` devices where there are more than one."""
    if shards > 1:
        return Term(name=name, bytes=-(-size // shards), formula=f"{formula} / {shards} devices", exact=exact)
    return Term(name=name, bytes=size, formula=formula, exact=exact)


def total(terms: Iterable[Term]) -> int:
    """The bytes of all terms together."""
    return sum(each.bytes for each in terms)


def gib(size: float) -> str:
    """Bytes in words.

    >>> gib(16.6e9), gib(5_000_000), gib(800)
    ('15.5 GiB', '4.8 MiB', '0.8 KiB')
    """
    if size >= GIB / 10:
        value = size / GIB
        return f"{value:,.0f} GiB" if value >= 1000 else f"{value:.1f} GiB"
    if size >= 1024**2 / 10:
        return f"{size / 1024**2:.1f} MiB"
    return f"{size / 1024:.1f} KiB"
