"""The wording of PersonalWAB: a file of texts in; filled texts for agents, memories, simulated users and training out.

The texts are data (``models/prompts/personalwab``), because they are part of what is asked. Filling puts every value in
at once, so that what a user wrote is never filled again. What is null in the data stands as ``None`` in the release's
texts, and lists stand as Python prints them.
"""

from __future__ import annotations

import hashlib
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec

from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab.records import Behaviour, Product, Profile, ShopTask, TaskType
from grounding.cards.places import models_dir

FUNCTION_OF: dict[TaskType, str] = {
    "search": "search_product_by_query",
    "recommend": "get_recommendations_by_history",
    "review": "add_product_review",
}
"""The function that ends a task of each type."""


@cache
def wording(name: str) -> Any:
    """The texts of a file of ``models/prompts/personalwab`` as attributes, and a ``label``: name, version and a hash.

    ``release``: ``entry_*`` show one behaviour, ``memory_*`` lead a list of them; ``system_*`` are its own prompts
    of the agents with plain memories, ``paper_*`` those that the paper prints for all methods. ``puma``: ``parameter``
    asks for a parameter as in training, ``function`` for a function, ``search_label`` a chat model for a query.
    ``construction`` and ``consistency`` say theirs themselves.
    """
    texts = msgspec.yaml.decode((models_dir() / "prompts" / "personalwab" / f"{name}.yaml").read_bytes())
    digest = hashlib.sha256(msgspec.json.encode(texts)).hexdigest()[:8]
    return SimpleNamespace(**texts, label=f"{texts['name']}.{texts['version']}@{digest}")


def shop_prompts() -> Any:
    """The release's and the paper's wording."""
    return wording("release")


def puma_prompts() -> Any:
    """The wording of PUMA's training, a file of its own so that the agents' label stays what it is."""
    return wording("puma")


def function_prompt(prompts: Any, instruction: str) -> str:
    """The question which function an instruction asks for."""
    return fill(prompts.function, instruction=instruction)


def named_function(text: str) -> TaskType | None:
    """The type of task whose function a text begins with; None where it names none."""
    said = text.strip()
    return next((kind for kind, name in FUNCTION_OF.items() if said.startswith(name)), None)


def product_text(product: Product) -> str:
    """A product line by line, as the release's functions and users show it.

    The text that the released search index holds is not public; this one is searched in its place.
    """
    return (
        f"- Title: {product.title}\n"
        f"- Parent Asin: {product.asin}\n"
        f"- Average Rating: {product.average_rating}\n"
        f"- Rating Number: {product.rating_number}\n"
        f"- Price: {product.price}\n"
        f"- Store: {product.store}\n"
        f"- Features: {list(product.features)}\n"
        f"- Description: {list(product.description)}\n"
        f"- Details: {product.details}\n"
        f"- Category: {product.main_category}\n"
    )


def product_fields(product: Product) -> dict[str, str]:
    """A product's values as the release's texts name them."""
    fields = msgspec.structs.asdict(product)
    told = {name: str(list(one) if isinstance(one, tuple) else one) for name, one in fields.items()}
    return told | {"parent_asin": product.asin}


def behaviour_text(template: str, number: int, behaviour: Behaviour, product: Product) -> str:
    """One behaviour in the wording of an ``entry_*``; ``number`` counts from 0."""
    review = behaviour.review
    said = {"rating": str(review.rating), "text": review.text, "review_text": review.text}
    return fill(template, **product_fields(product), **said, num=str(number), timestamp=str(review.timestamp_ms))


def opening_text(user_id: str, instruction: str, review_product: Product | None) -> str:
    """The first message of an episode: who asks, what, and the product that is to be reviewed."""
    asked = f"USER {user_id}: {instruction}"
    if review_product is None:
        return asked
    return f"{asked}\nHere is the product information: \n{product_text(review_product)}"


def user_text(task: ShopTask, profile: Profile, product: Product) -> str:
    """What the simulated user is told: who it is, what it wants, and, of a review, what it thought."""
    prompts = shop_prompts()
    known = msgspec.structs.asdict(profile)
    known |= {"interaction_style": profile.interaction_complexity, "focus": profile.focus_aspect}
    for name, levels in {
        "price_sensitivity": prompts.user_price,
        "diversity_preference": prompts.user_diversity,
        "interaction_style": prompts.user_interaction,
    }.items():
        known[name] = levels.get(known[name], known[name])
    told = {"profile": fill(prompts.user_profile, **known), "product": f"\n{product_text(product)}"}
    if task.type == "review" and task.target_review is not None:
        return fill(prompts.user_review, **told, review=task.target_review.text)
    return fill(prompts.user_search, **told)
