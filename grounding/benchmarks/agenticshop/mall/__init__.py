"""A small web to shop in: shops of a data set's own, served on this machine.

``shops_of`` needs nothing beyond the base install; ``open_mall`` needs the extra ``browser`` (jinja2).
"""

from __future__ import annotations

from grounding.benchmarks.agenticshop.mall.server import Mall, open_mall
from grounding.benchmarks.agenticshop.mall.shops import read_shops, shops_of

__all__ = ["Mall", "open_mall", "read_shops", "shops_of"]
