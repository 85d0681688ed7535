"""Search-augmented models as agents: they search the web through their vendor's own tool and name three products.

``interfaces`` writes requests and reads replies, one file per vendor; ``prompt`` says what is told, ``reading`` what is
taken for a product, ``trace`` what became of the searches, ``backing`` which products rest on a page that a search
brought. The models are cards in ``models/search``.
"""

from grounding.webagents.agenticshop.agents.search.agent import SearchAgent
from grounding.webagents.agenticshop.agents.search.backing import Backing, backing
from grounding.webagents.agenticshop.agents.search.opening import find_search_card, open_search_agent

__all__ = ["Backing", "SearchAgent", "backing", "find_search_card", "open_search_agent"]
