"""Raw users and their profiles as files of the release's layout, small and made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grounding.webagents.agenticshop.records import DIMENSIONS

Json = dict[str, Any]


def review(title: str, rating: float | None, *, features: tuple[str, ...] = (), text: str = "") -> Json:
    return {
        "user_review_title": f"On {title}",
        "user_rating": rating,
        "user_review": text or f"{title} does what it does.",
        "product": {
            "title": title,
            "store": "Acme",
            "price": "None",
            "categories": ["Home & Kitchen", "Kettles"],
            "features": list(features),
            "description": [],
            "details": json.dumps({"Colour": "grey"}),
            "main_category": "Home",
            "average_rating": 1.23,
            "rating_number": 4567,
        },
    }


def raw_user(reviews: list[Json], target: Json | None = None) -> list[Json]:
    entry: Json = {"most_frequent_category": "['Kettles']", "review": reviews}
    if target is not None:
        entry["target"] = target
    return [{"stats": {"main_category": "Kettles", "number_of_purchases": len(reviews), "average_rating": 4.0}}, entry]


def profile(user: str, wish: str, query: str = "any kettle") -> Json:
    return {
        "user": user,
        "seed_product_type": "Kettles",
        "situation": f"Wants something {wish}.",
        "budget_range": "20 to 30",
        "query_type": "categorical",
        "user_query": query,
        "user_context": {name: f"The user likes {wish} things." for name in DIMENSIONS},
        "check_list": {name: [f"It is {wish}"] for name in DIMENSIONS},
    }


def write_users(folder: Path, *, users: int = 4, file: str = "Home_and_Kitchen.json") -> tuple[Path, Path]:
    """``raw`` and ``profiles``: every user rates what is of the own colour 5 and of other colours 2.

    User u has 3 products of each; the wish in checklist and context names the colour, the query says nothing.
    """
    colours = ("crimson", "emerald", "ivory", "amber", "violet", "teal")
    raw, profiles = {}, []
    for number in range(users):
        mine, other = colours[number % 6], colours[(number + 1) % 6]
        reviews = [
            one
            for place in range(3)
            for one in (
                review(f"Kettle {number}-{place} good", 5.0, features=(mine,)),
                review(f"Kettle {number}-{place} bad", 2.0, features=(other,)),
            )
        ]
        raw[f"U{number}"] = raw_user(reviews, target=reviews[0])
        profiles.append(profile(f"U{number}", mine))
    for name, content, where in ((file, raw, "raw"), ("home_user_profile.json", profiles, "profiles")):
        (folder / where).mkdir(parents=True, exist_ok=True)
        (folder / where / name).write_text(json.dumps(content), encoding="utf-8")
    return folder / "raw", folder / "profiles"
