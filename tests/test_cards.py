"""Cards: every wrong one is refused with its file, its field and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from fakes.make import grounder_card, planner_card

from grounding.cards import ChatCard, GrounderCard, PlannerCard, read_card
from grounding.errors import UserError

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


def test_a_card_in_full(tmp_path: Path) -> None:
    card = read_card(write(tmp_path / "mine.yaml", CARD), GrounderCard)
    assert (card.name, card.model, card.answer.space, card.user[1].text) == (
        "mine",
        "org/mine-7B",
        "rel_1000",
        "{instruction}",
    )
    assert not card.uses_history


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
        (changed("answer", "space", to=REMOVED), "answer", "missing required field `space`"),
        (changed("price", to={"input_usd": 1, "output_usd": 2}), "price", "missing required field `date`"),
        # Unknown.
        (changed("modle", to="x"), "(top level)", "unknown field `modle`. Known fields: name, title, model, user,"),
        (changed("image", to={"size": 5}), "image", "Known fields: resize, factor, min_pixels, max_pixels, send."),
        (
            changed("answer", "regex", to="x"),
            "answer",
            "Known fields: form, space, match, within, pattern, refusal, whole_numbers.",
        ),
        (
            changed("endpoint", to={"url": "x"}),
            "endpoint",
            "Known fields: base_url, key_variable, lists_models, how_to_serve.",
        ),
        (
            changed("endpoint", to={"key": "sk-1"}),
            "endpoint",
            "Known fields: base_url, key_variable, lists_models, how_to_serve.",
        ),
        (changed("user", 1, "txt", to="x"), "user", "unknown field `txt`"),
        # Not one of the choices.
        (changed("answer", "form", to="polygon"), "answer.form", "Allowed: point, box, point_or_box."),
        (changed("answer", "space", to="pixels"), "answer.space", f"Allowed: {SPACES}."),
        (changed("answer", "match", to="best"), "answer.match", "Allowed: first, last."),
        (changed("image", "resize", to="big"), "image.resize", "Allowed: none, client, server."),
        (changed("image", "send", to="url"), "image.send", "Allowed: base64, file."),
        (changed("user", 0, "image", to="shot"), "user.image", "Allowed: screenshot."),
        (changed("takes", to=["top_p"]), "takes", "Allowed: temperature, seed."),
        (changed("family", to="qwen9_vl"), "family", "Allowed: qwen_vl, qwen2_vl, qwen2_5_vl, qwen3_vl, aria,"),
        (changed("serving", to={"how": "sglang"}), "serving.how", "Allowed: vllm, vllm-flags, in-process, recorded."),
        (changed("serving", to={"flag": []}), "serving", "Known fields: how, reason, flags."),
        (changed("answer", "whole_numbers", to="grid"), "answer.whole_numbers", f"Allowed: {SPACES}."),
        (changed("image_tokens", to={"rule": "foo"}), "image_tokens.rule", "by rule: openai_tiles (base, per_tile); "),
        (changed("image_tokens", to={"rule": "fixed"}), "image_tokens", "`tokens`. Allowed, by rule: openai_tiles"),
        (changed("image_tokens", to={"rule": "fixed", "tokens": 0}), "image_tokens.tokens", "Expected `int` >= 1"),
        (changed("retires", to="soon"), "retires", "Expected `date | null`"),
        (changed("requests_per_minute", to=0), "requests_per_minute", "Expected `int` >= 1"),
        (changed("published", to=[{"value": 1}]), "published", "missing required field `benchmark`"),
        # Of another type.
        (changed("name", to=5), "name", "Expected `str`, got `int`"),
        (changed("aliases", to="one"), "aliases", "Expected `array`, got `str`"),
        (changed("user", to="{instruction}"), "user", "Expected `array`, got `str`"),
        (changed("parameters", to=["temperature"]), "parameters", "Expected `object`, got `array`"),
        (changed("image", "factor", to="28"), "image.factor", "Expected `int | null`, got `str`"),
        (changed("image", "factor", to=28.5), "image.factor", "Expected `int | null`, got `float`"),
        (changed("price", to=2.5), "price", "Expected `object | null`, got `float`"),
        (changed("timeout_s", to="10 s"), "timeout_s", "Expected `float`, got `str`"),
        (changed("answer", to=None), "answer", "Expected `object`, got `null`"),
        # Of no sense.
        (changed("max_connections", to=0), "max_connections", "Expected `int` >= 1"),
        (changed("timeout_s", to=0), "timeout_s", "Expected `float` > 0"),
        (changed("image", to={**RESIZED, "factor": 0}), "image.factor", "Expected `int` >= 1"),
        (changed("image", to={**RESIZED, "min_pixels": -1}), "image.min_pixels", "Expected `int` >= 1"),
        (changed("image", to={**RESIZED, "max_pixels": 0}), "image.max_pixels", "Expected `int` >= 1"),
        (
            changed("price", to={"input_usd": -1, "output_usd": 2, "date": "x"}),
            "price.input_usd",
            "Expected `float` >= 0.0",
        ),
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
        (changed("user", to=[]), "field user: expected exactly one part `image: screenshot`"),
        (
            changed("user", to=[{"image": "screenshot"}, {"image": "screenshot"}]),
            "field user: expected exactly one part `image: screenshot`",
        ),
        (
            changed("user", to=[{"image": "screenshot"}, {"image": "screenshot", "text": "x"}]),
            "field user[1]: expected either `text` or `image: screenshot`, exactly one of them",
        ),
        (
            changed("user", to=[{}, {"image": "screenshot"}]),
            "field user[0]: expected either `text` or `image: screenshot`, exactly one of them",
        ),
        (
            changed("image", to={"resize": "client"}),
            "field image: resize client needs factor, min_pixels, max_pixels",
        ),
        (
            changed("image", to={"resize": "server", "factor": 28, "max_pixels": 5}),
            "field image: resize server needs min_pixels",
        ),
        (
            changed("image", to={**RESIZED, "min_pixels": 8847361}),
            "field image: min_pixels 8847361 is more than max_pixels 8847360",
        ),
        (
            changed("image", to={**RESIZED, "send": "file"}),
            "field image.send: file:// sends the screenshot untouched, so image.resize must be none or server",
        ),
        (changed("parameters", to={"messages": []}), "field parameters: messages can't be set here"),
        (
            {**CARD, "writes": "({x})"},
            "field writes: expected {x} and {y}, or {x1}, {y1}, {x2} and {y2}, each of them once",
        ),
        (
            {**CARD, "writes": "({x},{y}) or ({x},{y})"},
            "field writes: expected {x} and {y}, or {x1}, {y1}, {x2} and {y2}, each of them once",
        ),
        ({**CARD, "prefill": "[", "writes": "({x},{y})"}, "field writes: must begin with the prefill"),
        (
            {**CARD, "prefill": "(", "parameters": {"continue_final_message": False}},
            "field parameters: continue_final_message can't be set here",
        ),
        (changed("prefill", to=""), "field prefill: is empty; leave it out"),
        (
            changed("output_tokens", to={"low": 5, "expected": 4, "high": 9, "source": "x"}),
            "field output_tokens: expected low <= expected <= high",
        ),
        (changed("refuses", to=["seed"]) | {"takes": ["seed"]}, "field refuses: seed is also in parameters or takes"),
        (changed("serving", to={"how": "recorded"}), "field serving.reason: how recorded needs the reason"),
        (changed("serving", to={"how": "in-process"}), "field serving.reason: how in-process needs the reason"),
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
        (changed("answer", "within", to="(x)(y)"), "field answer.within: has 2 groups; the part to be read needs 1"),
        (
            changed("answer", "pattern", to=[r"(\d) (\d)", r"(\d)"]),
            "field answer.pattern: has 1 groups; form point needs 2",
        ),
        (changed("parameters", to={"stream": True, "n": 2}), "field parameters: stream, n can't be set here"),
    ],
)
def test_a_card_that_makes_no_sense_is_refused(tmp_path: Path, card: dict[str, Any], message: str) -> None:
    assert refusal(tmp_path, card) == message


@pytest.mark.parametrize(
    ("form", "pattern", "needed"),
    [
        ("point", r"\d+", "has 0 groups; form point needs 2"),
        ("point", r"(\d+)", "has 1 groups; form point needs 2"),
        ("point", r"(\d+),(\d+),(\d+)", "has 3 groups; form point needs 2"),
        ("point", r"(\d),(\d),(\d),(\d)", "has 4 groups; form point needs 2"),
        ("box", r"(\d),(\d)", "has 2 groups; form box needs 4"),
        ("point_or_box", r"(\d),(\d),(\d)", "has 3 groups; form point_or_box needs 2 or 4"),
        ("point", r"(\d+,(\d+)", "not a regular expression"),
        ("box", r"*", "not a regular expression"),
    ],
)
def test_a_pattern_has_as_many_groups_as_its_form(tmp_path: Path, form: str, pattern: str, needed: str) -> None:
    card = changed("answer", to={"form": form, "space": "rel_1", "pattern": pattern})
    assert refusal(tmp_path, card).startswith(f"field answer.pattern: {needed}")


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("point", r"x=(\d+) y=(\d+)"),
        ("point", r"(?:x|(?P<a>\d)) (?P<b>\d)"),
        ("box", r"(\d),(\d),(\d),(\d)"),
        ("point_or_box", r"(\d),(\d)"),
        ("point_or_box", r"(\d),(\d)(?:,(\d),(\d))?"),
    ],
)
def test_patterns_that_fit(tmp_path: Path, form: str, pattern: str) -> None:
    card = changed("answer", to={"form": form, "space": "rel_1", "pattern": pattern})
    assert read_card(write(tmp_path / "c.yaml", card), GrounderCard).answer.patterns == (pattern,)


def test_several_patterns_keep_their_order(tmp_path: Path) -> None:
    patterns = [r"b(\d),(\d)", r"a(\d),(\d)"]
    card = read_card(write(tmp_path / "c.yaml", changed("answer", "pattern", to=patterns)), GrounderCard)
    assert card.answer.patterns == tuple(patterns)


@pytest.mark.parametrize("field", ["refusal", "within", "pattern"])
def test_what_is_no_pattern_is_refused(tmp_path: Path, field: str) -> None:
    message = refusal(tmp_path, changed("answer", field, to="["))
    assert message.startswith(f"field answer.{field}: not a regular expression")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "field (top level): Expected `object`, got `null`"),
        ("- 1", "field (top level): Expected `object`, got `array`"),
        ("just words", "field (top level): Expected `object`, got `str`"),
        ("name: [", "not valid YAML"),
        ("name: a\n\tmodel: b", "not valid YAML"),
        ("!!python/object/apply:os.system ['true']", "not valid YAML"),
        (yaml.safe_dump(CARD) + "parameters: {1: 2}", "field parameters: Expected `str`, got `int`"),
        (
            yaml.safe_dump(CARD) + "price: {input_usd: 1, output_usd: 2, date: 2026-11-21}",
            "field price.date: Expected `str`, got `date`",
        ),
    ],
)
def test_files_that_are_no_cards(tmp_path: Path, text: str, words: str) -> None:
    assert refusal(tmp_path, text).startswith(words)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\xd8", b"name: \x80", "naïve: é".encode("latin-1")])
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.yaml").write_bytes(content)
    with pytest.raises(UserError, match=r"c\.yaml: not valid YAML"):
        read_card(tmp_path / "c.yaml", GrounderCard)


def test_a_card_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.yaml: the card can't be read: No such file"):
        read_card(tmp_path / "nothing.yaml", PlannerCard)
    with pytest.raises(UserError, match="the card can't be read: Is a directory"):
        read_card(tmp_path, PlannerCard)


def test_a_planner_has_no_answer_rule(tmp_path: Path) -> None:
    assert "unknown field `answer`" in refusal(tmp_path, CARD, PlannerCard)


def test_history_is_used_where_the_prompt_has_a_place_for_it() -> None:
    screen = {"image": "screenshot"}
    assert planner_card(user=[screen, {"text": "History: {history}"}]).uses_history
    assert planner_card(system="{history}").uses_history
    assert not planner_card(user=[screen, {"text": "history"}], system="{instruction}").uses_history


@pytest.mark.parametrize(
    ("fields", "order"),
    [
        ({}, "image, text"),
        ({"system": "s"}, "system, image, text"),
        (
            {"user": [{"text": "a"}, {"image": "screenshot"}, {"text": "b"}], "prefill": "("},
            "text, image, text, prefill",
        ),
    ],
)
def test_the_order_of_a_prompt_in_words(fields: dict[str, Any], order: str) -> None:
    assert grounder_card(**fields).order == order
