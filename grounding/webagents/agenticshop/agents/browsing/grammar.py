"""What a browsing model may answer: a thought, what the step is for, and one action. Text in, a typed Reply out; pure.

The last line that begins with ``ACTION:`` counts, with all that follows it::

    THOUGHT: The lamp costs more than the user wants to spend.
    KIND: alternative_evaluation
    ACTION: click 12

A number means an element of the list, words in quotes one that is described. Texts in quotes are JSON strings.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

from grounding.records import Record
from grounding.webagents.agenticshop.agents.base import (
    MAX_NAME_CHARS,
    MAX_PRODUCTS,
    MAX_REASONING_CHARS,
    MAX_THOUGHT_CHARS,
    MAX_URL_CHARS,
)
from grounding.webagents.agenticshop.records import BehaviourKind, Curated

MAX_TEXT_CHARS = 200
"""What may be typed, described or noted at once."""

MAX_REPLY_CHARS = 40_000

Target = int | str
"""The number of an element in the list, or words for it."""


class Click(Record, frozen=True, kw_only=True, tag="click"):
    """Click an element."""

    target: Target


class Type(Record, frozen=True, kw_only=True, tag="type"):
    """Fill in a field, or choose from a list; ``enter`` sends it off."""

    target: Target
    text: str
    enter: bool = False


class Scroll(Record, frozen=True, kw_only=True, tag="scroll"):
    """Move the page by most of a screen."""

    down: bool


class Back(Record, frozen=True, kw_only=True, tag="back"):
    """To the page before."""


class Goto(Record, frozen=True, kw_only=True, tag="goto"):
    """To an address."""

    url: str


class Note(Record, frozen=True, kw_only=True, tag="note"):
    """Remember something."""

    text: str


class Finish(Record, frozen=True, kw_only=True, tag="finish"):
    """The products, and the end."""

    products: tuple[Curated, ...]


Action = Click | Type | Scroll | Back | Goto | Note | Finish


class Reply(Record, frozen=True, kw_only=True):
    """What a model answered. ``kind`` is "" where it doesn't say what the step is for."""

    action: Action
    thought: str = ""
    kind: BehaviourKind | Literal[""] = ""


class Mistake(Exception):
    """An answer that can't be read or done; the message is for the model that gave it."""


_FIELD = re.compile(r"^[ \t>*_#`-]*(thought|kind|action)[*_`]*[ \t]*:[*_`]*", re.IGNORECASE | re.MULTILINE)
_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_TARGET = rf"(?:\[?(?P<number>\d{{1,4}})\]?|(?P<words>{_QUOTED}))"
_CLICK = re.compile(rf"click\s+{_TARGET}", re.IGNORECASE)
_TYPE = re.compile(rf"type\s+{_TARGET}\s+(?P<text>{_QUOTED})(?P<enter>\s+\[?enter\]?)?", re.IGNORECASE)
_SCROLL = re.compile(r"scroll\s+(?P<way>up|down)", re.IGNORECASE)
_BACK = re.compile(r"(?:go\s+)?back", re.IGNORECASE)
_GOTO = re.compile(r'goto\s+["<]?(?P<url>[^\s"<>]+)[">]?', re.IGNORECASE)
_NOTE = re.compile(rf"note\s+(?P<text>{_QUOTED})", re.IGNORECASE)
_CURLY = re.compile(r"[\"\u201c\u201d\u201e]")

FORMS = (
    'click NUMBER · click "WORDS" · type NUMBER "TEXT" [enter] · scroll up|down · back · goto URL · note "TEXT" · '
    "finish JSON"
)


class _Product(msgspec.Struct):
    product_url: str
    product_name: str = ""
    reasoning: str = ""


class _Products(msgspec.Struct):
    products: list[_Product]


def read_reply(text: str) -> Reply:
    """Read a model's answer.

    Raises:
        Mistake: it holds no action of these forms; says what is wrong.
    """
    fields = _fields(text[:MAX_REPLY_CHARS])
    action = fields.get("action", "").strip().strip("`").strip()
    if not action:
        raise Mistake(f"the answer has no line ACTION: …; the forms are: {FORMS}")
    return Reply(
        action=_action(action),
        thought=" ".join(fields.get("thought", "").split())[:MAX_THOUGHT_CHARS],
        kind=_kind(fields.get("kind", "")),
    )


def _fields(text: str) -> dict[str, str]:
    """The last text after each of the words; that of an action begins at its last one and goes on to the end."""
    found = list(_FIELD.finditer(text))
    last_action = max((place for place, match in enumerate(found) if match[1].lower() == "action"), default=None)
    fields: dict[str, str] = {}
    for place, match in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) and place != last_action else len(text)
        fields[match[1].lower()] = text[match.end() : end]
        if place == last_action:
            break
    return fields


def _kind(text: str) -> BehaviourKind | Literal[""]:
    said = "_".join(re.findall(r"[a-z]+", text.lower()))
    kinds: tuple[BehaviourKind, ...] = get_args(BehaviourKind)
    return next((kind for kind in kinds if said.startswith(kind)), "")


def _action(text: str) -> Action:
    verb = re.match(r"[A-Za-z]*", text)
    match verb[0].lower() if verb else "":
        case "click":
            return Click(target=_target(_whole(_CLICK, text)))
        case "type":
            found = _whole(_TYPE, text)
            return Type(target=_target(found), text=_string(found["text"]), enter=found["enter"] is not None)
        case "scroll":
            return Scroll(down=_whole(_SCROLL, text)["way"].lower() == "down")
        case "back" | "go":
            _whole(_BACK, text)
            return Back()
        case "goto":
            return Goto(url=_url(_whole(_GOTO, text)["url"]))
        case "note":
            return Note(text=_string(_whole(_NOTE, text)["text"]))
        case "finish":
            return _finish(text)
    raise Mistake(f"no action begins with {text.split()[0][:40]!r}; the forms are: {FORMS}")


def _whole(form: re.Pattern[str], text: str) -> re.Match[str]:
    """The first line as one of the forms: what a model adds on further lines is talk."""
    line = _CURLY.sub('"', text.strip().split("\n", 1)[0].strip().strip("`").rstrip(" .;"))
    found = form.fullmatch(line)
    if found is None:
        raise Mistake(f"{line[:120]!r} is none of the forms: {FORMS}")
    return found


def _target(found: re.Match[str]) -> Target:
    if found["number"] is not None:
        return int(found["number"])
    words = _string(found["words"])
    if not words.strip():
        raise Mistake("the words for the element are empty: say which one is meant")
    return words


def _string(quoted: str) -> str:
    try:
        text = msgspec.json.decode(quoted.encode("utf-8", "replace"), type=str)
    except msgspec.DecodeError:
        text = quoted[1:-1]
    text = " ".join(text.split())
    if len(text) > MAX_TEXT_CHARS:
        raise Mistake(f"a text of {len(text)} characters: at most {MAX_TEXT_CHARS} can be given")
    return text


def _url(url: str) -> str:
    if not re.match(r"https?://[^/\s]", url, re.IGNORECASE) or len(url) > MAX_URL_CHARS:
        raise Mistake(f"{url[:120]!r} is no address: it must begin with http:// or https:// and name a host")
    return url


def _finish(text: str) -> Finish:
    """The products, from the first brace or bracket to the last: fences and talk around them don't matter."""
    rest = text[len("finish") :]
    start = min((place for place in (rest.find("{"), rest.find("[")) if place >= 0), default=-1)
    end = max(rest.rfind("}"), rest.rfind("]"))
    example = '{"products": [{"product_name": "…", "product_url": "https://…", "reasoning": "…"}]}'
    if start < 0 or end < start:
        raise Mistake(f"finish needs the products as JSON: finish {example}")
    content = rest[start : end + 1].encode("utf-8", "replace")
    try:
        named = (
            msgspec.json.decode(content, type=list[_Product])
            if content.startswith(b"[")
            else msgspec.json.decode(content, type=_Products).products
        )
    except (msgspec.DecodeError, RecursionError) as error:
        raise Mistake(f"the products are not as they should be ({str(error)[:200]}): finish {example}") from None
    if not named:
        raise Mistake(f"finish names no product: finish {example}")
    return Finish(products=tuple(_curated(rank, one) for rank, one in enumerate(named[:MAX_PRODUCTS])))


def _curated(rank: int, one: _Product) -> Curated:
    return Curated(
        rank=rank,
        url=_url(one.product_url.strip()),
        name=" ".join(one.product_name.split())[:MAX_NAME_CHARS],
        reasoning=" ".join(one.reasoning.split())[:MAX_REASONING_CHARS],
    )


def action_text(action: Action, described: str = "") -> str:
    """An action in one line, as it is shown in the history; ``described`` says which element it was."""

    def target(of: Target) -> str:
        return f'"{of}"' if isinstance(of, str) else f"[{of}]"

    which = f" ({described})" if described else ""
    match action:
        case Click():
            return f"click {target(action.target)}{which}"
        case Type():
            return f'type {target(action.target)} "{action.text}"{" enter" if action.enter else ""}{which}'
        case Scroll():
            return f"scroll {'down' if action.down else 'up'}"
        case Back():
            return "back"
        case Goto():
            return f"goto {action.url}"
        case Note():
            return f'note "{action.text}"'
        case Finish():
            return f"finish with {len(action.products)} products"
