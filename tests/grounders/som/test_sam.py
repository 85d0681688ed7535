"""SAM as the source of regions: masks to regions; the weights, where torch and transformers are installed."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grounders.som.screens import pixels, screen
from grounding.errors import UserError
from grounding.grounders.som import sam
from grounding.grounders.som.sam import SamProposer, mask_region


def mask(*boxes: tuple[int, int, int, int]) -> Any:
    made = np.zeros((100, 160), np.bool_)
    for left, top, right, bottom in boxes:
        made[top:bottom, left:right] = True
    return made


def test_the_point_of_a_ring_is_on_the_ring() -> None:
    ring = mask((20, 20, 80, 80))
    ring[30:70, 30:70] = False
    region = mask_region(ring)
    assert region is not None
    assert ring[int(region.point.y_px), int(region.point.x_px)]
    assert len(region.outlines) == 2


def test_the_identity_is_that_of_the_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "model.safetensors").write_bytes(b"same")
    assert SamProposer(str(tmp_path / "a")).identity == SamProposer(str(tmp_path / "b")).identity
    (tmp_path / "b" / "model.safetensors").write_bytes(b"other")
    assert SamProposer(str(tmp_path / "a")).identity != SamProposer(str(tmp_path / "b")).identity
    assert SamProposer("facebook/sam-vit-huge").identity.endswith("facebook/sam-vit-huge")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny SAM with random weights: its masks are noise."""
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    torch.manual_seed(0)
    vision = {
        "hidden_size": 16,
        "output_channels": 16,
        "num_pos_feats": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 64,
        "patch_size": 8,
        "mlp_dim": 16,
        "window_size": 4,
        "global_attn_indexes": [0],
    }
    prompt = {"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 4}
    decoder = {
        "hidden_size": 16,
        "mlp_dim": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 16,
    }
    config = transformers.SamConfig(vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder)
    processor = transformers.SamImageProcessor(
        size={"longest_edge": 64},
        pad_size={"height": 64, "width": 64},
        mask_size={"longest_edge": 32},
        mask_pad_size={"height": 32, "width": 32},
    )
    folder = tmp_path_factory.mktemp("sam")
    transformers.SamModel(config).save_pretrained(folder)
    transformers.SamProcessor(processor).save_pretrained(folder)
    return folder


@pytest.mark.needs("hf")
def test_regions_of_a_tiny_sam(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"points_per_crop": 4, "points_per_batch": 16, "pred_iou_thresh": -10.0, "stability_score_thresh": -1.0}
    monkeypatch.setattr(sam, "SETTINGS", settings)
    proposer = SamProposer(str(weights))
    proposer.check()
    regions = proposer.propose(pixels(screen().resize((160, 100))))
    assert regions
    for region in regions:
        assert 0 <= region.box.left_px <= region.point.x_px <= region.box.right_px <= 160
        assert 0 <= region.box.top_px <= region.point.y_px <= region.box.bottom_px <= 100


@pytest.mark.needs("hf")
@pytest.mark.parametrize("content", [None, "{}", '{"model_type": "bert"}'])
def test_a_folder_without_sam_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match=r"marks\.sam"):
        SamProposer(str(tmp_path)).check()
