"""One hash for the content of a shop: tasks, users and products in, SHA-256 in hex out.

What is hashed: the line ``grounding-shop-1``, then one line of compact JSON for every task in order of their ids, every
product in order of its ASIN, and every user in order of the id, as the records have them. The name of the data set and
where its files lie do not count. The order of the products decides between equal scores of the search: it is hashed as
a line of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from grounding.webagents.personalwab.records import Product, ShopTask, ShopUser

_VERSION_LINE = b"grounding-shop-1\n"


def shop_fingerprint(tasks: Sequence[ShopTask], users: Mapping[str, ShopUser], products: Mapping[str, Product]) -> str:
    """SHA-256 of the canonical content, 64 hex digits."""
    digest = hashlib.sha256(_VERSION_LINE)
    encoder = msgspec.json.Encoder()
    lines: list[object] = [*sorted(tasks, key=lambda task: task.id)]
    lines += [products[asin] for asin in sorted(products)]
    lines += [users[user] for user in sorted(users)]
    lines.append(list(products))
    for line in lines:
        digest.update(encoder.encode(line))
        digest.update(b"\n")
    return digest.hexdigest()
