"""How profiles and instructions are asked for: a file of texts in; filled texts out.

``<NAMES>`` in a text are filled all at once, so that what a user wrote is never filled again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.construction.records import Job, ProfileSubject
from grounding.webagents.personalwab.functions.texts import product_text
from grounding.webagents.personalwab.layout import PROFILE_FIELDS
from grounding.webagents.personalwab.records import Behaviour, Product, Profile

Level = Literal["High", "Medium", "Low"]
LEVELS: tuple[Level, ...] = ("High", "Medium", "Low")
LONGEST_TEXT = 1500
"""Characters of one review that are shown; few are longer, and a whole history has to fit into one request."""


class Choices(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a profile's dimensions may be (paper, figure 11)."""

    gender: tuple[str, ...]
    age: tuple[str, ...]
    occupation: tuple[str, ...]
    price_sensitivity: dict[Level, str]
    diversity: dict[Level, str]
    interaction: dict[Level, str]
    focus_aspect: tuple[str, ...]


class ConstructionPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of construction. ``words`` are the most words of an instruction, by type and interaction complexity."""

    name: str
    version: int
    source: str
    profile: str
    search: str
    recommend: str
    review: str
    choices: Choices
    entry: str
    profile_line: str
    review_text: str
    words: dict[Literal["search", "recommend", "review"], dict[Level, int]]

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


@cache
def construction_prompts(name: str = "construction") -> ConstructionPrompts:
    """The wording of this name, or of a YAML file of one's own.

    Raises:
        UserError: there is none, or a text is missing or unknown.
    """
    folder = models_dir() / "prompts" / "personalwab"
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=ConstructionPrompts)
    except OSError:
        raise UserError(f"--prompt {name}: there is construction, or give a .yaml file of your own") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: {error}; every text of {folder / 'construction.yaml'} must be there") from None


def profile_prompt(prompts: ConstructionPrompts, subject: ProfileSubject, products: Mapping[str, Product]) -> str:
    """What a model is asked to describe a user."""
    choices = prompts.choices
    entries = [
        entry_text(prompts.entry, place, one, products[one.asin])
        for place, one in enumerate(subject.behaviours, start=1)
    ]
    return fill(
        prompts.profile,
        gender=_listed(choices.gender),
        age=_listed(choices.age),
        occupation=_listed(choices.occupation),
        price_sensitivity=_described(choices.price_sensitivity),
        diversity=_described(choices.diversity),
        interaction=_described(choices.interaction),
        focus_aspect="[" + ", ".join(f'"{aspect}"' for aspect in choices.focus_aspect) + "]",
        history="\n".join(entries),
    )


def instruction_prompt(prompts: ConstructionPrompts, job: Job, profile: Profile, product: Product) -> str:
    """What a model is asked to write an instruction."""
    template = {"search": prompts.search, "recommend": prompts.recommend, "review": prompts.review}[job.type]
    review = job.behaviour.review
    return fill(
        template,
        profile=profile_lines(prompts.profile_line, profile),
        product=product_text(product).rstrip(),
        review=fill(prompts.review_text, rating=str(review.rating), review_title=review.title, text=review.text),
        diversity=_level_text(prompts.choices.diversity, profile.diversity_preference),
        interaction=_level_text(prompts.choices.interaction, profile.interaction_complexity),
        focus_aspect=profile.focus_aspect,
        tone_and_style=profile.tone_and_style,
        num=str(most_words(prompts, job, profile)),
    )


def most_words(prompts: ConstructionPrompts, job: Job, profile: Profile) -> int:
    """How many words an instruction may have."""
    by_level = prompts.words[job.type]
    return next((by_level[level] for level in LEVELS if level == profile.interaction_complexity), by_level["Medium"])


def entry_text(template: str, place: int, behaviour: Behaviour, product: Product) -> str:
    """One behaviour as a model reads it; ``place`` counts from 1."""
    review = behaviour.review
    return fill(
        template,
        place=str(place),
        title=product.title,
        category=" > ".join(product.categories) or product.main_category,
        store=product.store,
        price=product.price,
        average_rating=str(product.average_rating),
        rating_number=str(product.rating_number),
        rating=str(review.rating),
        review_title=review.title,
        text=review.text[:LONGEST_TEXT],
    )


def profile_lines(template: str, profile: Profile) -> str:
    """A profile, a line for every dimension that is known, named as in the release."""
    known = {theirs: getattr(profile, ours) for theirs, ours in PROFILE_FIELDS.items()}
    return "\n".join(fill(template, name=name, value=value) for name, value in known.items() if value)


def _listed(options: tuple[str, ...]) -> str:
    return "[" + ", ".join(options) + "]"


def _described(options: dict[Level, str]) -> str:
    return "[" + ",\n".join(f'"{level}": "{text}"' for level, text in options.items()) + "]"


def _level_text(options: dict[Level, str], said: str) -> str:
    """The words for a level, without their full stop, which the prompt's line has."""
    return next((text for level, text in options.items() if level == said), said).removesuffix(".")
