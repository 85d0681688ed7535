"""How many GPUs a replica takes, by the flags that its server really gets."""

from __future__ import annotations

import pytest
from fakes.make import grounder_card
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.executors.gpus import gpus_per_replica
from grounding.serving.command import ServerOptions

SIZES = st.integers(1, 8)


def gpus(*flags: str, **options: object) -> int:
    return gpus_per_replica(grounder_card(serving={"flags": list(flags)}), ServerOptions(**options))  # type: ignore[arg-type]


@given(tensor=SIZES, pipeline=SIZES, context=SIZES, data=SIZES, joined=st.booleans(), short=st.booleans())
def test_the_sizes_multiply_however_they_are_written(
    tensor: int, pipeline: int, context: int, data: int, joined: bool, short: bool
) -> None:
    long_names = ("--tensor-parallel-size", "--pipeline_parallel_size", "--prefill-context-parallel-size")
    names = (*(("-tp", "-pp", "-pcp", "-dp") if short else (*long_names, "--data-parallel-size")),)
    pairs = zip(names, (tensor, pipeline, context, data), strict=True)
    flags = [word for name, size in pairs for word in ([f"{name}={size}"] if joined else [name, str(size)])]
    assert gpus("--max-model-len", "8192", *flags, "--enforce-eager") == tensor * pipeline * context * data


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, 2),
        ({"flags": ("-tp", "4")}, 4),
        ({"data_parallel_size": 3}, 6),
        ({"data_parallel_size": 3, "flags": ("--data-parallel-size=1",)}, 2),
        ({"command": ("vllm", "serve", "--pipeline-parallel-size", "2")}, 4),
        ({"command": ("numactl", "-n", "0", "vllm", "serve")}, 2),
        ({"flags": ("--nnodes", "1", "--enable-expert-parallel", "-dcp", "2")}, 2),
    ],
)
def test_what_comes_later_on_the_command_line_wins(options: dict[str, object], wanted: int) -> None:
    assert gpus("--tensor-parallel-size", "2", **options) == wanted


def test_a_card_that_says_nothing_takes_one() -> None:
    assert gpus() == 1


@pytest.mark.parametrize("flags", [("-tp", "two"), ("-tp=0",), ("--tensor-parallel-size",), ("-dp", "-1")])
def test_a_size_that_is_none_is_told(flags: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="expected a whole number, 1 or more"):
        gpus(*flags)


@pytest.mark.parametrize("flags", [("--nnodes", "2"), ("--data-parallel-size-local=1",), ("-dpn", "0")])
def test_a_server_over_several_machines_is_refused(flags: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="a replica runs on one"):
        gpus(*flags)
