"""Reading the shops of a data set's folder."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.webagents.agenticshop.mall.designs import DESIGNS
from grounding.webagents.agenticshop.mall.records import Shop
from grounding.webagents.agenticshop.records import Site

MAX_SHOP_BYTES = 8_000_000
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_SLUG = re.compile(r"[a-z0-9-]{1,80}")


def shops_of(folder: Path) -> tuple[Site, ...]:
    """The shops that belong to a data set, sorted by name; none where the folder has no ``shops/``.

    Raises:
        UserError: a shop's file can't be read or contradicts itself.
    """
    return tuple(Site(name=shop.name, home_url=shop.home_url) for shop in read_shops(folder))


def read_shops(folder: Path) -> tuple[Shop, ...]:
    """All shops of a data set's folder, sorted by name; none where it has no ``shops/``.

    Raises:
        UserError: a shop's file can't be read or contradicts itself.
    """
    return tuple(_read(path) for path in sorted((folder / "shops").glob("*.json")))


def _read(path: Path) -> Shop:
    try:
        if path.stat().st_size > MAX_SHOP_BYTES:
            raise UserError(f"{path}: a shop of more than {MAX_SHOP_BYTES:,} bytes. Split it into several shops.")
        shop = msgspec.json.decode(path.read_bytes(), type=Shop)
    except OSError as problem:
        raise UserError(f"{path}: the shop can't be read: {problem.strerror or problem}.") from problem
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UserError(f"{path}: expected a shop as datasets/sample-mall/README.md tells: {problem}.") from problem
    for complaint in _complaints(shop, path.stem):
        raise UserError(f"{path}: {complaint}")
    return shop


def _complaints(shop: Shop, stem: str) -> list[str]:
    found = []
    if shop.name != stem or not _NAME.fullmatch(shop.name):
        found.append(
            f"the shop is named {shop.name!r}. Expected the name of its file: small letters, digits and hyphens."
        )
    slugs = [goods.slug for goods in shop.goods]
    known = set(slugs)
    found += [
        f"the slug {slug!r} occurs twice. Every product needs its own." for slug in slugs if slugs.count(slug) > 1
    ]
    for goods in shop.goods:
        if not _SLUG.fullmatch(goods.slug):
            found.append(f"{goods.slug!r} can't stand in an address. Expected small letters, digits and hyphens.")
        if not goods.forms or not 0 <= goods.chosen < len(goods.forms):
            found.append(f"{goods.slug}: expected at least one form, and that `chosen` counts from 0 among them.")
        if goods.category not in shop.categories:
            found.append(f"{goods.slug}: the category {goods.category!r} is not among the shop's `categories`.")
        if goods.promotes and goods.promotes not in known:
            found.append(f"{goods.slug}: promotes {goods.promotes!r}, which the shop doesn't have.")
    ends = _paths(shop)
    found += [
        f"{place.path}: leads to {place.to!r}, which the shop doesn't have."
        for place in shop.places
        if place.kind == "redirect" and place.to not in ends
    ]
    lists = [("front", shop.front), *((place.path, place.goods) for place in shop.places)]
    found += [
        f"{where}: {slug!r} is not a product of the shop."
        for where, some in lists
        for slug in some
        if slug not in known
    ]
    return found


def _paths(shop: Shop) -> set[str]:
    """All that a redirect may lead to; another redirect is none of it."""
    design = DESIGNS[shop.design]
    paths = {"/", *(design.category_path(name) for name in shop.categories)}
    paths |= {design.product_path(goods) for goods in shop.goods}
    return paths | {place.path for place in shop.places if place.kind != "redirect"}
