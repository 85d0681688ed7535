"""A JSON file that holds a list: a path in; the decoded items out, or a problem that points at line and column."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path

import msgspec

from grounding.loaders.problems import Problem, shorten

_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)')
_DOWNLOAD = "download the file again"
_CORRECT = "correct the file there, or download it again"


def read_json_list(path: Path, problems: list[Problem]) -> list[object] | None:
    """The items of a UTF-8 JSON file whose top level is a list; a byte order mark is passed over.

    NaN and Infinity, which are not JSON, and numbers beyond the range of a double are refused. Line and column in a
    problem count from 1, in characters.

    Returns:
        The decoded items, or None after adding one problem to ``problems``.
    """
    try:
        return _decode(path)
    except _UnusableFile as error:
        problems.append(Problem(file=str(path), value=error.value, what=error.what, fix=error.fix))
        return None


class _UnusableFile(Exception):
    def __init__(self, what: str, fix: str, value: str = "") -> None:
        super().__init__(what, fix, value)
        self.what = what
        self.fix = fix
        self.value = value


def _decode(path: Path) -> list[object]:
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
        text = content.decode("utf-8")
        if not text.strip():
            raise _UnusableFile("is empty", _DOWNLOAD)
        decoded = msgspec.json.decode(content)
    except OSError as error:
        raise _UnusableFile(f"cannot be read ({error.strerror})", "see to the file and its permissions") from error
    except UnicodeDecodeError as error:
        place = _place(content[: error.start].decode("utf-8"))
        raise _UnusableFile(f"is not UTF-8 ({place})", "save the file as UTF-8") from error
    except msgspec.ValidationError as error:
        raise _UnusableFile(f"holds a number out of range: {error}", _CORRECT) from error
    except msgspec.DecodeError as error:
        raise _UnusableFile(f"is not JSON: {_explain(text, error)}", _CORRECT) from error
    except RecursionError as error:
        raise _UnusableFile("is nested too deeply", _CORRECT) from error
    if not isinstance(decoded, list):
        raise _UnusableFile("must hold a list, one element per step", "put [ and ] around it", shorten(decoded))
    if not decoded:
        raise _UnusableFile("holds an empty list", _DOWNLOAD)
    return decoded


def _explain(text: str, error: msgspec.DecodeError) -> str:
    # The standard library says exactly where, but takes NaN and Infinity for numbers.
    constant = next((match for match in _STRING_OR_CONSTANT.finditer(text) if match[1]), None)
    try:
        json.loads(text)
    except json.JSONDecodeError as syntax:
        if constant is None or syntax.pos < constant.start():
            return f"{_place(text[: syntax.pos])}: {syntax.msg}"
    except (RecursionError, ValueError):
        return str(error)
    if constant is None:
        return str(error)
    return f"{_place(text[: constant.start()])}: {constant[0]} is not a JSON number"


def _place(before: str) -> str:
    line_start = before.rfind("\n") + 1
    return f"line {before.count(chr(10)) + 1}, column {len(before) - line_start + 1}"
