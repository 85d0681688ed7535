"""A card and a user's wishes to the command line of its server: a list of arguments, never a text for a shell.

Also what this machine has for it: GPUs to share among servers, and ports that nobody listens on.
"""

import json
import os
import shlex
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from grounding.cards import AdapterRule, ChatCard
from grounding.cards.identity import hub_folder
from grounding.cards.tuned import VLLM_RANKS, adapter_facts, check_base, max_lora_rank, named_base
from grounding.errors import UserError
from grounding.records import Record

VISIBLE = "CUDA_VISIBLE_DEVICES"
_TRIES = 50


def gpus() -> tuple[str, ...]:
    """The GPUs that a server started here may use, by the names that CUDA_VISIBLE_DEVICES takes."""
    chosen = os.environ.get(VISIBLE)
    if chosen is not None:
        return tuple(name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1"))
    try:
        told = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return tuple(str(number) for number in range(64) if Path(f"/dev/nvidia{number}").exists())
    return tuple(str(number) for number in range(sum(line.startswith("GPU ") for line in told.splitlines())))


def share(devices: Sequence[str], replicas: int, number: int) -> dict[str, str]:
    """The environment that gives one of several servers its own GPUs; empty where they are too few to share out."""
    each = len(devices) // replicas
    if replicas == 1 or each == 0:
        return {}
    return {VISIBLE: ",".join(devices[number * each : (number + 1) * each])}


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as tried:
        # As servers do: the ended connections of the one before must not keep its successor away.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except (OSError, OverflowError):
            return False
    return True


def consecutive_ports(host: str, count: int, first: int | None) -> tuple[int, ...]:
    """So many ports in a row: from the one given, or from any where all are free."""
    if first is not None:
        wanted = tuple(range(first, first + count))
        taken = [port for port in wanted if not _is_free(host, port)]
        if taken:
            raise UserError(f"--port: {host}:{taken[0]} can't be listened on (is it in use?); take another")
        return wanted
    for _ in range(_TRIES):
        try:
            with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as any_port:
                start: int = any_port.getsockname()[1]
        except OSError as error:
            raise UserError(f"--host {host}: {error.strerror or error}; give an address of this machine") from error
        if all(_is_free(host, port) for port in range(start, start + count)):
            return tuple(range(start, start + count))
    raise UserError(f"no {count} free ports in a row were found; give the first with --port")


COMMAND_VARIABLE = "GROUNDING_VLLM"
DEFAULT_COMMAND = ("vllm", "serve")
LOOPBACK = "127.0.0.1"
_WILDCARDS = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}


class ServerOptions(Record, frozen=True, kw_only=True):
    """What a user may say about a server. ``command`` is what the model's name is appended to: ``vllm serve``, or
    ``python -m vllm.entrypoints.openai.api_server --model``. ``model`` is a local checkpoint in place of the card's id.
    ``media_dir`` is the folder whose files the server may open (file:// URLs). ``port`` None takes free ones.
    """

    command: tuple[str, ...] = DEFAULT_COMMAND
    host: str = LOOPBACK
    port: int | None = None
    replicas: int = 1
    data_parallel_size: int = 1
    model: str | None = None
    media_dir: Path | None = None
    flags: tuple[str, ...] = ()
    start_timeout_s: float = 3600.0


def server_command(given: str | None) -> tuple[str, ...]:
    """The words of the command that starts a server: the option's, the environment's, or ``vllm serve``."""
    text = given or os.environ.get(COMMAND_VARIABLE) or ""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UserError(f"--server-command (or {COMMAND_VARIABLE}) {text!r}: {error}") from error
    return words or DEFAULT_COMMAND


def check_servable(card: ChatCard) -> None:
    """Refuse a card that a stock vLLM server can't serve, with the card's reason and the ways out."""
    if card.endpoint.base_url:
        raise UserError(
            f"{card.name} ({card.title}) is served at {card.endpoint.base_url}; there is nothing to start here"
        )
    why = f": {card.serving.reason.rstrip('.')}" if card.serving.reason else ""
    if card.serving.how == "recorded":
        raise UserError(
            f"{card.name} ({card.title}) can't be run here{why}. Ways out: score answers recorded elsewhere with "
            "`grounding eval --predictions FILE`, or give the address of a server that speaks for it with --base-url"
        )
    if card.serving.how == "in-process":
        raise UserError(
            f"{card.name} ({card.title}) can't be served by vLLM{why}. Ways out: `grounding eval --grounder "
            f"{card.name} --backend hf`, which runs it in its own process, or `--predictions FILE` with answers "
            "recorded elsewhere"
        )


def check_weights(card: ChatCard, options: ServerOptions) -> None:
    """Refuse a card whose weights no server can fetch by their name, with the commands that get them."""
    if card.adapter is not None:
        _check_adapter(card, card.adapter, options)
    inside = hub_folder(card.checkpoint)
    if inside is None or options.model is not None or Path(card.checkpoint).is_dir():
        return
    raise UserError(
        f"{card.name} ({card.title}): its weights are the folder {inside.folder} of the repository "
        f"{inside.repository}, which vLLM can't fetch by a name. Fetch them: {inside.download}\nthen serve them: "
        f"grounding serve {card.name} --model {inside.local} --port 8000\nand give that address to `grounding eval` "
        "with --base-url http://127.0.0.1:8000/v1"
    )


def _check_adapter(card: ChatCard, adapter: AdapterRule, options: ServerOptions) -> None:
    """What vLLM would refuse only after minutes of loading, or quietly leave out (its ``PEFTHelper``)."""
    base = Path(options.model or card.checkpoint).expanduser()
    if (base / "config.json").is_file():
        check_base(card, base)
    elif options.model is None and base.is_absolute():
        raise UserError(
            f"{card.name}: its adapter was trained on {named_base(adapter)}, and no checkpoint lies there any more. "
            f"Serve it from where it is now: grounding serve {adapter.path} --model FOLDER"
        )
    facts = adapter_facts(Path(adapter.path))
    instead = f"Run it in this process instead: grounding eval --grounder {adapter.path} --backend hf"
    if max_lora_rank(facts.rank) is None:
        raise UserError(
            f"{card.name}: its adapter has rank {facts.rank}, and vLLM serves ranks up to {VLLM_RANKS[-1]}. {instead}"
        )
    if facts.in_vision:
        # Quietly left out by default; with --enable-tower-connector-lora (experimental) vLLM 0.32 answers otherwise
        # than PEFT does.
        raise UserError(
            f"{card.name}: a part of its adapter belongs to the vision tower, which vLLM doesn't run as it was "
            f"trained. {instead}"
        )
    whole = [name for name in facts.whole if name not in ("classifier", "score")]
    if whole or facts.unusual:
        what = ", ".join((*(f"modules_to_save ({name})" for name in whole), *facts.unusual))
        raise UserError(f"{card.name}: vLLM can't serve an adapter with {what}. {instead}")


def _adapter_arguments(card: ChatCard, adapter: AdapterRule) -> tuple[str, ...]:
    facts = adapter_facts(Path(adapter.path))
    module = {"name": card.model, "path": adapter.path, "base_model_name": adapter.base}
    return (
        *("--enable-lora", "--max-lora-rank", str(max_lora_rank(facts.rank) or facts.rank)),
        *("--lora-modules", json.dumps(module)),
    )


def _picture_limits(card: ChatCard) -> tuple[str, ...]:
    """The card's own limits for the processor, where its flags don't name them: it makes the card's sizes then."""
    rule, flag = card.image, "--mm-processor-kwargs"
    if rule.resize == "none" or any(given.partition("=")[0] == flag for given in card.serving.flags):
        return ()
    return (flag, json.dumps({"min_pixels": rule.min_pixels, "max_pixels": rule.max_pixels}))


def server_arguments(card: ChatCard, options: ServerOptions, port: int) -> tuple[str, ...]:
    """The whole command line of one server; what the user adds comes last and so wins over the card's flags. An
    adapter's server answers as its base, too, under the name by which the base's card asks.
    """
    command = options.command
    if any(word.endswith("api_server") for word in command) and command[-1] != "--model":
        command = (*command, "--model")  # The module takes the model by name only.
    arguments = [*command, options.model or card.checkpoint]
    served = card.model if card.adapter is None else card.adapter.base
    arguments += ["--host", options.host, "--port", str(port), "--served-model-name", served]
    if card.checkpoint_revision != "main" and options.model is None:
        arguments += ["--revision", card.checkpoint_revision]
    if card.adapter is not None:
        arguments += _adapter_arguments(card, card.adapter)
    arguments += (*_picture_limits(card), *card.serving.flags)
    if options.data_parallel_size > 1:
        arguments += ["--data-parallel-size", str(options.data_parallel_size)]
    if options.media_dir is not None:
        arguments += ["--allowed-local-media-path", str(options.media_dir.resolve())]
    return (*arguments, *options.flags)


def base_url(host: str, port: int) -> str:
    reached = _WILDCARDS.get(host, host)
    return f"http://[{reached}]:{port}/v1" if ":" in reached else f"http://{reached}:{port}/v1"
