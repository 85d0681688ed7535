"""A recipe as it was used, as readable YAML: every value, where it is from, and what the recipe's file says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from grounding.training.strictyaml import compose, scalar

_Place = tuple[str | int, ...]


class _Remark(msgspec.Struct, frozen=True):
    """What a file says of a field: the comment lines before it, and the one behind its value."""

    before: tuple[str, ...]
    behind: str


def recipe_text(recipe: msgspec.Struct, asked: str, name: str, overrides: Sequence[str]) -> str:
    """The recipe with the comments of the file that it is from.

    Args:
        recipe: The recipe as it is used.
        asked: The text of the file.
        name: What the file is called.
        overrides: What ``--set`` changed.
    """
    remarks = _remarks(asked)
    lines = [f"# The recipe as it was used; from {name}."]
    lines += [f"# Changed by --set {' '.join(override.split())}" for override in overrides]
    lines += _heading(asked)
    changed = {_place(override) for override in overrides}
    _write(msgspec.to_builtins(recipe, str_keys=True), recipe, (), lines, remarks, changed)
    return "\n".join(lines) + "\n"


def _write(
    value: Any, typed: Any, at: _Place, lines: list[str], remarks: dict[_Place, _Remark], changed: set[_Place]
) -> None:
    indent = "  " * len(at)
    # Defaults are left out of what is encoded, but not of what is written.
    names = typed.__struct_fields__ if isinstance(typed, msgspec.Struct) else tuple(value)
    for name in names:
        here = (*at, name)
        inner = getattr(typed, name) if isinstance(typed, msgspec.Struct) else value[name]
        remark = remarks.get(here, _Remark(before=(), behind=""))
        lines.extend(f"{indent}{line}" for line in remark.before)
        behind = f"  {_origin(here, remark, remarks, changed)}".rstrip()
        if isinstance(inner, msgspec.Struct | dict) and _has_fields(inner):
            lines.append(f"{indent}{name}:{behind}")
            _write(msgspec.to_builtins(inner), inner, here, lines, remarks, changed)
        elif isinstance(inner, tuple | list) and any(isinstance(one, msgspec.Struct) for one in inner):
            lines.append(f"{indent}{name}:{behind}")
            for number, one in enumerate(inner):
                part: list[str] = []
                _write(msgspec.to_builtins(one), one, (*here, number), part, remarks, changed)
                lines.extend(_as_item(part, f"{indent}  "))
        else:
            lines.append(f"{indent}{name}: {scalar(_plain(inner))}{behind}")


def _as_item(part: list[str], indent: str) -> list[str]:
    """The lines of a mapping as one item of a list."""
    own = [line.strip() if line.lstrip().startswith("#") else line for line in part]
    depth = min(len(line) - len(line.lstrip()) for line in part)
    shifted = [line if line.startswith("#") else line[depth:] for line in own]
    first = next(number for number, line in enumerate(shifted) if not line.startswith("#"))
    return [f"{indent}{'- ' if number == first else '  '}{line}" for number, line in enumerate(shifted)]


def _has_fields(inner: Any) -> bool:
    return bool(inner.__struct_fields__ if isinstance(inner, msgspec.Struct) else inner)


def _plain(inner: Any) -> Any:
    return msgspec.to_builtins(inner)


def _origin(here: _Place, remark: _Remark, remarks: dict[_Place, _Remark], changed: set[_Place]) -> str:
    if any(here == place for place in changed):
        return "# --set"
    if any(here[: len(place)] == place for place in changed):
        return "# default" if here not in remarks else remark.behind
    return remark.behind if here in remarks else "# default"


def _place(override: str) -> _Place:
    names = override.partition("=")[0].strip().split(".")
    return tuple(int(name) if name.isdigit() else name for name in names)


def _heading(text: str) -> list[str]:
    """The comment that a file begins with, where an empty line follows it."""
    heading: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#"):
            return heading if not line.strip() else []
        heading.append(line)
    return []


def _remarks(text: str) -> dict[_Place, _Remark]:
    """The comments of a file by the field that they are about; every field of the file has an entry."""
    lines = text.splitlines()
    found: dict[_Place, _Remark] = {}
    heading = len(_heading(text))

    def visit(node: Any, at: _Place) -> None:
        if node is None:
            return
        if node.id == "mapping":
            for key, value in node.value:
                here = (*at, key.value)
                found[here] = _remark(lines, key, value, heading)
                visit(value, here)
        elif node.id == "sequence":
            for number, value in enumerate(node.value):
                visit(value, (*at, number))

    visit(compose(text), ())
    return found


def _remark(lines: list[str], key: Any, value: Any, heading: int) -> _Remark:
    before: list[str] = []
    row = key.start_mark.line - 1
    while row >= heading and lines[row].lstrip().startswith("#"):
        before.insert(0, lines[row].strip())
        row -= 1
    # Behind a scalar or a flow value; of a block of fields, behind its name.
    block = value.id != "scalar" and not value.flow_style
    mark = key.end_mark if block else value.end_mark
    rest = lines[mark.line][mark.column :] if mark.line < len(lines) else ""
    rest = rest.lstrip(":").strip() if block else rest.strip()
    return _Remark(before=tuple(before), behind=rest if rest.startswith("#") else "")
