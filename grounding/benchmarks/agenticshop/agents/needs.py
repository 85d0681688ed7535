"""What a search-augmented model is told of a user's need. Pure.

The order, the blanks and what is left out are the release's (protocol D2); ``models/prompts/agenticshop`` holds the
texts. The double quotes of a context are turned into single ones, as there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from grounding.benchmarks.agenticshop.records import DIMENSIONS, ShopperView
from grounding.benchmarks.calls import Wording, fill, read_wording


class CurationPrompts(Wording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording, and the schema of the reply."""

    system: str
    opening: str
    product_type: str
    situation: str
    budget: str
    query: str
    context: str
    dimension: str
    task: str
    sites: str
    in_words: str
    schema_name: str
    schema: dict[str, Any]


@cache
def curation_prompts() -> CurationPrompts:
    """The bundled file ``curation.yaml``."""
    return read_wording("agenticshop", "curation", CurationPrompts)


def curation_prompt(prompts: CurationPrompts, view: ShopperView) -> str:
    """The prompt of a need, as the release writes it into its inputs; what has no value is left out."""
    kind = fill(prompts.product_type, product_type=view.product_type) if view.product_type else ""
    need = {"situation": view.situation.rstrip("."), "budget": view.budget, "query": view.query}
    about = " ".join(fill(getattr(prompts, name), **{name: said}) for name, said in need.items() if said)
    told = "".join(
        fill(prompts.dimension, dimension=name, text=text.replace('"', "'"))
        for name in DIMENSIONS
        if (text := getattr(view.context, name))
    )
    return f"{prompts.opening}{kind}{about and about + ' '}{told and prompts.context + told}{prompts.task}"


def request_text(prompts: CurationPrompts, view: ShopperView, *, in_words: bool) -> str:
    """All that a model is told: the release's system text and prompt, the data set's shops, the form of the reply.

    ``in_words``: the form has to be asked for, because no schema goes along.
    """
    text = prompts.system + curation_prompt(prompts, view)
    if view.sites:
        text += fill(prompts.sites, sites=", ".join(f"{site.name} ({site.home_url})" for site in view.sites))
    return text + prompts.in_words if in_words else text
