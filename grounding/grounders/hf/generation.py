"""A card's request parameters, as a server takes them, to what transformers' ``generate`` takes. Pure.

The card is written for an OpenAI-compatible server (vLLM); each field means here what it means there.
"""

from __future__ import annotations

from collections.abc import Mapping

from grounding.cards import PREFILL_PARAMETERS, Json
from grounding.errors import UserError
from grounding.records import Record

DEFAULT_MAX_TOKENS = 2048
"""For a card without ``max_tokens``, where a server would go on to the end of the context."""

_UNUSED_WHEN_GREEDY = ("top_p", "top_k", "min_p", "seed")


class Generation(Record, frozen=True, kw_only=True):
    """How tokens are chosen and turned into text.

    ``arguments`` go to ``GenerationConfig`` as they stand. Penalties of tokens already written, stop strings and the
    decoding are ours. ``alone`` is set where an answer would depend on what else is in its batch: padding counts as
    prompt for a repetition penalty, and drawing for several rows shares one random stream.
    """

    arguments: dict[str, int | float | bool]
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    skip_special_tokens: bool = True
    seed: int | None = None
    alone: bool = False


def generation_for(parameters: Mapping[str, Json], *, card: str) -> Generation:
    """Map a card's parameters.

    Temperature 0 is greedy. Whatever a checkpoint's ``generation_config.json`` holds is overruled: the penalty is 1.0
    and nothing is cut off unless the card says so, as with vLLM's ``--generation-config vllm``.

    Raises:
        UserError: a parameter has no counterpart here, or a value of the wrong kind.
    """
    left = {name: value for name, value in parameters.items() if name not in PREFILL_PARAMETERS and value is not None}

    def number(name: str, default: float) -> float:
        value = left.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"card {card}: field parameters.{name}: expected a number, not {value!r}")
        return value

    most = int(number("max_tokens", number("max_completion_tokens", DEFAULT_MAX_TOKENS)))
    penalty = float(number("repetition_penalty", 1.0))
    arguments: dict[str, int | float | bool] = {"max_new_tokens": most, "repetition_penalty": penalty}
    temperature = number("temperature", 1.0)
    if temperature == 0:
        arguments["do_sample"] = False
        for name in _UNUSED_WHEN_GREEDY:
            left.pop(name, None)
    else:
        arguments.update(
            do_sample=True,
            temperature=float(temperature),
            top_p=float(number("top_p", 1.0)),
            top_k=max(0, int(number("top_k", 0))),  # A server writes "all of them" as -1, transformers as 0.
            min_p=float(number("min_p", 0.0)),
        )
    seed = int(number("seed", 0)) if "seed" in left else None
    generation = Generation(
        arguments=arguments,
        frequency_penalty=float(number("frequency_penalty", 0.0)),
        presence_penalty=float(number("presence_penalty", 0.0)),
        stop=_texts(left.pop("stop", [])),
        stop_token_ids=_ids(left.pop("stop_token_ids", [])),
        skip_special_tokens=bool(left.pop("skip_special_tokens", True)),
        seed=seed,
        alone=bool(arguments["do_sample"]) or penalty != 1.0,
    )
    if left:
        raise UserError(
            f"card {card}: field parameters: {', '.join(sorted(left))} can't be honoured by transformers in this "
            "process; serve the model with vLLM and give --base-url instead"
        )
    return generation


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(text) for text in (value if isinstance(value, list) else [value]))


def _ids(value: Json) -> tuple[int, ...]:
    return tuple(int(number) for number in value) if isinstance(value, list) else ()


def cut_at_stop(text: str, stop: tuple[str, ...]) -> str:
    """The text before the first of the stop strings, as a server returns it."""
    places = [place for place in (text.find(ending) for ending in stop) if place >= 0]
    return text[: min(places)] if places else text
