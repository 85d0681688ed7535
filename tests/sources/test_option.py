"""``--data-dir`` at every command: text with :// never becomes a path by itself, and its secrets stay out of files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import shell
from cyclopts import App

from grounding.asr.__main__ import app as speech
from grounding.cli import app
from grounding.options import options_from
from grounding.sources.option import DataDir, local_folder, ready, url_behind, without_secrets
from grounding.sweep import sweep_command


def commands(of: App, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Callable[..., Any]]]:
    if of.default_command is not None:
        yield path, of.default_command
    for name in of:
        if not name.startswith("-"):
            yield from commands(of[name], (*path, name))


def test_every_command_takes_urls() -> None:
    found = {path: one for path, one in commands(app) if "data_dir" in inspect.signature(one).parameters}
    names = {" ".join(path) for path in found}
    assert names >= {
        "eval",
        "sweep",
        "check",
        "caption",
        "train grounder",
        "train puma",
        "serve",
        "blame",
    }
    found |= {("asr", *path): one for path, one in commands(speech) if "data_dir" in inspect.signature(one).parameters}
    assert ("asr", "transcribe") in found
    for path, command in found.items():
        if command is sweep_command:
            continue
        hint = get_type_hints(command, include_extras=True)["data_dir"]
        assert hint in (DataDir, DataDir | None), path


def test_what_the_parser_makes_of_it(cache: Path) -> None:
    for words, several in (
        (["eval", "--data-dir", "s3://b/x", "--dataset", "realwebassist"], False),
        (["check", "--data-dir=s3://b/x", "--dataset", "realwebassist"], False),
        (["sweep", "--data-dir", "s3://b/x", "local", "--dataset", "realwebassist"], True),
    ):
        _, bound, _ = app.parse_args(words, print_error=False, exit_on_error=False)
        value = bound.arguments["data_dir"]
        first = value[0] if several else value
        assert first == local_folder("s3://b/x")
        assert first.name == "x"
        assert cache in first.parents
        assert not first.exists()  # Nothing is fetched for reading the command line.
        assert not several or value[1] == Path("local")


def test_options_know_the_address(tmp_path: Path) -> None:
    folder = local_folder("https://me:geheim@h.org/x/?sig=1")
    options = options_from({"data_dir": folder, "grounder": "center"}, command="")
    assert (options.data_dir, options.data_url) == (folder, "https://…@h.org/x/?…")
    assert options_from({"data_dir": tmp_path}, command="").data_url == ""
    assert options_from({}, command="").data_url == ""
    assert (url_behind(None), ready(None), ready(tmp_path)) == ("", None, tmp_path)


def test_commands_are_written_down_without_secrets() -> None:
    secret = "https://me:geheim@h.org/x.zip?sig=s3cr3t"
    local_folder(secret)
    words = ["--data-dir", secret, f"--data-dir={secret}", "--base-url", "http://h/v1?x=1"]
    shown = "https://…@h.org/x.zip?…"
    assert without_secrets(words) == ["--data-dir", shown, f"--data-dir={shown}", "--base-url", "http://h/v1?x=1"]


def test_a_wrong_url_is_said_in_a_sentence() -> None:
    done = shell.call("--dataset", "realwebassist", "--data-dir", "http://h.org/x/")
    assert (done.returncode, done.stdout) == (2, "")
    assert "use https" in done.stderr


def test_loaders_take_urls(tiny_dataset: Any) -> None:
    import fsspec

    from grounding.loaders import load_dataset

    local = tiny_dataset("data")
    fs = fsspec.filesystem("memory")
    for path in local.rglob("*"):
        if path.is_file():
            fs.pipe(f"/tiny/data/{path.relative_to(local)}", path.read_bytes())
    one, other = load_dataset("realwebassist", "memory://tiny/data"), load_dataset("realwebassist", local)
    assert one.fingerprint == other.fingerprint
    # The folder of one participant gives that one its name, wherever it was read from.
    one, other = load_dataset("realwebassist", "memory://tiny/data/2"), load_dataset("realwebassist", local / "2")
    assert one.fingerprint == other.fingerprint
