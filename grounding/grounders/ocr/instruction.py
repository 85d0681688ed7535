"""What does an instruction ask for? Its words in, a query out. Pure; knows nothing of any screen.

What models write around an answer: reasons before it, the user's words again. Text in, the answer's part out. Pure.

Quotations are left out of the search, so that a comma or a verb inside one counts for nothing.
"""

import re
from itertools import zip_longest
from typing import Literal

from grounding.grounders.ocr import lexicon
from grounding.records import Record

# An apostrophe inside a word neither opens nor closes a quotation; planners write bold for quoted.
QUOTED = re.compile(r"(?<!\w)['\"\u2018\u201c`\u00ab](.+?)['\"\u2019\u201d`\u00bb](?!\w)|\*\*(.+?)\*\*")
_HIDDEN = "\ue000"

# The user's own words, told again: they are what is being answered, not the answer.
_SAID = re.compile(rf"\b(?:instructions?|user said|request|said|command)(?: (?:is|was|of|to))?[:,]? ?{_HIDDEN}")
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
)  # Purpose ("To choose a date, ..."), grounds ("Based on the page, ..."), announcement ("The right element is ...").


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


Relation = Literal["near", "below", "above", "left", "right"]
Place = Literal["top", "bottom", "left", "right", "middle"]


class Context(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Words written elsewhere, and where the target lies from there. ``sure`` tells that they were quoted or put in
    brackets: then they are on the screen as they stand.
    """

    text: str
    relation: Relation
    sure: bool = False


class Quotes(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Quoted texts by what they are for, and the instruction without them."""

    targets: tuple[str, ...]
    contexts: tuple[Context, ...]
    typed: tuple[str, ...]
    rest: str


# The top right of a panel is a corner, not what is right of it.
_NO_CORNER = r"(?<!top )(?<!bottom )(?<!upper )(?<!lower )"
_RELATIONS: tuple[tuple[Relation, str], ...] = (
    # "under $50" is written on filters: before an amount the word places nothing.
    ("below", r"(?:directly |just |right )?(?:under(?:neath)?|below|beneath)(?! ?(?:an? |about |around )?[$€£]?\d)"),
    ("above", r"(?:directly |just |right )?(?:above|on top of)(?! ?(?:an? |about |around )?[$€£]?\d)"),
    (
        "left",
        _NO_CORNER
        + r"(?:(?:to|on) the |just )?(?:immediate )?left (?:side )?of(?! the (?:page|screen|window))|in front of",
    ),
    (
        "right",
        _NO_CORNER
        + r"(?:(?:to|on) the |just )?(?:immediate )?right (?:side )?of(?! the (?:page|screen|window))|behind",
    ),
    ("near", r"next to|beside|near(?:est)?(?: to)?|close(?:st)? to|alongside|adjacent to|inside(?: of)?|within"),
)  # Said between the target and something else; the target comes first.
_WEAK = (
    r"in|of|for|from|by|with|on|at|that (?:says|has|costs|is|reads)|that's|which|where|whose|showing|priced"
    r"|belonging to|associated with|corresponding to"
)  # The same, but texts on screens contain these words too.
# Here the little word belongs to the verb and relates nothing.
_VERB_ON = re.compile(r"\b(?:click(?:ing)?|press|tap|focus|go|interact|correct element) (?:on|with|in|for)\b")
_MARKERS = re.compile(
    r"\b(?:(?P<type>typ(?:e|ing)|enter(?:ing)?|write|input|search(?:ing)? for|look(?:ing)? for|look up)"
    r"|(?P<act>click(?:ing)?(?: on)?|press|tap(?: on)?|select|choose|pick|open|hit|go to|is the|field|box"
    r"|label+ed(?: as| with)?|titled|named|called|say(?:s|ing)|read(?:s|ing)|(?:text|placeholder))"
    rf"|(?P<relation>{'|'.join(pattern for _, pattern in _RELATIONS)}|{_WEAK}))(?!\w)"
)

_WHOLE = re.compile(
    r"\b(?:card|poster|image|picture|photo|cover|tile|thumbnail|listing|result|row|entry|line|page|tab)"
    r" (?:of|for|showing|with) (?:the )?$"
)  # The card of a thing is clicked at its name ...
# ... unless a part of the card was named before.
_PART = re.compile(r"\b(?:button|icon|checkbox|arrow|swatch|plus|minus|link|field|box|menu|heart|star)\b")
_PLACES: tuple[tuple[tuple[Place, ...], str], ...] = (
    (("top", "left"), r"(?:(?:at|on|in|to|near) the )?(?:top|upper)[- ]left"),
    (("top", "right"), r"(?:(?:at|on|in|to|near) the )?(?:top|upper)[- ]right"),
    (("bottom", "left"), r"(?:(?:at|on|in|to|near) the )?(?:bottom|lower)[- ]left"),
    (("bottom", "right"), r"(?:(?:at|on|in|to|near) the )?(?:bottom|lower)[- ]right"),
    (
        ("top",),
        r"(?:at|on|near|in|to|from) the (?:very |main |page |site )?(?:top|header|nav(?:igation)?|toolbar|upper)",
    ),
    (("top",), r"(?:top|upper)(?:most)? one|all the way up|up top"),
    (("bottom",), r"(?:at|on|near|in|to|from) the (?:very |page |site )?(?:bottom|footer|lower)"),
    (("bottom",), r"(?:bottom|lower)(?:most)? one|all the way down|down below"),
    (("left",), r"(?:at|on|in|to|from) the (?:far |very )?left|(?:in|on) the (?:filter )?sidebar|left(?:most)? one"),
    (("right",), r"(?:at|on|in|to|from) the (?:far |very )?right|right(?:most)? one"),
    (("middle",), r"(?:at|on|in) the (?:very )?(?:middle|cent(?:er|re))|middle one"),
)

_PLACE_TAIL = (
    r"(?:[- ](?:hand|side|corner|part|half|section|area|bar|menu|column|panel|cent(?:er|re)|middle))*"
    r"(?: of (?:the|this|your|my) (?:web ?)?(?:page|screen|window|site|website|view|browser))?(?!\w)"
)


def take_quotes(text: str) -> Quotes:
    """Sort quoted texts into what to click, what lies near it, and what to type, by the words before each."""
    targets: list[str] = []
    contexts: list[Context] = []
    typed: list[str] = []
    rest: list[str] = []
    end = 0
    for match in QUOTED.finditer(text):
        quote = (match[1] or match[2]).strip().rstrip(",")
        before = text[end : match.start()].lower()
        rest.append(text[end : match.start()])
        end = match.end()
        if not quote:
            continue
        relation = last_relation(before)
        markers = list(_MARKERS.finditer(_VERB_ON.sub("click", before)))
        last = markers[-1].lastgroup if markers else None
        if last == "type":
            typed.append(quote)
        elif not targets and _WHOLE.search(before) and not _PART.search(before):
            targets.append(quote)
        elif relation is not None and (last == "relation" or targets):
            contexts.append(Context(text=quote, relation=relation, sure=True))
        elif targets:
            contexts.append(Context(text=quote, relation="near", sure=True))
        else:
            targets.append(quote)
    rest.append(text[end:])
    return Quotes(targets=tuple(targets), contexts=tuple(contexts), typed=tuple(typed), rest=" ".join(rest))


def last_relation(text: str) -> Relation | None:
    """The relation said last in a text; strong words come before weak ones."""
    found: Relation | None = None
    at = -1
    for name, pattern in _RELATIONS:
        for match in re.finditer(rf"\b(?:{pattern})(?!\w)", text):
            if match.start() > at:
                found, at = name, match.start()
    if found is None and re.search(rf"\b(?:{_WEAK})\b", _VERB_ON.sub("click", text)):
        return "near"
    return found


def split_strong(text: str) -> tuple[str, Relation, str] | None:
    """Cut words at the first "under", "next to" and the like."""
    found: tuple[str, Relation, str] | None = None
    at = len(text)
    for name, pattern in _RELATIONS:
        match = re.search(rf"\b(?:{pattern})(?!\w)", text)
        if match is not None and match.start() < at:
            found, at = (text[: match.start()], name, text[match.end() :]), match.start()
    return found


def splits_weak(text: str) -> list[tuple[str, str]]:
    """Every way to cut words at an "of", "for", "with" and the like."""
    text = _VERB_ON.sub("click", text)
    return [(text[: match.start()], text[match.end() :]) for match in re.finditer(rf"\b(?:{_WEAK})\b", text)]


def take_places(text: str) -> tuple[tuple[Place, ...], str]:
    """The named parts of the screen, and the words without them."""
    places: list[Place] = []
    for names, pattern in _PLACES:
        rest = re.sub(rf"\b(?:{pattern}){_PLACE_TAIL}", " ", text)
        if rest != text:
            text = rest
            places += [name for name in names if name not in places]
    return tuple(places), text


Preference = Literal["", "cheapest", "dearest", "best rated", "most reviewed"]
Widget = Literal["", "back", "tab", "new tab", "close", "address bar", "search field"]


class Phrase(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Words that may be written on the target. ``weight`` says how sure that is, at most 1."""

    text: str
    weight: float


class Parsed(Record, frozen=True, kw_only=True):
    """An instruction taken apart.

    ``phrases`` are alternatives. ``ordinal`` is 1 for the first, -1 for the last, 0 for none said. ``price`` is an
    amount of money that is said of the target. ``exact`` tells that the phrases were quoted, ``speaks_of_tab`` that a
    tab was spoken of ("close the second tab"), ``wants_field`` that the target is a field to type in.
    """

    phrases: tuple[Phrase, ...] = ()
    contexts: tuple[Context, ...] = ()
    ordinal: int = 0
    places: tuple[Place, ...] = ()
    preference: Preference = ""
    widget: Widget = ""
    price: float | None = None
    exact: bool = False
    speaks_of_tab: bool = False
    wants_field: bool = False


_PREFERENCES: tuple[tuple[Preference, str], ...] = (
    ("cheapest", r"cheap(?:er|est)|(?:least|less) expensive|lowe(?:st|r)[- ]pric(?:ed|e)|lowest cost"),
    ("dearest", r"(?:most|more) expensive|pric(?:iest|ier)|highe(?:st|r)[- ]pric(?:ed|e)"),
    (
        "best rated",
        r"(?:highest|best|top|better|higher)[- ]rat(?:ed|ings?)|(?:most|more) stars|best reviewed"
        r"|(?:best|highest) (?:score|reviews)",
    ),
    ("most reviewed", r"most[- ](?:review(?:s|ed)|ratings|popular)"),
)

_SORTING = re.compile(r"\b(?:sort|order|show|rank|list|put)\b.*\bfirst\b|\b(?:sort|order|rank)\b.*\bby\b")
_ASIDE = re.compile(r"\(([^)]*)\)")
_FIELD = re.compile(r"\b(?:field|input|text ?box|text ?area)\b|\bmy\b.*\b(?:is|are)\b")
_CLOCK = re.compile(r"\b(\d{1,2}|one) (15|30|45)\b(?! ?(?:dollars|bucks|percent|%))")

_ORDINAL = re.compile(
    # "last name" is a field and "a second" a moment.
    rf"(?<!\ba )\b(?P<word>{'|'.join(lexicon.ORDINALS)})\b(?! (?:names?|class|time|week|month|year|night|minute)\b)"
)

_DAY = re.compile(rf"\b({lexicon.MONTHS})\.? (?:the )?(\d+)(?:st|nd|rd|th)\b")
_MONEY = re.compile(r"[$€£]\s?(\d{1,6}(?:[.,]\d\d)?)(?!\d)")
_SAID_MONEY = re.compile(r"\b(\d+(?:\.\d\d)?) ?(?:dollars?|bucks|usd)\b")

_WIDGETS: tuple[tuple[Widget, str], ...] = (
    (
        "new tab",
        r"(?<!in )(?<!in a )(?<!of the )\b(?:a |open )?(?:new|another) (?:browser )?tab(?: button)?\b|open a tab",
    ),
    ("address bar", r"(?:address|url|location) bar|(?:address|url) (?:field|box)|\burl\b"),
    (
        "back",
        r"\bgo(?:ing)? (?:right |all the way )?back\b(?: to)?|\bback (?:button|arrow|icon)"
        r"|(?:the |to )?previous page|^(?:now )?back(?: to)?\b",
    ),
    (
        "close",
        r"\bclose\b(?! to)|\bexit (?:out|this|the)\b(?: of)?|\bx out\b(?: of)?|\bdismiss\b"
        r"|\bx (?:button|icon|mark)\b",
    ),
    ("tab", r"\b(?:browser )?tabs?\b"),
    (
        "search field",
        r"\bsearch (?:bar|box|field|input|text ?box|area)\b(?: field)?|\bsearch(?:ing)? (?:for|up)\b.*"
        r"|^search (?!button|icon|results?)\w+.*",
    ),
)  # Parts that every browser has, in the order in which they are looked for.


def parse(instruction: str) -> Parsed:
    """Take an English instruction apart; a query without phrases for words that name no text."""
    quotes = take_quotes(essential(" ".join(instruction.split())))
    rest = _DAY.sub(r"\1 \2", _SAID_MONEY.sub(r"$\1", _digits(quotes.rest.lower())))
    rest = _without_opening(re.sub(r"\b(?:kind|sort) of\b", " ", rest))
    asides = tuple(Context(text=aside, relation="near", sure=True) for aside in _ASIDE.findall(rest) if words_of(aside))
    rest = _CLOCK.sub(_on_the_clock, _ASIDE.sub(" ", rest))
    money = _MONEY.search(rest)
    speaks_of_tab = re.search(r"\btabs?\b", rest) is not None
    widget = _widget(" ".join((rest, *quotes.targets)).lower())
    for name, pattern in _WIDGETS:
        if name == widget:
            rest = re.sub(pattern, " ", rest)
    preference: Preference = ""
    sorting = _SORTING.search(rest) is not None
    for wanted, pattern in _PREFERENCES:
        if re.search(rf"\b(?:{pattern})\b", rest):
            # "Show the cheapest first" asks for an order, which has a control of its own.
            preference = "" if sorting else wanted
            rest = wanted if sorting else re.sub(rf"\b(?:{pattern})\b", " ", rest)
            break
    ordinal = 0
    said = _ORDINAL.search(rest)
    if said is not None:
        ordinal, rest = lexicon.ORDINALS[said["word"]], rest[: said.start()] + rest[said.end() :]
    # Relations first: "to the left of the total" is no part of the screen.
    strong = split_strong(rest)
    places, named = take_places(rest if strong is None else strong[0])
    behind, behind_words = ((), "") if strong is None else take_places(strong[2])
    exact = bool(quotes.targets)
    phrases, contexts = _loose(named, exact, may_split=strong is None)
    if sorting:
        # The order by its name, or else the control that opens the list of orders.
        phrases = (*_loose(named.split(" by ")[-1], exact, may_split=False)[0], Phrase(text="sort", weight=0.75))
    if strong is not None and _content(behind_words):
        contexts = (*contexts, Context(text=_content(behind_words), relation=strong[1]))
    if exact:
        phrases = tuple(Phrase(text=text, weight=1.0) for text in quotes.targets)
    if not phrases and quotes.typed and not widget:
        phrases = tuple(Phrase(text=text, weight=0.6) for text in quotes.typed)
    if not (phrases or contexts or quotes.contexts or widget or ordinal or preference or places or money):
        # Only words that describe were said, and now and then they are what is written: "click Select".
        last = [word for word in words_of(rest) if word in lexicon.ACTIONS | lexicon.KINDS][-1:]
        phrases = tuple(Phrase(text=word, weight=0.9) for word in last)
    return Parsed(
        phrases=phrases,
        contexts=(*quotes.contexts, *contexts, *asides),
        ordinal=ordinal,
        places=(*places, *behind),
        preference=preference,
        widget=widget,
        price=float(money[1].replace(",", ".")) if money else None,
        exact=exact,
        speaks_of_tab=speaks_of_tab,
        wants_field=_FIELD.search(quotes.rest.lower()) is not None,
    )


def _widget(text: str) -> Widget:
    """The part of a browser that is spoken of first; of two at one place the one that is looked for first."""
    found: Widget = ""
    at = len(text)
    for name, pattern in _WIDGETS:
        match = re.search(pattern, text)
        if match is not None and match.start() < at:
            found, at = name, match.start()
    return found


def words_of(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[$€£]?\w+(?:[.,'\u2019&/:-]\w+)*%?|[+\u00d7]", text.lower()))


def _loose(text: str, has_target: bool, may_split: bool) -> tuple[tuple[Phrase, ...], tuple[Context, ...]]:
    """Phrases and contexts of unquoted words. "Add to cart for the blue shirt" may be one text on the screen, or "add
    to cart" near "blue shirt": both are kept as alternatives, the shorter one at a little less weight.
    """
    contexts: list[Context] = []
    alternatives = [Phrase(text=_content(text), weight=1.0), Phrase(text=_as_said(text), weight=1.0)]
    for split in splits_weak(text):
        head, tail = _content(split[0]), _content(split[1])
        if not tail or not (head or has_target):
            continue
        shorter = [Phrase(text=head, weight=0.95), Phrase(text=_as_said(split[0]), weight=0.95)]
        # "the one that is $20" names a price of its card; no text says it all.
        alternatives = shorter if _MONEY.fullmatch(tail) else alternatives + shorter
        if may_split:
            contexts.append(Context(text=tail, relation="near"))
        break
    alternatives = [phrase for phrase in alternatives if not _MONEY.fullmatch(phrase.text)]
    seen: dict[str, Phrase] = {}
    for phrase in alternatives:
        if phrase.text:
            seen.setdefault(phrase.text, phrase)
    return tuple(seen.values()), tuple(contexts)


def _content(text: str) -> str:
    words = words_of(text)
    dropped = lexicon.FILLERS | lexicon.ACTIONS | lexicon.KINDS
    kept = [
        word
        for word, following in zip_longest(words, words[1:])
        if word not in dropped and not (word in lexicon.COLOURS and following in lexicon.KINDS)
    ]
    return " ".join(_trimmed(kept, lexicon.STOPS, lexicon.LINKS))


def _as_said(text: str) -> str:
    """The words in one piece, without what leads up to them: texts such as "Write a review" contain actions too."""
    front = lexicon.FILLERS | lexicon.STOPS | lexicon.CLICKS
    words = _trimmed(list(words_of(text)), front, lexicon.LINKS | lexicon.KINDS | lexicon.FILLERS)
    describing = lexicon.FILLERS | lexicon.ACTIONS | lexicon.KINDS | lexicon.STOPS
    return "" if all(word in describing for word in words) else " ".join(words)


def _trimmed(words: list[str], front: frozenset[str], back: frozenset[str]) -> list[str]:
    while words and words[0] in front:
        words = words[1:]
    while words and words[-1] in back:
        words = words[:-1]
    return words


def _digits(text: str) -> str:
    """Amounts and ages are said in words and written in digits; "one" mostly stands for a thing."""
    numbers = {**lexicon.NUMBERS, **lexicon.DAYS}
    return re.sub(
        r"\b[a-z]+\b",
        lambda match: match[0] if match[0] == "one" else numbers.get(match[0], match[0]),
        re.sub(r"\ba hundred\b", "hundred", text),
    )


def _on_the_clock(match: re.Match[str]) -> str:
    return f"{lexicon.NUMBERS.get(match[1], match[1])}:{match[2]}"


def _without_opening(text: str) -> str:
    words = text.split()
    while len(words) > 1 and words[0].strip(",.!?") in lexicon.FILLERS:
        words.pop(0)
    return " ".join(words).strip(" .,!?")
