"""Actions in PERCU's own wording and its near relations, in texts of up to 20,000 characters."""

import re
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

from grounding.actions.calls import object_in
from grounding.actions.kinds import (
    DIALECTS,
    END,
    END_TOKENS,
    ENTRIES,
    HEADS,
    NARROW,
    NO_ACTION,
    NUMBER,
    Action,
    NotAnAction,
    Passage,
    Unparsed,
    dialect,
    key_name,
    key_names,
    make_point,
    read_said,
    split_keys,
)
from grounding.geometry import ModelPoint, Space

MAX_CHARS = 20_000  # How much of a text is read: the first characters of an action, the last ones of a reply.

_SHOWN_CHARS, _MOST_LAYERS, _MOST_BRACKETS, _MOST_POINTS = 200, 6, 6, 8
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019"}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_WRAPPINGS = {**_QUOTES, **_BRACKETS, "<": ">", "*": "*", "_": "_"}
_BULLETS = ("- ", "* ", "> ", "• ", "1. ", "1) ", "→ ", "-> ")
_FENCE = re.compile(r"```[A-Za-z]{0,16}[ \t]{0,8}\n?")
_TYPED = re.compile(r"type text\s{0,8}:", re.IGNORECASE)


def parse_action(text: str, *, space: Space = "original_px") -> Action | Unparsed:
    """Read a text that is an action from its first character on, as trajectories record them.

    What follows a complete action on its line is passed over. ``space`` is what its coordinates mean.

    >>> parse_action("press key enter"), parse_action("jump")
    (Action(kind='press key', key='enter'), Unparsed(reason='begins with none of the twelve actions', text='jump'))
    """
    if len(text) > MAX_CHARS:
        return _unparsed(f"has {len(text):,} characters, more than the {MAX_CHARS:,} that are read", text)
    return _read(text, space) if text.strip() else Unparsed(reason="is empty", text="")


def parse_reply(reply: str, *, space: Space = "original_px") -> Action | Unparsed:
    """Read the action in a free reply: behind the last ``Action:``, in a tool call, the reply itself or its last line.

    >>> parse_reply("The menu is open. **Action:** `Left-Click [640,360]`").kind
    'click'
    """
    reply = reply[-MAX_CHARS:].strip()
    if not reply:
        return Unparsed(reason="is empty", text="")
    while token := next((one for one in END_TOKENS if reply.endswith(one)), ""):
        reply = reply.removesuffix(token).rstrip()
    # A reply that is a text to type and nothing else: what the text holds announces no action then.
    typing = _TYPED.match(reply)
    text = reply[typing.end() :].strip() if typing else "\n"
    if "\n" not in text or (len(text) > 1 and text[0] == text[-1] == '"'):
        return _read(reply, space)
    section, announced = action_section(reply)
    found = _read(section, space, announced=announced)
    if isinstance(found, Action) or announced:
        return found
    last = _read(section.rpartition("\n")[2], space)
    return last if isinstance(last, Action) else found


def _read(text: str, space: Space, *, announced: bool = False) -> Action | Unparsed:
    reason = ""
    for _ in range(_MOST_LAYERS):
        text = text.strip("\r\n\t \ufeff\u200b")
        line = text.split("\n", 1)[0].rstrip()
        # A quoted text may end on the line on which it began.
        belonging = line if announced and line.endswith(tuple("\"'\u201d`")) else text
        passage = Passage(line=line, text=belonging, space=space, announced=announced)
        try:
            found = next((found for read in DIALECTS if (found := read(passage)) is not None), None)
            if found is not None:
                return found
        except NotAnAction as refusal:
            reason = reason or str(refusal)
        peeled = _peel(text, line, whole=not announced)
        if peeled in (None, text):
            break
        text = peeled or ""
    return _unparsed(reason or NO_ACTION, text)


def _peel(text: str, line: str, *, whole: bool) -> str | None:
    if fence := _FENCE.match(text):
        return text[fence.end() :].partition("```")[0]
    if text.startswith("#"):
        return text.lstrip("# ")
    bullet = next((one for one in _BULLETS if text.startswith(one)), "")
    closing = _WRAPPINGS.get(text[:1], "")
    if bullet or not closing:
        return text[len(bullet) :] if bullet else None
    inner, found, _ = (text if whole and text.endswith(closing) else line)[1:].rpartition(closing)
    return inner if found else text[1:]


def _unparsed(reason: str, text: str) -> Unparsed:
    shown = text.strip()
    return Unparsed(reason=reason, text=shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…")


_MARKER = re.compile(
    r"(?P<open>[*_`#]{0,4})(?P<quote>[\"']?)\bactions?(?:\s?\d{1,2})?\b(?P<shut>[*_`]{0,3})[ \t]{0,8}"
    r"(?:[:\uff1a](?P<late>[*_`]{0,3})|(?=\n)(?P<heading>))",
    re.IGNORECASE,
)


def action_section(reply: str) -> tuple[str, bool]:
    """The part of a reply that says what to do, and whether the reply says so. Inside the last ``<tool_call>`` or
    ``<answer>``, else behind the last ``Action:`` that is in no typed text, else all.
    """
    reply = reply.rpartition("</think>")[2]
    for tag in ("tool_call", "answer"):
        _, opened, rest = reply.rpartition(f"<{tag}>")
        inside = rest.partition(f"</{tag}>")[0].strip() if opened else ""
        if inside:
            return _behind_marker(inside) or inside, True
    behind = _behind_marker(reply)
    return (reply, False) if behind is None else (behind, True)


def _behind_marker(text: str) -> str | None:
    if object_in(text.lstrip()) is not None:  # {"action": "click", ...}: the word is a field there.
        return None
    found, typing_line = None, -1
    for marker in _MARKER.finditer(text):
        line_start = text.rfind("\n", 0, marker.start()) + 1
        # Without a colon the word is a heading only where it has the line to itself.
        is_prose = marker["heading"] is not None and text[line_start : marker.start()].strip(" \t#*_`")
        if line_start == typing_line or is_prose:
            continue
        said_from = line_start if found is None else max(line_start, found.end())
        if HEADS["type text"].match(text[said_from : marker.start()].lstrip(" \t*_`\"'{")):
            typing_line = line_start  # Behind "type text:", the rest of a line is text.
        else:
            found = marker
    if found is None:
        return None
    behind = text[found.end() :]
    if found["late"] or found["shut"]:
        return behind.lstrip("*_` \t")
    # **Action: click (1, 2)**: the mark before the word is closed behind the action.
    opened = found["open"].replace("#", "")
    first, separator, rest = behind.lstrip("\n").partition("\n")
    return first.rstrip().removesuffix(opened[::-1]) + separator + rest if opened else behind


_ALONE = re.compile(
    r"[\s(:]{0,8}(?:for\s{1,4})?[\d.]{0,8}\s{0,4}(?:m?s|sec(?:onds?)?)?[\s().!;,]{0,8}$", re.IGNORECASE | re.ASCII
)


@dialect
def read_words(passage: Passage) -> Action | None:
    """What the first words of a line name; where several actions begin so, the one with the longest beginning."""
    line = passage.line.translate(NARROW)
    heads = [(found.end(), kind) for kind, head in HEADS.items() if (found := head.match(line))]
    if not heads:
        return None
    start, kind = max(heads, key=itemgetter(0))
    if ENTRIES[kind].alone and not passage.announced and not _ALONE.match(line, start):
        return None
    return read_said(kind, Words(passage, line, start))


_AMOUNT = re.compile(
    rf"[\s:=]{{0,8}}(?:by\s{{1,4}})?[(\[]{{0,2}}\s{{0,8}}({NUMBER})(?:\s{{0,8}},\s{{0,8}}({NUMBER}))?", re.I | re.A
)
_DELTAS = re.compile(
    rf"[\s(]{{0,8}}dx\s{{0,4}}=\s{{0,4}}{NUMBER}\s{{0,4}},\s{{0,4}}dy\s{{0,4}}=\s{{0,4}}({NUMBER})", re.I | re.A
)
_DIRECTION = re.compile(r"[\s:=_]{0,8}[(\[\"']{0,3}\s{0,4}(up|down|left|right)(?:wards?)?" + END, re.IGNORECASE)
_COMMENT = re.compile(
    r"\s(?:#|//|--|-|\u2013|\u2014|\(|to\b|in order\b|and\b|then\b|on the\b|key\b|button\b)|[.;]\s|[.;!]$",
    re.IGNORECASE,
)
_KEY_LEAD = re.compile(r"(?:\s{0,8}(?:the\b|keys?\b)){0,2}[\s_]{0,8}[:=]?\s{0,8}", re.IGNORECASE)
_NAMES_TEXT = re.compile(r"[a-z]+[\s_-]{0,3}text" + END, re.IGNORECASE)
_COLON = re.compile("\\s{0,8}[:=\uff1a]")
_BEHIND_QUOTE = re.compile(r"\s{0,8}(?:#|//|--|-\s|\(|\.?$|into\b|in\b|and\b|to\b|on\b|for\b|then\b)", re.IGNORECASE)

_X, _Y = (rf"(?:{axis}\d?\s{{0,4}}[=:]\s{{0,4}})?" for axis in "xy")
_PAIR = rf"{_X}({NUMBER})(?:px)?(?:\s{{0,8}}[,;]\s{{0,8}}|\s{{1,8}}){_Y}({NUMBER})(?:px)?"
_OPEN, _SHUT = r"[(\[]{1,2}\s{0,8}", r"\s{0,8}[)\]]{1,2}"
_TAGGED = rf"<point>\s{{0,8}}(?:{_OPEN})?{_PAIR}(?:{_SHUT})?\s{{0,8}}(?:</point>|$)"
_BOXED = rf"(?:<\|box_start\|>)?{_OPEN}{_PAIR}{_SHUT}(?:<\|box_end\|>)?"
_WRITTEN = re.compile(rf"{_TAGGED}|{_BOXED}", re.IGNORECASE | re.ASCII)
_BARE = re.compile(rf"{_PAIR}(?![\d.,]*\d)", re.IGNORECASE | re.ASCII)
_FOUR = re.compile(rf"{_OPEN}{_PAIR}\s{{0,8}},\s{{0,8}}{_PAIR}{_SHUT}", re.IGNORECASE | re.ASCII)
_LEAD = re.compile(
    r"\s{0,8}[:=]?\s{0,8}(?:(?:at|on|to|the|position|point|coordinates?|location)\b[\s:]{0,8}){0,4}", re.I
)


@dataclass(frozen=True)
class Words:
    """What a line, in narrow letters, says from ``start`` on, behind the words that name the action."""

    passage: Passage
    line: str
    start: int

    def _points(self, text: str, start: int = 0) -> list[ModelPoint]:
        """Those in brackets or tags, eight at most; ``(x1, y1, x2, y2)`` are two."""
        if four := _FOUR.search(text, start):
            return [self._point(*four.groups()[:2]), self._point(*four.groups()[2:])]
        return [self._point(*match.groups()) for match in islice(_WRITTEN.finditer(text, start), _MOST_POINTS)]

    def _point(self, *written: str | None) -> ModelPoint:
        x, y = (float(one) for one in written if one is not None)
        return make_point(x, y, self.passage.space)

    def point(self) -> ModelPoint:
        lead = _LEAD.match(self.line, self.start)
        position = lead.end() if lead else self.start
        if ahead := _WRITTEN.match(self.line, position) or _BARE.match(self.line, position):
            return self._point(*ahead.groups())
        found = list(islice(_WRITTEN.finditer(self.line, self.start), _MOST_POINTS))
        before = (self.line[: one.start()].rstrip().casefold() for one in found)
        behind_at = [one for one, words in zip(found, before, strict=True) if words.endswith((" at", " position"))]
        if not found or (len(found) > 1 and not behind_at):
            raise NotAnAction("names several points" if found else "names no point (x, y)")
        return self._point(*(behind_at or found)[-1].groups())

    def ends(self) -> tuple[ModelPoint, ModelPoint]:
        points = self._points(self.line, self.start)
        if len(points) < 2:
            raise NotAnAction("is a drag without two points (x, y)")
        return points[0], points[1]

    def turn(self) -> tuple[str, float | None]:
        deltas, direction = _DELTAS.match(self.line, self.start), _DIRECTION.match(self.line, self.start)
        if deltas:
            return "", float(deltas[1])
        number = _AMOUNT.match(self.line, direction.end() if direction else self.start)
        if direction is None and number is None:
            raise NotAnAction("is a scroll without an amount or a direction")
        # Recorders write (dx, dy) before their data are refined.
        return direction[1] if direction else "", float(number[2] or number[1]) if number else None

    def keys(self, least: int = 1) -> list[str]:
        """The first of these that are nothing but keys: what is in brackets, the line, what a comment follows."""
        lead = _KEY_LEAD.match(self.line, self.start)
        rest = self.line[lead.end() if lead else self.start :].strip()
        if not rest:
            raise NotAnAction("names no key")
        if least < 2 and self._points(rest) and not key_name(rest):
            raise NotAnAction("presses a point and not a key: a recording that is not refined yet")
        # A key may be a bracket itself: the first closing one that leaves nothing but keys.
        closing = {"(": ")", "[": "]"}.get(rest[0])
        ends = [at for at, one in enumerate(rest) if at and one == closing][:_MOST_BRACKETS]
        comment = _COMMENT.search(rest, 1)
        before = rest[: comment.start()] if comment else rest
        whole = () if ends and least > 1 else (rest, before, rest.split(maxsplit=1)[0])
        bare = (one for written in whole for one in (written, _bare(written)))
        for written in (*(rest[1:end] for end in ends), *bare):
            names = [_bare(name) for name in split_keys(written)]
            try:
                key_names(names)
            except NotAnAction:
                continue
            if len(names) < least:
                raise NotAnAction("is a hotkey of one key; one key is pressed with: press key: NAME")
            return names
        return [_bare(name) for name in split_keys(rest[1 : ends[0]] if ends else before)]

    def typed(self) -> str:
        """One pair of quotes is taken off. Where nothing announced an action, "Type your name" is a sentence."""
        line, announced = self.passage.line, self.passage.announced
        colon = _COLON.match(line, self.start)
        start = colon.end() if colon else self.start
        whole = self.passage.text[start:].strip()
        rest = line[start:].strip() if announced else whole
        if whole and (closing := _QUOTES.get(whole[0])):
            for quoted in (whole, rest):
                if len(quoted) > 1 and quoted[-1] == closing:
                    return quoted[1:-1]
            end = rest.find(closing, 1)
            # A quoted text may be followed by a comment only.
            return rest[1:end] if end > 0 and _BEHIND_QUOTE.match(rest, end + 1) else rest
        if not rest:
            raise NotAnAction("types no text")
        if colon is None and len(rest) > 1 and _BRACKETS.get(rest[0]) == rest[-1]:
            inner = rest[1:-1].strip()
            return inner[1:-1] if len(inner) > 1 and _QUOTES.get(inner[0]) == inner[-1] else inner
        if colon is None and not line[start : start + 1].isspace():
            raise NotAnAction("types a text that is not set apart from the word before it")
        if colon is None and not announced and not _NAMES_TEXT.match(line):
            raise NotAnAction(NO_ACTION)
        return rest


def _bare(name: str) -> str:
    name = name.strip()
    return name if len(name) == 1 else name.strip("\"'`*[](){}<>").strip().rstrip(".,;") or name
