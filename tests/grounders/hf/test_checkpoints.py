"""Finding a checkpoint's files, telling two apart, and the reasons for which one is refused. No torch needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.make import bundled_grounders
from PIL import Image

from grounding.cards import GrounderCard, find_card
from grounding.data.images import picture_sizes, prepare_picture
from grounding.errors import UserError
from grounding.grounders.hf import HfOptions
from grounding.grounders.hf.generation import as_seen, prepare_prompt
from grounding.grounders.hf.loading import checkpoint_identity, local_folder, weight_files
from grounding.records import Query, Screenshot, Size

CARDS = Path(__file__).parents[3] / "models" / "grounders"


def card(name: str) -> GrounderCard:
    return find_card(name, CARDS, GrounderCard, builtin=(), kind="grounder")


def write_checkpoint(folder: Path, weights: bytes = b"\0" * 100) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    header = json.dumps({"__metadata__": {}, "head.a": {}, "other.b": {}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + weights)
    return folder


def test_a_folder_an_id_and_what_is_neither(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "it")
    assert local_folder(str(folder)) == folder
    assert local_folder("Qwen/Qwen2.5-VL-7B-Instruct") is None
    for wrong in ("./nothing", str(tmp_path / "nothing"), "nothing", "a/b/c", str(folder / "config.json")):
        with pytest.raises(UserError, match="neither a folder nor an id"):
            local_folder(wrong)
    with pytest.raises(UserError, match=r"no config\.json there"):
        local_folder(str(tmp_path))


def test_weights_are_found_in_one_file_and_in_shards(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path)
    assert weight_files(folder, "head.") == {"head.a": folder / "model.safetensors"}
    index = {"metadata": {"total_size": 1}, "weight_map": {"head.a": "1.safetensors", "other.b": "2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert weight_files(folder, "head.") == {"head.a": folder / "1.safetensors"}
    (folder / "model.safetensors.index.json").write_text("[", encoding="utf-8")
    with pytest.raises(UserError, match=r"index\.json: can't be read"):
        weight_files(folder, "head.")


def test_identity_follows_the_content_of_a_folder_and_not_its_place(tmp_path: Path) -> None:
    gta1 = card("gta1")
    large = bytes(3 * 1024 * 1024)
    one = checkpoint_identity(gta1, HfOptions(model_path=str(write_checkpoint(tmp_path / "one", large))))
    moved = checkpoint_identity(gta1, HfOptions(model_path=str(write_checkpoint(tmp_path / "two", large))))
    trained = bytes([1]) * len(large)
    other = checkpoint_identity(gta1, HfOptions(model_path=str(write_checkpoint(tmp_path / "three", trained))))
    assert one == moved
    assert one != other
    assert checkpoint_identity(gta1, HfOptions()) == "Salesforce/GTA1-7B-2507@main"


def query(path: Path, size: tuple[int, int]) -> Query:
    shot = Screenshot(path=str(path), size=Size(width=size[0], height=size[1]), sha256="0")
    return Query(step_id="1/1", key="k", screenshot=shot, instruction="the {width} button")


@pytest.mark.needs("hf")
def test_the_prompt_is_the_cards_and_the_picture_the_servers(tmp_path: Path) -> None:
    Image.effect_noise((301, 199), 90).convert("RGB").save(tmp_path / "a.png")
    asked, gta1 = query(tmp_path / "a.png", (301, 199)), card("gta1")
    prompt = prepare_prompt(gta1, asked)
    system, user = prompt.messages
    assert system["content"][0]["text"].startswith("You are an expert UI element locator.")
    assert "height 196 and width 308" in system["content"][0]["text"]
    assert user == {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "the {width} button"}]}
    sent = prepare_picture(asked.screenshot, gta1.image)
    assert prompt.sizes == sent.sizes
    with Image.open(tmp_path / "a.png") as original:
        assert prompt.image.tobytes() == original.resize((308, 196), Image.Resampling.BICUBIC).tobytes()


RULES = {each.name: each.image for each in bundled_grounders() if each.image.fit is None and each.image.canvas is None}


@pytest.mark.needs("hf")
@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.resize != "none"])
def test_qwens_own_resizing_gives_the_size_that_coordinates_are_read_in(name: str) -> None:
    for width, height in ((1920, 1080), (1080, 2340), (3840, 2160), (7680, 4320), (640, 101), (60, 40)):
        seen = picture_sizes(Size(width=width, height=height), RULES[name]).model
        made = as_seen(Image.new("RGB", (width, height)), RULES[name], seen)
        assert made.size == (seen.width, seen.height)
