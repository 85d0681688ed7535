"""What README.md shows is true: its card and its answers are accepted, its commands parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from grounding.cards import GrounderCard, read_card
from grounding.cli import app
from grounding.grounders.replay import SavedPredictions

README = Path(__file__).resolve().parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def _commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    commands = [part.strip() for line in lines for part in line.split("&&")]
    return [command for command in commands if command.startswith(("grounding ", "python -m grounding.eval"))]


def test_the_readme_shows_commands() -> None:
    assert len(_commands()) >= 5


@pytest.mark.parametrize("command", _commands())
def test_every_command_of_the_readme_is_understood(command: str) -> None:
    words = shlex.split(command)
    arguments = words[1:] if words[0] == "grounding" else ["eval", *words[3:]]
    function, bound, _ignored = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert callable(function)
    assert bound.signature is not None


def test_the_card_of_the_readme_is_accepted(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "my-model.yaml"
    path.write_text(shown, encoding="utf-8")
    assert read_card(path, GrounderCard).answer.space == "resized_px"


def test_the_answers_of_the_readme_are_accepted(tmp_path: Path) -> None:
    lines = re.findall(r'`(\{"step".*?\})`', TEXT)
    assert len(lines) == 3
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert SavedPredictions(path, ["3/42", "3/43", "3/44"]).name == "replay:answers"
