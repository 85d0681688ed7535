"""The bundled shop: what it promises, and that it can be made again."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from grounding.webagents.personalwab.check import inspect_shop
from grounding.webagents.personalwab.layout import PROFILE_FIELDS
from grounding.webagents.personalwab.loader import load_shop
from grounding.webagents.personalwab.records import ShopDataset

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "datasets" / "sample-shop"
CATEGORIES = {
    "Electronics",
    "Home and Kitchen",
    "Grocery and Gourmet Food",
    "Clothing, Shoes, and Jewelry",
    "Health and Household",
}
GENDERS = {"Female", "Male"}
AGES = {"Under 18", "18-24", "25-34", "35-44", "45-49", "50-55", "56+"}
OCCUPATIONS = {
    *("Academic/Educator", "Artist", "Clerical/admin", "College/grad student", "Customer service"),
    *("Doctor/health care", "Executive/managerial", "Farmer", "Homemaker", "K-12 student", "Lawyer", "Programmer"),
    *("Retired", "Sales/Marketing", "Scientist", "Self-employed", "Technician/Engineer", "Tradesman/Craftsman"),
    *("Unemployed", "Writer", "Other"),
}
ASPECTS = {"Average Rating", "Number of Ratings", "Price", "Store", "Material", "Size", "Weight", "Brand"}
LEVELS = {"High", "Medium", "Low"}


def read(name: str) -> Any:
    return json.loads((SAMPLE / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shop() -> ShopDataset:
    return load_shop("sample-shop", splits=("train", "test"))


def test_the_whole_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*")) < 5_000_000


def test_it_is_sound() -> None:
    found = inspect_shop("sample-shop")
    assert found.problems == ()
    assert len(found.warnings) == 3


def test_counts(shop: ShopDataset) -> None:
    assert len(shop.users) >= 60
    assert len(shop.products) >= 400
    assert {product.main_category for product in shop.products.values()} == CATEGORIES
    kinds = Counter((task.split, task.type) for task in shop.tasks)
    for split in ("train", "test"):
        of_split = sum(count for (one, _), count in kinds.items() if one == split)
        assert of_split >= 200
        for kind in ("search", "recommend", "review"):
            assert 0.28 < kinds[split, kind] / of_split < 0.39  # type: ignore[index]


def test_histories_are_of_many_lengths_and_cut_by_time(shop: ShopDataset) -> None:
    lengths = sorted(len(user.behaviours) for user in shop.users.values())
    assert lengths[0] == 0
    assert 8 <= sum(length < 10 for length in lengths) <= 15
    assert lengths[-1] >= 40
    for user in shop.users.values():
        splits = [one.split for one in user.behaviours]
        times = [one.review.timestamp_ms for one in user.behaviours]
        assert splits == sorted(splits, key=["history", "train", "test"].index)
        assert all(earlier < later for earlier, later in itertools.pairwise(times))
        assert len({one.asin for one in user.behaviours}) == len(user.behaviours)
        if len(splits) >= 10:
            assert abs(splits.count("history") / len(splits) - 0.8) <= 0.1


def test_tasks_are_of_the_users_own_purchases(shop: ShopDataset) -> None:
    without = 0
    for task in shop.tasks:
        user = shop.users[task.user_id]
        own = [one for one in user.behaviours if one.asin == task.target_asin]
        if own:
            (behaviour,) = own
            assert (behaviour.split, behaviour.review) == (task.split, task.target_review)
            assert behaviour.review.timestamp_ms == task.timestamp_ms
        else:
            without += 1
            assert len(user.behaviours) < 3
            assert all(one.review.timestamp_ms < task.timestamp_ms for one in user.behaviours)
    assert 0 < without < 12


def test_profiles_keep_to_the_papers_options(shop: ShopDataset) -> None:
    for user in shop.users.values():
        profile = user.profile
        assert profile is not None
        assert profile.gender in GENDERS
        assert profile.age in AGES
        assert profile.occupation in OCCUPATIONS
        assert {profile.price_sensitivity, profile.diversity_preference, profile.interaction_complexity} <= LEVELS
        assert set(profile.focus_aspect.split(", ")) <= ASPECTS
        assert all(getattr(profile, name) for name in PROFILE_FIELDS.values())
    seen = [user.profile for user in shop.users.values() if user.profile]
    assert {profile.gender for profile in seen} == GENDERS
    assert {profile.age for profile in seen} == AGES
    assert {profile.occupation for profile in seen} == OCCUPATIONS
    for level in ("price_sensitivity", "diversity_preference", "interaction_complexity"):
        assert {getattr(profile, level) for profile in seen} == LEVELS


def test_instructions_do_not_name_the_product(shop: ShopDataset) -> None:
    for task in shop.tasks:
        assert shop.products[task.target_asin].title.lower() not in task.instruction.lower()
        assert task.target_asin not in task.instruction


def test_some_instructions_are_in_the_same_words(shop: ShopDataset) -> None:
    users = defaultdict(list)
    for task in shop.tasks:
        users[task.instruction].append(task.user_id)
    assert sum(len(set(one)) >= 3 for one in users.values()) >= 3
    assert any(len(one) > len(set(one)) for one in users.values())
    assert len(users) > 0.9 * len(shop.tasks)


def test_no_two_reviews_are_alike_and_none_is_a_draft(shop: ShopDataset) -> None:
    reviews = [one.review for user in shop.users.values() for one in user.behaviours]
    assert len({review.text for review in reviews}) > 0.99 * len(reviews)
    texts = [review.text for review in reviews] + [task.instruction for task in shop.tasks]
    for text in (*texts, *(product.title for product in shop.products.values())):
        assert not re.search(
            r"[<>$|{}]|  |,\.(?!\.)|\?\.| ,|!\.|\bthese (is|was)\b|\b[Tt]hey (is|has|was|goes)\b", text
        )
        assert text == text.strip() != ""
    assert {review.rating for review in reviews} == {1.0, 2.0, 3.0, 4.0, 5.0}


def test_length_follows_the_profile(shop: ShopDataset) -> None:
    words = defaultdict(list)
    asked = defaultdict(list)
    for user in shop.users.values():
        assert user.profile is not None
        words[user.profile.interaction_complexity] += [len(one.review.text.split()) for one in user.behaviours]
    for task in shop.tasks:
        profile = shop.users[task.user_id].profile
        assert profile is not None
        asked[profile.interaction_complexity].append(len(task.instruction.split()))
    for found in (words, asked):
        means = [sum(found[level]) / len(found[level]) for level in ("Low", "Medium", "High")]
        assert means[0] < 0.75 * means[1]
        assert means[1] < 0.9 * means[2]


def test_users_can_be_told_by_their_openings(shop: ShopDataset) -> None:
    owners = defaultdict(set)
    for user in shop.users.values():
        for one in user.behaviours:
            owners[" ".join(one.review.text.lower().split()[:3])].add(user.id)
    of_one = sum(
        len(owners[" ".join(one.review.text.lower().split()[:3])]) == 1
        for user in shop.users.values()
        for one in user.behaviours
    )
    assert of_one > 0.5 * sum(len(user.behaviours) for user in shop.users.values())


def test_the_recommender_beats_what_sells_most() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    found = re.search(r"recall at 10 is ([\d.]+) \(NDCG ([\d.]+)\).* is ([\d.]+)\s\(NDCG ([\d.]+)\)", readme, re.DOTALL)
    assert found is not None
    recall, ndcg, popular_recall, popular_ndcg = map(float, found.groups())
    assert recall > 3 * popular_recall
    assert ndcg > 3 * popular_ndcg


def test_the_numbers_are_those_of_the_checkpoint() -> None:
    torch = pytest.importorskip("torch")
    tensors = torch.load(SAMPLE / "sasrec.pth", weights_only=True)
    numbers = read("sample_ids.json")
    assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))
    assert tensors["item_emb.weight"].shape[0] == len(numbers) + 1


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_it_can_be_made_again(tmp_path: Path) -> None:
    """JSON to the byte; the checkpoint by its tensors where the same versions and processor made it, else by worth."""
    import torch

    subprocess.run(
        [sys.executable, "-m", "tools.sample_shop.build", "--out", str(tmp_path)], cwd=ROOT, check=True, timeout=280
    )
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {path.name for path in SAMPLE.iterdir()}
    for name in sorted(made - {"README.md", "made-with.json", "sasrec.pth"}):
        assert (tmp_path / name).read_bytes() == (SAMPLE / name).read_bytes(), name
    tensors, known = (torch.load(folder / "sasrec.pth", weights_only=True) for folder in (tmp_path, SAMPLE))
    assert {name: tensor.shape for name, tensor in tensors.items()} == {
        name: tensor.shape for name, tensor in known.items()
    }
    if (tmp_path / "made-with.json").read_bytes() == (SAMPLE / "made-with.json").read_bytes():
        assert (tmp_path / "README.md").read_bytes() == (SAMPLE / "README.md").read_bytes()
        for name, tensor in tensors.items():
            assert torch.allclose(tensor, known[name], atol=1e-6), name
    else:
        recalls = [
            float(re.findall(r"recall at 10 is ([\d.]+)", (folder / "README.md").read_text(encoding="utf-8"))[0])
            for folder in (tmp_path, SAMPLE)
        ]
        assert recalls[0] == pytest.approx(recalls[1], abs=0.06)
