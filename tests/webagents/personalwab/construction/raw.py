"""Small files of real shape for the tests of construction: Amazon's JSONL and AgenticShop's users."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

CATEGORIES = ("Electronics", "Grocery_and_Gourmet_Food")
PROFILE: dict[str, Any] = {
    "Gender": "Female",
    "Age": "25-34",
    "Occupation": "Writer",
    "Price Sensitivity": "High",
    "Shopping Interest": "Tea, lamps",
    "Brand Preference": ["Acme", "Bora"],
    "Diversity Preference": "Medium",
    "Interaction Complexity": "Low",
    "Tone and Style": "cheerful",
    "Item Reference": "names brands",
    "Focus Aspect": "Price",
}

Json = dict[str, Any]


def review(user: str, asin: str, at: int, **more: Any) -> Json:
    usual = {
        "rating": 4.0,
        "title": f"On {asin}",
        "text": f"{user} likes {asin}.",
        "images": [],
        "asin": asin,
        "parent_asin": asin,
        "user_id": user,
        "timestamp": at,
        "helpful_vote": 0,
        "verified_purchase": True,
    }
    return {**usual, **more}


def product(asin: str, **more: Any) -> Json:
    usual = {
        "main_category": "Home",
        "title": f"Thing {asin} of oak",
        "average_rating": 4.5,
        "rating_number": 12,
        "features": ["sturdy"],
        "description": [],
        "price": 12.5,
        "images": [],
        "videos": [],
        "store": "Acme",
        "categories": ["Home", f"Kind {asin[-1]}"],
        "details": {"Brand": "Acme"},
        "parent_asin": asin,
        "bought_together": None,
    }
    return {**usual, **more}


def lines(path: Path, entries: list[Json]) -> None:
    content = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def amazon(folder: Path, *, users: int = 6, behaviours: int = 12) -> Path:
    """Two categories, one of them gzipped, reviews of a user in both and out of order; two products nobody bought."""
    reviews: dict[str, list[Json]] = {category: [] for category in CATEGORIES}
    for place in range(behaviours):
        for user in range(users):
            category = CATEGORIES[place % 2]
            asin = f"B{place % 2}{(user * 5 + place * 3) % 20:02}"
            reviews[category].append(review(f"U{user}", asin, 1_000_000 + ((place * 7) % behaviours) * 1000 + user))
    reviews[CATEGORIES[0]].append(review("PASSER", "B000", 5))
    for half, category in enumerate(CATEGORIES):
        lines(folder / "reviews" / f"{category}.jsonl{'.gz' if half else ''}", reviews[category])
        known = [product(f"B{half}{number:02}") for number in range(20)]
        lines(
            folder / "meta" / f"meta_{category}.jsonl", [*known, product(f"FREE{half}"), product("NAMELESS", title="")]
        )
    return folder


def agenticshop(folder: Path, users: dict[str, list[Json]], name: str = "Electronics") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    wire = {user: [{"stats": {"number_of_purchases": len(said)}}, {"review": said}] for user, said in users.items()}
    (folder / f"{name}.json").write_text(json.dumps(wire), encoding="utf-8")
    return folder


def said(thing: str, text: str = "Fine.", **more: Any) -> Json:
    sold = {name: value for name, value in product("none", title=thing).items() if name != "parent_asin"}
    shown = {**sold, "price": "12.5", "details": json.dumps({"Brand": "Acme"})}
    return {"user_review_title": "T", "user_rating": 5.0, "user_review": text, "product": shown, **more}
