"""Small files of users in the release's layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grounding.benchmarks.agenticshop.records import DIMENSIONS

NEEDS = {
    "trail shoes": "Wants light shoes for running on muddy forest trails with deep lugs and a rock plate",
    "tea kettle": "Looks for an electric kettle with a thermometer for brewing green tea in the kitchen",
    "desk lamp": "Needs a dimmable lamp with a clamp for the desk, warm light while reading books",
    "wool blanket": "Would like a heavy blanket of merino wool for the sofa, plaid pattern, moth proof",
    "bicycle bell": "Seeks a loud brass bell for the handlebar of a city bicycle, easy to mount",
}  # What five users want, and what is told of each.


def profile(number: int = 0, **more: Any) -> dict[str, Any]:
    """One user whose query, situation, context and checklist are about one thing."""
    thing, about = list(NEEDS.items())[number]
    entry: dict[str, Any] = {
        "user": f"USER{number}",
        "seed_product_type": thing.title(),
        "situation": about,
        "budget_range": "under $50",
        "query_type": "categorical",
        "user_query": f"looking for a {thing}",
        "user_context": {dimension: f"{dimension}: cares about the {thing}" for dimension in DIMENSIONS},
        "check_list": {
            "brand_preferences": ["Brand is Alder"],
            "price_sensitivity": ["Price is at most $50"],
            "review_sensitivity": ["Average rating is 4 or higher"],
            "functional_requirements": [f"Title names a {thing}"],
            "aesthetic_preferences": ["Colour is green"],
            "purchase_preferences": ["Returns are free"],
        },
    }
    return {**entry, **more}


def profiles() -> list[dict[str, Any]]:
    """Five users whose queries are their own."""
    return [profile(number) for number in range(len(NEEDS))]


def write_profiles(folder: Path, entries: object, key: str = "home") -> Path:
    """Write a file of users; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{key}_user_profile.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder
