"""Cards: every wrong one is refused with its file, its field and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from fakes.make import grounder_card, model

from grounding.cards import ChatCard, GrounderCard, find_card, read_card
from grounding.errors import UserError
from grounding.grounders.hf.loading import HfOptions, hf_identity

CARD: dict[str, Any] = {
    "name": "mine",
    "title": "My model",
    "model": "org/mine-7B",
    "aliases": ["mine-7b", "other-org/mine"],
    "user": [{"image": "screenshot"}, {"text": "{instruction}"}],
    "answer": {"form": "point", "space": "rel_1000"},
}
REMOVED = object()


def write(path: Path, card: dict[str, Any] | str) -> Path:
    path.write_text(card if isinstance(card, str) else yaml.safe_dump(card), encoding="utf-8")
    return path


def changed(*keys: str | int, to: object) -> dict[str, Any]:
    """The card with one place in it changed, made or removed."""
    card: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(CARD))
    place: Any = card
    for key in keys[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    if to is REMOVED:
        del place[keys[-1]]
    else:
        place[keys[-1]] = to
    return card


def refusal(tmp_path: Path, card: dict[str, Any] | str, card_type: type[ChatCard] = GrounderCard) -> str:
    path = write(tmp_path / "bad card.yaml", card)
    with pytest.raises(UserError) as caught:
        read_card(path, card_type)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


SPACES = "original_px, sent_px, resized_px, rel_1, rel_999, rel_1000"
RESIZED = {"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 8847360}


@pytest.mark.parametrize(
    ("card", "field", "words"),
    [
        # Missing.
        *[
            (changed(name, to=REMOVED), "(top level)", f"missing required field `{name}`")
            for name in ("name", "title", "model", "user", "answer")
        ],
        (changed("answer", "form", to=REMOVED), "answer", "missing required field `form`"),
        (changed("price", to={"input_usd": 1, "output_usd": 2}), "price", "missing required field `date`"),
        # Unknown.
        (changed("modle", to="x"), "(top level)", "unknown field `modle`. Known fields: name, title, model, user,"),
        (changed("image", to={"size": 5}), "image", "Known fields: resize, first, fit, canvas, factor, min_pixels,"),
        (
            changed("endpoint", to={"key": "sk-1"}),
            "endpoint",
            "Known fields: base_url, key_variable, lists_models, interface, headers, how_to_serve.",
        ),
        (changed("user", 1, "txt", to="x"), "user", "unknown field `txt`"),
        # Not one of the choices.
        (changed("answer", "space", to="pixels"), "answer.space", f"Allowed: {SPACES}."),
        (changed("user", 0, "image", to="shot"), "user.image", "Allowed: screenshot."),
        (changed("family", to="qwen9_vl"), "family", "Allowed: qwen_vl, qwen2_vl, qwen2_5_vl, qwen3_vl, aria,"),
        (changed("image_tokens", to={"rule": "foo"}), "image_tokens.rule", "by rule: openai_tiles (base, per_tile); "),
        (changed("image_tokens", to={"rule": "fixed"}), "image_tokens", "`tokens`. Allowed, by rule: openai_tiles"),
        # Of another type.
        (changed("aliases", to="one"), "aliases", "Expected `array`, got `str`"),
        (changed("answer", to=None), "answer", "Expected `object`, got `null`"),
        # Of no sense.
        (changed("image", to={**RESIZED, "first": {"max_pixels": 9}}), "image.first", "missing required field `sides`"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    tmp_path: Path, card: dict[str, Any], field: str, words: str
) -> None:
    message = refusal(tmp_path, card)
    assert message.startswith(f"field {field}: ")
    assert words in message


@pytest.mark.parametrize(
    ("card", "message"),
    [
        (changed("user", to=[{"text": "x"}]), "field user: expected exactly one part `image: screenshot`"),
        (
            changed("user", to=[{"image": "screenshot"}, {"image": "screenshot", "text": "x"}]),
            "field user[1]: expected either `text` or `image: screenshot`, exactly one of them",
        ),
        (
            changed("image", to={"resize": "client"}),
            "field image: resize client needs factor, min_pixels, max_pixels",
        ),
        (
            changed("image", to={**RESIZED, "min_pixels": 8847361}),
            "field image: min_pixels 8847361 is more than max_pixels 8847360",
        ),
        (
            changed("image", to={**RESIZED, "resize": "server", "first": {"max_pixels": 9, "sides": "floor"}}),
            "field image.first: only this package scales so; image.resize must be client",
        ),
        *[
            (
                changed("image", to={**rule, "fit": {"max_side_px": 9, "max_patches": 9, "patch_px": 9}}),
                "field image.fit: needs image.resize client, and neither factor nor first",
            )
            for rule in ({"resize": "server"}, RESIZED)
        ],
        (
            changed("image", to={**RESIZED, "first": {"min_pixels": 10, "max_pixels": 9, "sides": "floor"}}),
            "field image.first: min_pixels 10 is more than max_pixels 9",
        ),
        (
            changed("image", to={**RESIZED, "send": "file"}),
            "field image.send: file:// sends the screenshot untouched, so image.resize must be none or server",
        ),
        (
            {**CARD, "image": {**RESIZED, "resize": "auto"}, "answer": {"form": "point", "space": "sent_px"}},
            "field answer.space: sent_px is one size or another with image.resize auto; give resized_px",
        ),
        (changed("parameters", to={"messages": []}), "field parameters: messages can't be set here"),
        (
            {**CARD, "writes": "({x})"},
            "field writes: expected {x} and {y}, or {x1}, {y1}, {x2} and {y2}, each of them once",
        ),
        ({**CARD, "prefill": "[", "writes": "({x},{y})"}, "field writes: must begin with the prefill"),
        (
            {**CARD, "prefill": "(", "parameters": {"continue_final_message": False}},
            "field parameters: continue_final_message can't be set here",
        ),
        (
            changed("output_tokens", to={"low": 5, "expected": 4, "high": 9, "source": "x"}),
            "field output_tokens: expected low <= expected <= high",
        ),
        (changed("refuses", to=["seed"]) | {"takes": ["seed"]}, "field refuses: seed is also in parameters or takes"),
        (changed("serving", to={"how": "recorded"}), "field serving.reason: how recorded needs the reason"),
        *[
            (
                changed("serving", to={"how": "vllm-flags", **given}),
                "field serving: how vllm-flags needs the flags and the reason",
            )
            for given in ({}, {"reason": "x"}, {"flags": ["--x"]})
        ],
        (
            changed("answer", "whole_numbers", to="rel_1000"),
            "field answer.whole_numbers: is for space rel_1, where a 2 is outside; space is rel_1000",
        ),
        (changed("answer", "within", to="x.*"), "field answer.within: has 0 groups; the part to be read needs 1"),
        (
            changed("answer", "pattern", to=[r"(\d) (\d)", r"(\d)"]),
            "field answer.pattern: has 1 groups; form point needs 2",
        ),
    ],
)
def test_a_card_that_makes_no_sense_is_refused(tmp_path: Path, card: dict[str, Any], message: str) -> None:
    assert refusal(tmp_path, card) == message


@pytest.mark.parametrize(
    ("form", "pattern", "needed"),
    [
        ("point", r"(\d+)", "has 1 groups; form point needs 2"),
        ("box", r"(\d),(\d)", "has 2 groups; form box needs 4"),
        ("point", r"(\d+,(\d+)", "not a regular expression"),
    ],
)
def test_a_pattern_has_as_many_groups_as_its_form(tmp_path: Path, form: str, pattern: str, needed: str) -> None:
    card = changed("answer", to={"form": form, "space": "rel_1", "pattern": pattern})
    assert refusal(tmp_path, card).startswith(f"field answer.pattern: {needed}")


SMALL: dict[str, Any] = {
    "name": "mine",
    "title": "My model",
    "model": "org/mine-7B",
    "aliases": ["mine-7b", "other-org/mine"],
    "user": [{"image": "screenshot"}, {"text": "{instruction}"}],
    "answer": {"form": "point", "space": "rel_1000"},
}


def put(path: Path, card: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(card), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path / "mine.yaml", SMALL)
    put(tmp_path / "mine-two.yaml", {**SMALL, "name": "mine2", "model": "org/mine-7B-v2", "aliases": []})
    return tmp_path


def find(name: str, folder: Path) -> GrounderCard:
    return find_card(name, folder, GrounderCard, builtin=("ocr", "random"), kind="grounder")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mine", "mine"),
        ("mine-7b", "mine"),
        ("other-org/mine", "mine"),
        ("org/mine-7B", "mine"),
        ("org/mine-7B-v2", "mine2"),
        ("mine2", "mine2"),
    ],
)
def test_a_card_is_found_by_name_alias_and_id(folder: Path, name: str, found: str) -> None:
    assert find(name, folder).name == found


def test_a_card_that_extends_another_says_only_what_differs(folder: Path) -> None:
    base = {**SMALL, "source": "theirs", "published": [{"benchmark": "b", "value": 1, "source": "s"}], "timeout_s": 7}
    put(folder / "mine.yaml", base)
    own = {"name": "asked-so", "title": "Asked so", "extends": "mine.yaml", "user": [{"image": "screenshot"}]}
    put(folder / "asked.yaml", own)
    found, first = find("asked-so", folder), find("mine", folder)
    assert (found.model, found.answer, found.timeout_s) == (first.model, first.answer, 7)

    assert (len(found.user), found.aliases, found.published, found.source) == (1, (), (), "")
    assert find("org/mine-7B", folder) == first  # A model's id means the card that extends none.


def test_a_file_with_sizes_is_a_card_for_each(folder: Path) -> None:
    shared = {name: value for name, value in SMALL.items() if name not in ("name", "title", "model", "aliases")}
    sizes = [
        {"name": "big", "title": "Big", "model": "org/big"},
        {"name": "small", "title": "Small", "model": "org/small", "aliases": ["tiny"], "system": "You are small."},
    ]
    path = put(folder / "sized.yaml", {**shared, "timeout_s": 7, "sizes": sizes})
    big, small = find("org/big", folder), find("tiny", folder)
    assert (big.user, big.answer, big.timeout_s, big.system) == (small.user, small.answer, small.timeout_s, None)
    assert (small.name, small.model, small.system) == ("small", "org/small", "You are small.")
    assert read_card(path, GrounderCard) == big

    put(folder / "asked.yaml", {"name": "asked", "title": "t", "extends": "sized.yaml"})
    assert find("asked", folder).model == "org/big"
    wrong: list[Any] = [[], "small", ["small"]]
    for each in wrong:
        with pytest.raises(UserError, match=r"sized\.yaml: field sizes: expected a list"):
            read_card(put(path, {**shared, "sizes": each}), GrounderCard)


@pytest.mark.parametrize("named", ["not-there.yaml", "../mine.yaml", "asked.yaml", "mine-two.yaml"])
def test_what_can_not_be_extended_is_refused(folder: Path, named: str) -> None:
    put(folder / "mine-two.yaml", {"name": "two", "title": "t", "extends": "mine.yaml"})
    put(folder / "asked.yaml", {"name": "asked", "title": "t", "extends": named})
    with pytest.raises(UserError, match=r"asked\.yaml: field extends: "):
        find("asked", folder)


@pytest.mark.parametrize(
    ("name", "hint"), [("mien", "Did you mean mine?"), ("randon", "Did you mean random?"), ("xyzzy", "")]
)
def test_a_near_miss_gets_a_hint_and_a_list(folder: Path, name: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        find(name, folder)
    assert ("Did you mean" in str(caught.value)) == bool(hint)
    assert hint in str(caught.value)
    assert "There are: ocr, random, mine, mine2; or give the path of a card (.yaml)" in str(caught.value)


def identity(**fields: Any) -> str:
    return model(grounder_card(**fields), "http://127.0.0.1:1/v1").identity


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "m2"},
        {"system": "x"},
        {"user": [{"text": "{instruction}"}, {"image": "screenshot"}]},
        {"user": [{"image": "screenshot"}, {"text": "{instruction} "}]},
        {"parameters": {"temperature": 0}},
        {"image": {"resize": "server", "factor": 28, "min_pixels": 1, "max_pixels": 2}},
        {"answer": {"form": "point", "space": "rel_1"}},
        {"answer": {"form": "box", "space": "original_px"}},
        {"answer": {"form": "point", "space": "original_px", "match": "last"}},
        {"answer": {"form": "point", "space": "original_px", "pattern": r"(\d) (\d)"}},
        {"answer": {"form": "point", "space": "original_px", "refusal": "no"}},
        {"answer": {"form": "point", "space": "original_px", "within": "(x)"}},
        {"answer": {"form": "point", "space": "original_px", "whole_numbers": "rel_1000"}},
        {"prefill": "("},
        {"no_history": "None"},
        {"strip_suffix": "."},
        {"revision": "v2"},
    ],
)
def test_what_can_change_an_answer_changes_the_identity(fields: dict[str, Any]) -> None:
    assert identity(**fields) != identity()


def test_a_model_in_this_process_has_the_same_fields_and_its_own_weights() -> None:
    def here(checkpoint: str = "c", **fields: Any) -> str:
        card = grounder_card(**fields)
        return hf_identity(card, HfOptions(), dict(card.parameters), checkpoint)

    assert here() != identity()
    assert here(title="x", family="qwen3_vl", serving={"how": "vllm", "reason": "x"}) == here()
    assert here(system="x") != here()
    assert here(checkpoint="d") != here()
    assert here(revision="v2") == here(), "the checkpoint says it"


def test_the_prompt_hash_covers_the_prompt_and_nothing_else() -> None:
    assert grounder_card(title="x").prompt_hash == grounder_card(name="y", parameters={"seed": 1}).prompt_hash
    prompts: list[dict[str, Any]] = [
        {},
        {"system": ""},
        {"system": "x"},
        {"user": [{"text": "{instruction}"}, {"image": "screenshot"}]},
        {"user": [{"image": "screenshot"}, {"text": "{instruction}\n"}]},
        {"prefill": "("},
        {"no_history": "None"},
        {"strip_suffix": "."},
    ]
    assert len({grounder_card(**prompt).prompt_hash for prompt in prompts}) == len(prompts)
