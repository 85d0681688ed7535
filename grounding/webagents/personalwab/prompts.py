"""The wording of PersonalWAB: a file of texts in; filled texts for agents, memories and simulated users out.

The texts are data (``models/prompts/personalwab``), because they are part of what is asked. Filling puts every value in
at once, so that what a user wrote is never filled again.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.records import Behaviour, Product, Profile, Review, TaskType


class ShopPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording. ``entry_*`` show one behaviour, ``memory_*`` lead a list of them."""

    name: str
    version: int
    source: str
    system_single: str
    system_multi: str
    task_specific_single: str
    task_specific_multi: str
    recmind_single: str
    recmind_multi: str
    interecagent: str
    interecagent_start: str
    interecagent_start_entry: str
    interecagent_update: str
    react: str
    reflexion: str
    puma_parameter: str
    puma_product: str
    memory_last: str
    memory_relevant: str
    memory_random: str
    memory_recmind: str
    memory_interecagent: str
    memory_task_specific: str
    entry: str
    entry_recmind: str
    entry_interecagent: str
    entry_search: str
    entry_recommend: str
    entry_review: str
    user_search: str
    user_review: str
    user_greeting: str
    user_profile: str
    user_price: dict[str, str]
    user_diversity: dict[str, str]
    user_interaction: dict[str, str]

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


@cache
def shop_prompts(name: str = "release") -> ShopPrompts:
    """The wording of this name, or of a YAML file of one's own.

    Raises:
        UserError: there is none, or a text is missing or unknown.
    """
    folder = models_dir() / "prompts" / "personalwab"
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=ShopPrompts)
    except OSError:
        # Beside them lie the prompts that a shop is made with, which are no wording of agents.
        wordings = (file for file in folder.glob("*.yaml") if b"\nsystem_single:" in file.read_bytes())
        known = ", ".join(sorted(file.stem for file in wordings))
        raise UserError(
            f"no wording of PersonalWAB is called {name!r}: there are {known}, or give a .yaml file"
        ) from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: {error}; every text of {folder / 'release.yaml'} must be there") from None


def product_fields(product: Product) -> dict[str, str]:
    """A product's values as the release's texts name them."""
    return {
        "title": product.title,
        "parent_asin": product.asin,
        "asin": product.asin,
        "average_rating": str(product.average_rating),
        "rating_number": str(product.rating_number),
        "price": product.price,
        "store": product.store,
        "details": product.details,
        "description": str(list(product.description)),
        "features": str(list(product.features)),
        "main_category": product.main_category,
        "categories": str(list(product.categories)),
    }


def behaviour_text(template: str, number: int, behaviour: Behaviour, product: Product) -> str:
    """One behaviour in the wording of an ``entry_*``; ``number`` counts from 0."""
    review = behaviour.review
    rating, text, at = str(review.rating), review.text, str(review.timestamp_ms)
    return fill(
        template,
        **product_fields(product),
        num=str(number),
        rating=rating,
        text=text,
        review_text=text,
        timestamp=at,
    )


def opening_text(user_id: str, instruction: str, review_product: str | None) -> str:
    """The first message of an episode: who asks, what, and the product that is to be reviewed."""
    asked = f"USER {user_id}: {instruction}"
    return asked if review_product is None else f"{asked}\nHere is the product information: \n{review_product}"


def profile_text(prompts: ShopPrompts, profile: Profile) -> str:
    """A profile as the simulated user is told of it, with the wording's own words for High, Medium and Low."""
    return fill(
        prompts.user_profile,
        gender=profile.gender,
        age=profile.age,
        occupation=profile.occupation,
        price_sensitivity=prompts.user_price.get(profile.price_sensitivity, profile.price_sensitivity),
        shopping_interest=profile.shopping_interest,
        brand_preference=profile.brand_preference,
        diversity_preference=prompts.user_diversity.get(profile.diversity_preference, profile.diversity_preference),
        interaction_style=prompts.user_interaction.get(profile.interaction_complexity, profile.interaction_complexity),
        tone_and_style=profile.tone_and_style,
        item_reference=profile.item_reference,
        focus=profile.focus_aspect,
    )


def user_text(prompts: ShopPrompts, kind: TaskType, profile: Profile, product: str, review: Review | None) -> str:
    """What the simulated user is told: who it is, what it wants, and, of a review, what it thought."""
    told = {"profile": profile_text(prompts, profile), "product": f"\n{product}"}
    if kind == "review" and review is not None:
        return fill(prompts.user_review, **told, review=review.text)
    return fill(prompts.user_search, **told)
