"""YAML read strictly: no key twice, no tags, and numbers such as ``1e-5`` are numbers."""

from __future__ import annotations

import math
import re
from typing import Any

import yaml


class YamlProblem(ValueError):
    """Why a text is not the YAML that is read here, and where."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with YAML 1.2's numbers and without its dates, and with every key once."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Refuse a key that is there already."""
        seen = set()
        for key_node, _value in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise YamlProblem(f"line {key_node.start_mark.line + 1}: {key!r} is not a name")
            if key in seen:
                raise YamlProblem(f"line {key_node.start_mark.line + 1}: {key} is there twice")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


# YAML 1.1 reads 1e-5 as a word and 2026-01-01 as a date.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":float"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"(?:[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)(e[-+]?[0-9]+)?|[-+]?\.inf|\.nan)\Z", re.IGNORECASE),
    list("-+0123456789.iInN"),
)


def read_yaml(text: str) -> dict[str, Any]:
    """The mapping that a text is.

    Raises:
        YamlProblem: it is not YAML, has a key twice, or is no mapping.
    """
    found = value_of(text)
    if not isinstance(found, dict):
        raise YamlProblem(f"expected fields with values, found {type(found).__name__}")
    return found


def value_of(text: str) -> Any:
    """The value that a text is.

    Raises:
        YamlProblem: it is not YAML, or has a key twice.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise YamlProblem(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise YamlProblem("nested too deeply") from error


def compose(text: str) -> Any:
    """The nodes of a text with their lines, for its comments; None for an empty one."""
    return yaml.compose(text, Loader=_Loader)


def scalar(value: object) -> str:
    """A value without fields as YAML on one line; a list of such in brackets."""
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(scalar(one) for one in value)}]"
    # What PyYAML leaves without quotes may be a number here, or stand for something else inside brackets.
    quoted = isinstance(value, str) and not (value.isidentifier() and value.isascii() and value_of(value) == value)
    style = '"' if quoted else None
    return yaml.safe_dump(value, default_style=style, width=2**30).removesuffix("...\n").strip()
