"""A server's command line, the cards that none is started for, and the GPUs of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import grounder_card
from fakes.tuned import LAYER, PATCHES, write_checkpoint, write_peft

from grounding.cards import AdapterRule, GrounderCard
from grounding.cards.tuned import checkpoint_sha256
from grounding.errors import UserError
from grounding.serving.command import (
    ServerOptions,
    base_url,
    check_servable,
    check_weights,
    gpus,
    server_arguments,
    share,
)


def test_the_cards_flags_and_name_are_passed_one_by_one() -> None:
    card = grounder_card(model="org/m", serving={"how": "vllm-flags", "flags": ["--limit", '{"image":1}; rm -rf /']})
    assert server_arguments(card, ServerOptions(), 8001) == (
        *("vllm", "serve", "org/m", "--host", "127.0.0.1", "--port", "8001", "--served-model-name", "org/m"),
        *("--limit", '{"image":1}; rm -rf /'),
    )


def test_weights_in_a_folder_of_a_repository_are_fetched_by_hand_first() -> None:
    card = grounder_card(name="r", model="owner/many/one")
    with pytest.raises(UserError) as caught:
        check_weights(card, ServerOptions())
    for command in (
        "hf download owner/many --include 'one/*' --local-dir many",
        "grounding serve r --model many/one --port 8000",
        "--base-url http://127.0.0.1:8000/v1",
    ):
        assert command in str(caught.value)
    check_weights(card, ServerOptions(model="many/one"))
    check_weights(grounder_card(model="owner/one"), ServerOptions())


def test_the_users_flags_come_last_so_that_they_win() -> None:
    card = grounder_card(serving={"flags": ["--dtype", "half"]})
    options = ServerOptions(data_parallel_size=4, media_dir=Path("/data/x"), flags=("--dtype", "float32"))
    assert server_arguments(card, options, 1)[9:] == (
        *("--dtype", "half", "--data-parallel-size", "4", "--allowed-local-media-path", "/data/x"),
        *("--dtype", "float32"),
    )


def test_the_processor_is_told_the_cards_limits_unless_its_flags_do() -> None:
    image = {"resize": "auto", "factor": 28, "min_pixels": 3136, "max_pixels": 250_000}
    limits = ("--mm-processor-kwargs", '{"min_pixels": 3136, "max_pixels": 250000}')
    made = server_arguments(grounder_card(image=image), ServerOptions(), 1)
    assert made[-2:] == limits
    for own in (["--mm-processor-kwargs", "{}"], ["--mm-processor-kwargs={}"]):
        made = server_arguments(grounder_card(image=image, serving={"flags": own}), ServerOptions(), 1)
        assert made[-len(own) :] == tuple(own)
        assert not set(limits[1:]) & set(made)


@pytest.mark.parametrize(
    ("how", "way_out"), [("recorded", "--predictions FILE"), ("in-process", "grounding eval --grounder g")]
)
def test_other_cards_are_refused_with_the_reason_and_the_ways_out(how: str, way_out: str) -> None:
    with pytest.raises(UserError, match=r"its answer is a heat map\. ") as caught:
        check_servable(grounder_card(serving={"how": how, "reason": "its answer is a heat map."}))
    assert way_out in str(caught.value)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8/v1"),
        ("0.0.0.0", "http://127.0.0.1:8/v1"),
        ("::", "http://[::1]:8/v1"),
        ("gpu1", "http://gpu1:8/v1"),
    ],
)
def test_the_address_is_one_that_can_be_connected_to(host: str, url: str) -> None:
    assert base_url(host, 8) == url


def adapter(folder: Path, *, base: str = "org/base", **config: Any) -> GrounderCard:
    rule = AdapterRule(base=base, path=str(write_peft(folder, **config)), rank=8)
    return msgspec.structs.replace(grounder_card(name="a", model="a-1234"), adapter=rule)


def test_an_adapter_is_served_beside_its_base_under_a_rank_that_vllm_knows(tmp_path: Path) -> None:
    card = adapter(tmp_path, r=9)
    check_weights(card, ServerOptions())
    module = json.dumps({"name": "a-1234", "path": str(tmp_path), "base_model_name": "org/base"})
    assert server_arguments(card, ServerOptions(model="/ckpt", flags=("--dtype", "float32")), 1) == (
        *("vllm", "serve", "/ckpt", "--host", "127.0.0.1", "--port", "1", "--served-model-name", "org/base"),
        *("--enable-lora", "--max-lora-rank", "16", "--lora-modules", module, "--dtype", "float32"),
    )
    assert server_arguments(card, ServerOptions(), 1)[2] == "org/base"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"r": 1024}, "its adapter has rank 1024, and vLLM serves ranks up to 512"),
        ({"modules_to_save": ["lm_head"]}, r"can't serve an adapter with modules_to_save \(lm_head\)"),
        ({"use_dora": True}, "can't serve an adapter with use_dora"),
        ({"names": [LAYER, PATCHES]}, "a part of its adapter belongs to the vision tower"),
    ],
)
def test_what_vllm_can_not_run_is_told_before_it_is_started(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=rf"{said}.*grounding eval --grounder {tmp_path} --backend hf"):
        check_weights(adapter(tmp_path, **config), ServerOptions())


def test_an_adapters_base_must_be_there_and_the_right_one(tmp_path: Path) -> None:
    base = write_checkpoint(tmp_path / "base")
    card = adapter(tmp_path / "a")
    assert card.adapter is not None
    rule = msgspec.structs.replace(card.adapter, checkpoint=str(base), base_sha256=checkpoint_sha256(base))
    card = msgspec.structs.replace(card, adapter=rule)
    check_weights(card, ServerOptions())
    other = write_checkpoint(tmp_path / "other", b"\5" * 64)
    with pytest.raises(UserError, match=r"the checkpoint in .*other is another"):
        check_weights(card, ServerOptions(model=str(other)))
    base.rename(tmp_path / "moved")
    with pytest.raises(UserError, match=rf"grounding serve {tmp_path}/a --model FOLDER"):
        check_weights(card, ServerOptions())
    check_weights(card, ServerOptions(model=str(tmp_path / "moved")))


def nvidia_smi(folder: Path, *lines: str, code: int = 0) -> str:
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exit {code}\n")
    program.chmod(0o755)
    return str(folder)


def test_gpus_are_those_that_nvidia_smi_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    listed = (
        "GPU 0: NVIDIA H200 (UUID: GPU-1)",
        "  MIG 1g.10gb Device 0: (UUID: MIG-1)",
        "GPU 1: NVIDIA H200 (UUID: x)",
    )
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, *listed))
    assert gpus() == ("0", "1")


def test_gpus_are_shared_out_among_replicas_where_there_are_enough() -> None:
    four = ("4", "5", "6", "7")
    assert [share(four, 2, number) for number in range(2)] == [
        {"CUDA_VISIBLE_DEVICES": "4,5"},
        {"CUDA_VISIBLE_DEVICES": "6,7"},
    ]
    assert share(four, 8, 0) == {}
    assert share(four, 1, 0) == {}
    assert share((), 2, 0) == {}
