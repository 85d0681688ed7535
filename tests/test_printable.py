"""What models and servers write never moves a terminal's cursor nor turns its writing round."""

from __future__ import annotations

import asyncio
import io
import re
import unicodedata
from pathlib import Path

import pytest
from fakes.chat_server import ChatServer, error, raw, reply
from fakes.make import client
from llm.helpers import failure
from rich.console import Console
from rich.table import Table
from shell import Bench, call

from grounding.errors import UserError, printable, spell_out_in_rich

EVIL = "a\x1b[2Jb\x9b31mc\u202ed\u2066e\u200ff\x07g\x08h\rI"


def harmless(text: str) -> bool:
    return not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t"]


def test_every_control_character_and_mark_is_spelled_out() -> None:
    everything = "".join(map(chr, range(0x3000)))
    kept = {c for c in printable(everything) if not harmless(c)}
    # Marks of scripts belong to their words; the soft hyphen and invisible joiners of them, too.
    assert kept <= {"\u00ad", *map(chr, range(0x600, 0x606)), "\u06dd", "\u070f", "\u0890", "\u0891", "\u08e2"} | {
        "\u180e",
        "\u200c",
        "\u200d",
    }
    assert harmless(printable(EVIL))
    assert printable("plain ünïcode\n\tis kept") == "plain ünïcode\n\tis kept"


def test_tables_and_colours_of_rich_hold_no_foreign_control_character() -> None:
    spell_out_in_rich()
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=120)
    table = Table("what")
    table.add_row(EVIL)
    console.print(table, f"[red]{EVIL}[/]")
    assert "\x1b[31m" in out.getvalue(), "its own colours stay"
    assert harmless(re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()))


def test_no_message_of_a_failure_holds_one() -> None:
    with ChatServer(error(400, EVIL)) as server:
        assert harmless(str(failure(server)))
        server.default = raw(b'{"error": "' + EVIL.replace("\r", " ").encode() + b'"}')
        said = str(failure(server, max_retries=0))
        assert harmless(said)
        assert "b\\x9b31mc" in said, "the text of an error under the status 200 is kept"
        server.models = [EVIL]
        with pytest.raises(UserError) as told:
            asyncio.run(client(server.base_url).check())
        assert harmless(str(told.value))


@pytest.mark.parametrize("text", [f"(1, {EVIL}", "no point \x1b[2J \u202e"])
def test_a_run_prints_none(bench: Bench, tmp_path: Path, text: str) -> None:
    with ChatServer(reply(text, model=EVIL)) as server:
        common = ["--dataset", "realwebassist", "--data-dir", bench.data_dir, "--log-dir", tmp_path / "runs"]
        done = call(*common, "--grounder", bench.card, "--base-url", server.base_url, "--display", "plain")
        server.default = error(400, EVIL)
        failed = call(*common, "--grounder", bench.card, "--base-url", server.base_url, "--fresh", "--no-probe")
    for each in (done, failed):
        assert harmless(each.stdout + each.stderr), ascii(each.stdout + each.stderr)
