"""How many GPUs one replica takes: what its server's own command line says. Pure functions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.serving.command import ServerOptions

_TENSOR = ("--tensor-parallel-size", "-tp")
_PIPELINE = ("--pipeline-parallel-size", "-pp")
_PREFILL_CONTEXT = ("--prefill-context-parallel-size", "-pcp")
_DATA = ("--data-parallel-size", "-dp")
_PARTS = (_TENSOR, _PIPELINE, _PREFILL_CONTEXT)
"""What multiplies to vLLM's world size (``ParallelConfig``, vLLM 0.32); expert and decode-context parallelism don't."""

_ELSEWHERE = {
    ("--data-parallel-size-local", "-dpl"): "",
    ("--data-parallel-rank", "-dpn"): "",
    ("--data-parallel-start-rank", "-dpr"): "0",
    ("--nnodes",): "1",
    ("--node-rank",): "0",
}
"""What spreads one server over several machines, and the value with which it doesn't."""


def gpus_per_replica(card: GrounderCard, options: ServerOptions) -> int:
    """The GPUs that a server of a card takes up: tensor x pipeline x prefill-context x data parallel size.

    The words are read in the order in which the server gets them (the command, the card's flags, the user's), and the
    last one counts, as it does for the server. What stands in a file given with ``--config`` is not seen.

    Raises:
        UserError: a size is no whole number above 0, or the flags spread one server over several machines.
    """
    words: list[str] = [*options.command, *card.serving.flags]
    if options.data_parallel_size > 1:
        words += [_DATA[0], str(options.data_parallel_size)]
    words += options.flags
    for names, harmless in _ELSEWHERE.items():
        if _stated(words, names) not in (None, harmless):
            raise UserError(
                f"{card.name}: {names[0]} is for a server on several machines, and a replica runs on one; leave it "
                "out, and take more --workers for more machines"
            )
    count = _size(card, words, _DATA)
    for names in _PARTS:
        count *= _size(card, words, names)
    return count


def _stated(words: Sequence[str], names: tuple[str, ...]) -> str | None:
    """The last value that one of the names is given, as ``NAME VALUE`` or ``NAME=VALUE``."""
    found = None
    for word, after in itertools.pairwise((*words, "")):
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            name = name.replace("_", "-")  # vLLM takes both.
        if name in names:
            found = value if equals else after
    return found


def _size(card: GrounderCard, words: Sequence[str], names: tuple[str, ...]) -> int:
    text = _stated(words, names)
    if text is None:
        return 1
    if not text.isdecimal() or int(text) < 1:
        raise UserError(f"{card.name}: the server's flag {names[0]} {text!r}: expected a whole number, 1 or more")
    return int(text)
