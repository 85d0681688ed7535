"""A small web to shop in: shops of a data set's own, served on this machine, and the truth about their pages.

``shops_of`` and ``gold`` need nothing beyond the base install; ``open_mall`` needs the extra ``browser`` (jinja2).
"""

from __future__ import annotations

from grounding.webagents.agenticshop.mall.folder import read_shops, shops_of
from grounding.webagents.agenticshop.mall.gold import gold
from grounding.webagents.agenticshop.mall.records import GoldProduct
from grounding.webagents.agenticshop.mall.server import Mall, open_mall

__all__ = ["GoldProduct", "Mall", "gold", "open_mall", "read_shops", "shops_of"]
