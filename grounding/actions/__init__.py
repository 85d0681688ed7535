"""The desktop's action grammar: what a recorder or a model wrote in, one of twelve actions out, and back."""

from grounding.actions.kinds import (
    ACTION_KINDS,
    KEY_NAMES,
    Action,
    ActionKind,
    ScrollDirection,
    Unparsed,
    key_name,
    print_action,
    same_keys,
)
from grounding.actions.parsing import parse_action, parse_reply

__all__ = [
    "ACTION_KINDS",
    "KEY_NAMES",
    "Action",
    "ActionKind",
    "ScrollDirection",
    "Unparsed",
    "key_name",
    "parse_action",
    "parse_reply",
    "print_action",
    "same_keys",
]
