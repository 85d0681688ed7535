"""``--data-dir`` at every command: text with :// never becomes a path by itself, and its secrets stay out of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from cyclopts import App

from grounding.asr.__main__ import app as speech
from grounding.cli import app
from grounding.cli.sweep import sweep_command
from grounding.data.option import DataDir, local_folder, without_secrets


def commands(of: App, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Callable[..., Any]]]:
    if of.default_command is not None:
        yield path, of.default_command
    for name in of:
        if not name.startswith("-"):
            yield from commands(of[name], (*path, name))


def hints_of(command: Callable[..., Any]) -> dict[str, Any]:
    """The types of a command's options, those of a record that holds several of them too."""
    found = get_type_hints(command, include_extras=True)
    for hint in list(found.values()):
        record = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        if is_dataclass(record):
            found |= get_type_hints(record, include_extras=True)
    return found


def test_every_command_takes_urls() -> None:
    found = {" ".join(path): hints_of(one) for path, one in commands(app) if one is not sweep_command}
    found |= {f"asr {' '.join(path)}": hints_of(one) for path, one in commands(speech)}
    hints = {name: each["data_dir"] for name, each in found.items() if "data_dir" in each}
    # Into the folder of these something is written.
    hints = {name: hint for name, hint in hints.items() if not name.startswith("annotate")}
    named = {"eval", "check", "caption", "train grounder", "train puma", "serve", "blame"}
    assert hints.keys() >= named
    for name, hint in hints.items():
        assert hint in (DataDir, DataDir | None), name


def test_commands_are_written_down_without_secrets() -> None:
    secret = "https://me:geheim@h.org/x.zip?sig=s3cr3t"
    local_folder(secret)
    words = ["--data-dir", secret, f"--data-dir={secret}", "--base-url", "http://h/v1?x=1"]
    shown = "https://…@h.org/x.zip?…"
    assert without_secrets(words) == ["--data-dir", shown, f"--data-dir={shown}", "--base-url", "http://h/v1?x=1"]
