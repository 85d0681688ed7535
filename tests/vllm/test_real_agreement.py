"""vLLM over HTTP and transformers in this process, on one checkpoint: the same prompt tokens and the same words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from fakes.make import grounder_card
from grounders.hf.tiny import write_plain
from real_server import here, pictures, running, served

from grounding.cards import GrounderCard
from grounding.records import Prediction

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FLAGS = ["--dtype", "float32", "--enforce-eager", "--generation-config", "vllm", "--max-model-len", "8192"]
FLAGS += ["--limit-mm-per-prompt", '{"image":1,"video":0}', "--served-model-name", "m"]
FLAGS += ["--mm-processor-kwargs", '{"min_pixels":3136,"max_pixels":200000}']

BASIC = grounder_card(
    family="qwen2_5_vl",
    system="The image is {height} high and {width} wide.",
    image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 200000},
    parameters={"temperature": 0, "max_tokens": 24, "repetition_penalty": 1.0},
)


def variant(**fields: object) -> GrounderCard:
    return msgspec.convert({**msgspec.to_builtins(BASIC), **fields}, GrounderCard)


CARDS = {
    "client resize": BASIC,
    "server resize": variant(image={**msgspec.to_builtins(BASIC.image), "resize": "server"}),
    "no system, text first": variant(system=None, user=[{"text": "Find {instruction} in "}, {"image": "screenshot"}]),
    "prefill": variant(prefill="<tool_call>\n(12"),
    "special tokens kept": variant(parameters={**BASIC.parameters, "skip_special_tokens": False}),
    "repetition penalty": variant(parameters={**BASIC.parameters, "repetition_penalty": 1.3}),
    "frequency penalty": variant(parameters={**BASIC.parameters, "frequency_penalty": 1.0}),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plain(tmp_path_factory.mktemp("plain") / "tiny")


@pytest.fixture(scope="module")
def base_url(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("vllm") / "log"
    with running(log, "--model", checkpoint, *FLAGS) as address:
        yield address


@pytest.mark.parametrize("name", CARDS)
def test_vllm_and_transformers_agree(name: str, base_url: str, checkpoint: Path, tmp_path: Path) -> None:
    card, queries = CARDS[name], pictures(tmp_path)
    over, local = served(card, base_url, queries), here(card, checkpoint, queries)
    assert all(answer.raw is not None for answer in over), [answer.failure for answer in over]
    assert [_tokens(answer) for answer in local] == [_tokens(answer) for answer in over]
    assert [answer.raw for answer in local] == [answer.raw for answer in over]
    assert [answer.sizes for answer in local] == [answer.sizes for answer in over]
    assert [answer.point for answer in local] == [answer.point for answer in over]
    assert len({answer.raw for answer in local}) > 1, "answers that are all equal prove nothing"


def _tokens(answer: Prediction) -> tuple[int, int]:
    assert answer.call is not None
    assert answer.call.usage is not None
    return answer.call.usage.input_tokens, answer.call.usage.output_tokens
