"""The vendors' interfaces: a prompt in, the bytes of a request out; the bytes of a reply in, a SearchAnswer out."""

from __future__ import annotations

from grounding.cards import Json, SearchCard
from grounding.webagents.agenticshop.agents.search.interfaces.base import SearchInterface
from grounding.webagents.agenticshop.agents.search.prompt import CurationPrompts


def interface_of(card: SearchCard, parameters: dict[str, Json], prompts: CurationPrompts) -> SearchInterface:
    """The interface that a card names, with its settings."""
    from grounding.webagents.agenticshop.agents.search.interfaces.anthropic import AnthropicMessages
    from grounding.webagents.agenticshop.agents.search.interfaces.gemini import GeminiContent
    from grounding.webagents.agenticshop.agents.search.interfaces.openai import OpenAIResponses
    from grounding.webagents.agenticshop.agents.search.interfaces.perplexity import PerplexityChat
    from grounding.webagents.agenticshop.agents.search.interfaces.perplexity_agent import PerplexityAgent

    match card.interface:
        case "openai":
            return OpenAIResponses(card, parameters, prompts)
        case "anthropic":
            return AnthropicMessages(card, parameters, prompts)
        case "gemini":
            return GeminiContent(card, parameters, prompts)
        case "perplexity":
            return PerplexityChat(card, parameters, prompts)
        case "perplexity-agent":
            return PerplexityAgent(card, parameters, prompts)
