"""Cards: every wrong one is refused with its file, its field and what is allowed, and names are compared whole."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from fakes.make import MODELS, grounder_card, model, planner_card

from grounding.cards import ChatCard, GrounderCard, PlannerCard, find_card, read_card, read_cards
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
        (changed("endpoint", to={"url": "x"}), "endpoint", "Known fields: base_url, key_variable, how_to_serve."),
        (changed("endpoint", to={"key": "sk-1"}), "endpoint", "Known fields: base_url, key_variable, how_to_serve."),
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
            {**CARD, "prefill": "(", "parameters": {"continue_final_message": False}},
            "field parameters: continue_final_message can't be set here",
        ),
        (changed("prefill", to=""), "field prefill: is empty; leave it out"),
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


# --- finding ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "mine.yaml", CARD)
    write(tmp_path / "mine-two.yaml", {**CARD, "name": "mine2", "model": "org/mine-7B-v2", "aliases": []})
    return tmp_path


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


@pytest.mark.parametrize("ending", [".yaml", ".yml"])
def test_a_card_is_found_by_its_path(folder: Path, tmp_path: Path, ending: str) -> None:
    (tmp_path / "own").mkdir()
    path = write(tmp_path / "own" / f"mine{ending}", {**CARD, "title": "from the path"})
    assert find(str(path), folder).title == "from the path"


@pytest.mark.parametrize(
    "name", ["min", "mine-7B", "org/mine", "mine-7b-v2", "MINE", "org/mine-7B ", "", "7B", "mine-two"]
)
def test_a_part_of_a_name_is_not_the_name(folder: Path, name: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"no grounder is called {name!r}.")):
        find(name, folder)


@pytest.mark.parametrize(
    ("name", "hint"), [("mien", "Did you mean mine?"), ("randon", "Did you mean random?"), ("xyzzy", "")]
)
def test_a_near_miss_gets_a_hint_and_a_list(folder: Path, name: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        find(name, folder)
    assert ("Did you mean" in str(caught.value)) == bool(hint)
    assert hint in str(caught.value)
    assert "There are: ocr, random, mine2, mine; or give the path of a card (.yaml)" in str(caught.value)


# --- the cards that come along ----------------------------------------------------------------------------------------

BUNDLED: list[tuple[str, type[ChatCard]]] = [("grounders", GrounderCard), ("planners", PlannerCard)]


@pytest.mark.parametrize(("kind", "card_type"), BUNDLED)
def test_all_bundled_cards_are_right_and_can_be_told_apart(kind: str, card_type: type[ChatCard]) -> None:
    cards = read_cards(MODELS / kind, card_type)
    assert len(cards) == len(list((MODELS / kind).iterdir())) > 0
    names = [name for card in cards for name in {card.name, card.model, *card.aliases}]
    assert len(names) == len(set(names))
    for card in cards:
        assert card.source
        assert card.title
        assert card.endpoint.base_url or card.endpoint.how_to_serve
        for name in {card.name, card.model, *card.aliases}:
            assert find_card(name, MODELS / kind, card_type, builtin=(), kind=kind) == card


GROUNDERS = read_cards(MODELS / "grounders", GrounderCard)


@pytest.mark.parametrize(
    ("alias", "model"),
    [
        ("gta1", "Salesforce/GTA1-7B-2507"),
        ("uground", "osunlp/UGround-V1-7B"),
        ("os-atlas", "OS-Copilot/OS-Atlas-Base-7B"),
        ("os-atlas-pro", "OS-Copilot/OS-Atlas-Pro-7B"),
        ("aria-ui", "Aria-UI/Aria-UI-base"),
        ("ui-tars", "ByteDance-Seed/UI-TARS-1.5-7B"),
        ("gui-actor", "microsoft/GUI-Actor-7B-Qwen2.5-VL"),
        ("showui", "showlab/ShowUI-2B"),
        ("gui-r1", "ritzzai/GUI-R1/GUI-R1-7B"),
        ("gui-owl", "mPLUG/GUI-Owl-7B"),
        ("seeclick", "cckevinn/SeeClick"),
        ("qwen2.5-vl", "Qwen/Qwen2.5-VL-7B-Instruct"),
        ("qwen3-vl", "Qwen/Qwen3-VL-8B-Instruct"),
    ],
)
def test_a_short_name_means_one_release(alias: str, model: str) -> None:
    assert find_card(alias, MODELS / "grounders", GrounderCard, builtin=(), kind="grounder").model == model


@pytest.mark.parametrize("card", GROUNDERS, ids=lambda card: card.name)
def test_what_every_bundled_grounder_states(card: GrounderCard) -> None:
    assert card.family is not None
    assert card.revision
    assert card.disagreements
    assert "som" not in (card.name, *card.aliases)
    if card.serving.how not in ("vllm", "vllm-flags"):
        return
    # What is shown to the user and what is given to a server that is started here are the same.
    shown = shlex.split(card.endpoint.how_to_serve.partition("; then")[0])
    flags = list(card.serving.flags)
    assert shown[shown.index("8000") + 1 :][-len(flags) :] == flags
    assert card.model in shown
    assert card.parameters["temperature"] == 0
    assert "repetition_penalty" in card.parameters  # The checkpoint's own would be taken otherwise.
    if card.image.max_pixels is not None:
        limits = {"min_pixels": card.image.min_pixels, "max_pixels": card.image.max_pixels}
        assert msgspec.json.decode(flags[flags.index("--mm-processor-kwargs") + 1]) == limits


@pytest.mark.parametrize("path", sorted(MODELS.glob("*/*.yaml")), ids=lambda path: path.stem)
def test_no_bundled_card_holds_a_key(path: Path) -> None:
    assert not re.search(r"sk-[A-Za-z0-9]{8}|Bearer ", path.read_text(encoding="utf-8"))


# --- identity ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "x"},
        {"aliases": ["x"]},
        {"price": {"input_usd": 1, "output_usd": 2, "date": "x"}},
        {"endpoint": {"base_url": "http://127.0.0.1:2/v1", "key_variable": "TEST_KEY", "how_to_serve": "x"}},
        {"notes": "x"},
        {"source": "x"},
        {"max_connections": 3},
        {"timeout_s": 3},
        {"takes": ["seed"]},
        {"serving": {"how": "vllm-flags", "reason": "x", "flags": ["--x"]}},
        {"published": [{"benchmark": "x", "value": 1, "source": "x"}]},
        {"disagreements": ["x"]},
        {"family": "qwen3_vl"},
    ],
)
def test_what_can_not_change_an_answer_leaves_the_identity(fields: dict[str, Any]) -> None:
    assert identity(**fields) == identity()


def test_the_order_of_parameters_is_no_difference() -> None:
    assert identity(parameters={"a": 1, "b": 2}) == identity(parameters={"b": 2, "a": 1})


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
