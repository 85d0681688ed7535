"""A tiny shop on disk in the release's layout, whole or with something changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Change = Callable[[dict[str, Any]], object]
"""Changes the files' contents by name in place, before they are written; what it removes is not written."""

INSTRUCTIONS, PROFILES = "user_instructions.json", "user_profiles.json"
HISTORY_1, HISTORY_2 = "user_history_part_1.json", "user_history_part_2.json"
PRODUCTS_1, PRODUCTS_2 = "all_products_part_1.json", "all_products_part_2.json"


def product(asin: str, **more: Any) -> Json:
    known = {
        "main_category": "Home",
        "title": f"Thing {asin}",
        "average_rating": 4.5,
        "rating_number": 12,
        "features": ["Sturdy"],
        "description": [],
        "price": 9.5,
        "store": "Acme",
        "categories": ["Home", "Things"],
        "details": {"Color": "Red"},
        "parent_asin": asin,
    }
    return {**known, **more}


def review(asin: str, at: int, **more: Any) -> Json:
    return {"rating": 5.0, "title": "Good", "text": f"I like {asin}.", "parent_asin": asin, "timestamp": at, **more}


def bought(asin: str, at: int, split: str = "history") -> Json:
    return {"product_info": product(asin), "review": review(asin, at), "split": split}


def asked(user: str, kind: str, asin: str, at: int, text: str = "something nice") -> Json:
    target = {"product_info": product(asin), "review": review(asin, at)}
    return {"user_id": user, "task": text, "type": kind, "timestamp": at, "target": target}


def contents() -> dict[str, Any]:
    """The files of a sound shop: users ann and bob with histories, cy without."""
    return {
        PRODUCTS_1: {asin: product(asin) for asin in ("P1", "P2", "P3")},
        PRODUCTS_2: {asin: product(asin) for asin in ("P4", "P5")},
        HISTORY_1: {"ann": [bought("P2", 20), bought("P1", 10), bought("P3", 30, "train"), bought("P4", 40, "test")]},
        HISTORY_2: {"bob": [bought("P1", 15)]},
        PROFILES: {user: {"user_profile": {"Gender": "Female", "Age": "25-34"}} for user in ("ann", "bob")},
        INSTRUCTIONS: {
            "train": [asked("ann", "search", "P3", 30, "something else")],
            "test": [
                asked("ann", "review", "P4", 40),
                asked("bob", "recommend", "P5", 50),
                asked("cy", "search", "P1", 60),
            ],
        },
    }


def write_shop(folder: Path, change: Change | None = None) -> Path:
    """Write the shop; the folder, for use as it is."""
    files = contents()
    if change is not None:
        change(files)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / name).write_bytes(raw)
    return folder
