"""What models write around an answer: reasons before it, the user's words again. Text in, the answer's part out. Pure.

Quotations are left out of the search, so that a comma or a verb inside one counts for nothing.
"""

from __future__ import annotations

import re

QUOTED = re.compile(r"(?<!\w)['\"\u2018\u201c`\u00ab](.+?)['\"\u2019\u201d`\u00bb](?!\w)|\*\*(.+?)\*\*")
"""An apostrophe inside a word neither opens nor closes a quotation; planners write bold for quoted."""

_HIDDEN = "\ue000"
_SAID = re.compile(rf"\b(?:instructions?|user said|request|said|command)(?: (?:is|was|of|to))?[:,]? ?{_HIDDEN}")
"""The user's own words, told again: they are what is being answered, not the answer."""
_VERBS = (
    r"click|select|choose|press|tap|use|find|locate|focus|interact|go|the (?:correct|target|element)|you|simply|type"
)
_PREAMBLES = (
    re.compile(rf"^(?:in order )?to \b[^.]{{3,160}}?, (?=(?:{_VERBS})\b)", re.IGNORECASE),
    re.compile(
        rf"^(?:based on|given|considering|according to|following)\b[^.]{{3,200}}?, (?=(?:{_VERBS})\b)", re.IGNORECASE
    ),
    re.compile(
        r"^[^.]{0,160}?\b(?:correct|right|appropriate|relevant|target) (?:ui )?(?:element|action|thing)s?\b"
        r"[^.]{0,160}?\b(?:is|are|would be|should be|will be)\b(?: to\b)?",
        re.IGNORECASE,
    ),
)
"""Purpose ("To choose a date, ..."), grounds ("Based on the page, ..."), announcement ("The right element is ...")."""


def essential(instruction: str) -> str:
    """Drop what only leads up to the answer, and quotations of the user's own words."""
    # Printers put the comma that ends a clause inside the quotation.
    instruction = re.sub(r",(['\"\u2019\u201d])(?=\s)", r"\1,", instruction)
    quotes = [match[0] for match in QUOTED.finditer(instruction)]
    hidden = QUOTED.sub(_HIDDEN, instruction.replace(_HIDDEN, " "))
    said = (
        {match.end() - 1 for match in _SAID.finditer(hidden.lower())} if len(hidden.lower()) == len(hidden) else set()
    )
    places = [index for index, character in enumerate(hidden) if character == _HIDDEN]
    shown = {place: "" if place in said else quote for place, quote in zip(places, quotes, strict=False)}
    start = 0
    for pattern in _PREAMBLES:
        match = pattern.search(hidden[start:])
        # What leads up to nothing was the answer itself.
        if match is not None and re.search(rf"\w|{_HIDDEN}", hidden[start + match.end() :]):
            start += match.end()
    return "".join(shown.get(index, character) for index, character in enumerate(hidden) if index >= start).strip()
