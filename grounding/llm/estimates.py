"""What a run would take, before anything is asked: requests, tokens, dollars.

Also requests as files for reading: the body as JSON, with its pictures beside it.
"""

import base64
import hashlib
import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.cards.schema import ChatCard
from grounding.console import say
from grounding.errors import UserError
from grounding.llm.budget import dollars
from grounding.llm.tokens import RequestTokens
from grounding.records import Record

MIN_REPLIES = 5  # Fewer real replies say less than the card.


class TokenRange(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Tokens of a reply, on average over a run: a low, an expected and a high figure, and where they come from."""

    low: float
    expected: float
    high: float
    source: str


def output_spread(
    card: ChatCard, replies: Sequence[int], requests: int, limit: int | None, usual: TokenRange | None = None
) -> TokenRange | None:
    """The output tokens of a request; None where neither the card nor earlier replies say anything. Real replies give
    their mean, and as low and high what the mean of the coming ones is within with about 95 %: twice the standard error
    of both. ``limit`` is the most that a reply can have; ``requests`` are to come; ``usual`` is taken where there are
    too few replies.
    """
    if len(replies) >= MIN_REPLIES:
        mean = statistics.fmean(replies)
        error = 2 * statistics.stdev(replies) * math.sqrt(1 / len(replies) + 1 / max(1, requests))
        low, expected, high = max(1.0, mean - error), mean, mean + error
        source = f"{len(replies):,} earlier replies to this prompt, {mean:,.0f} tokens on average"
    elif usual is not None:
        low, expected, high, source = usual.low, usual.expected, usual.high, usual.source
    elif card.output_tokens is not None:
        said = card.output_tokens
        low, expected, high, source = said.low, said.expected, said.high, f"the card: {said.source}"
    elif limit is not None:
        # Nothing is known but that a reply has at least a token and no more than its limit.
        low, expected, high, source = 1.0, float(limit), float(limit), "the request's limit"
    else:
        return None
    most = math.inf if limit is None else limit
    return TokenRange(low=min(low, most), expected=min(expected, most), high=min(high, most), source=source)


Role = Literal["planner", "grounder", "probe", "agent", "user", "extractor", "judge"]
TEXT_ERROR = 0.05  # How far the count of a long text may be off: part of the low and the high figure.


class AlreadyAnswered(Record, frozen=True, kw_only=True):
    """What is there already: steps answered in the run folder, and in the plan store. ``outputs`` are the output tokens
    of real replies to the same prompt. ``shared`` are plans that an earlier run of the same command will have asked for
    by then.
    """

    answered: int = 0
    stored: int = 0
    shared: int = 0
    outputs: tuple[int, ...] = ()


class ModelEstimate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one model would be asked for. Dollars are None without a price, and None where tokens are not known. Where
    an answer takes more than one request, ``requests`` is the least and ``most_requests`` the most: tokens are those of
    the least, the high figure that of the most, and nothing is expected in between. ``image_tokens`` is None where no
    rule for the model's pictures is known: its input is then the text alone.
    """

    role: Role
    name: str
    requests: int
    most_requests: int
    answered: int
    stored: int
    shared: int
    text_tokens: int
    image_tokens: int | None
    output: TokenRange | None
    low_usd: float | None
    expected_usd: float | None
    high_usd: float | None
    price_date: str
    notes: tuple[str, ...] = ()


def estimate_model(
    role: Role,
    card: ChatCard,
    asks: Sequence[RequestTokens],
    known: AlreadyAnswered,
    *,
    notes: Sequence[str] = (),
    calls: tuple[int, int] = (1, 1),
    usual: TokenRange | None = None,
) -> ModelEstimate:
    """Add up the requests to one model. Input that a provider has cached is billed for less: that is not counted on.
    ``asks`` are the requests, or the first request of each answer, which takes between the least and the most
    ``calls``, each counted as long as the first. ``usual`` is how long replies are taken for as long as there are too
    few of them.
    """
    text = sum(ask.text for ask in asks)
    counted = [ask.images for ask in asks if ask.images is not None]
    images = sum(counted) if len(counted) == len(asks) else None
    limits = [ask.output_most for ask in asks if ask.output_most is not None]
    limit = max(limits) if len(limits) == len(asks) and limits else None
    output = output_spread(card, known.outputs, len(asks), limit, usual)
    told = list(notes)
    if images is None:
        told.append("the tokens of its pictures are not known (no rule in the card): text only")
    if card.price is None:
        told.append("no price in the card: tokens only")
    elif output is None:
        told.append("the length of its replies is not known, so no dollars are stated")
    low = expected = high = None
    if card.price is not None and images is not None and output is not None:
        low, expected, high = (
            ((text * share + images) * card.price.input_usd + len(asks) * tokens * card.price.output_usd) / 1_000_000
            for share, tokens in ((1 - TEXT_ERROR, output.low), (1, output.expected), (1 + TEXT_ERROR, output.high))
        )
    elif not asks and card.price is not None:
        low = expected = high = 0.0
    least, most = calls
    return ModelEstimate(
        role=role,
        name=card.name,
        requests=least * len(asks),
        most_requests=most * len(asks),
        answered=known.answered,
        stored=known.stored,
        shared=known.shared,
        text_tokens=least * text,
        image_tokens=None if images is None else least * images,
        output=output,
        low_usd=None if low is None else least * low,
        expected_usd=None if expected is None or least != most else least * expected,
        high_usd=None if high is None else most * high,
        price_date=card.price.date if card.price else "",
        notes=tuple(told) if asks else (),
    )


def total_usd(models: Sequence[ModelEstimate]) -> tuple[float, float | None, float] | None:
    """Low, expected and high over all models with a price, expected None where one has a range only; None for none."""
    priced = [(model.low_usd, model.expected_usd, model.high_usd) for model in models if model.low_usd is not None]
    if not priced:
        return None
    low, expected, high = (sum(usd or 0.0 for usd in column) for column in zip(*priced, strict=True))
    return low, None if any(usd is None for _, usd, _ in priced) else expected, high


def usd_words(total: tuple[float, float | None, float]) -> str:
    low, expected, high = total
    between = f"{dollars(low)} to {dollars(high)}"
    return between if expected is None else f"{dollars(expected)} expected, {between}"


_DATA = re.compile(r"data:image/(?P<kind>png|jpeg|webp);base64,(?P<content>[A-Za-z0-9+/=]+)")


def clear(folder: Path) -> None:
    """Make the folder, without the requests and pictures that an earlier look left in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in (*folder.glob("*-*.json"), *folder.glob("picture-*")):
            path.unlink()
    except OSError as error:
        raise UserError(f"the folder {folder} can't be written: {error.strerror} (see --log-dir)") from error


def write_request(folder: Path, name: str, content: bytes) -> str:
    """Write the body of a request, and its pictures byte for byte beside it; returns the file's name."""
    pictures: dict[str, bytes] = {}
    body = _without_pictures(msgspec.json.decode(content), pictures)
    for picture, shown in pictures.items():
        write_file(folder / picture, shown)
    write_file(folder / f"{name}.json", msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n")
    return f"{name}.json"


def write_file(path: Path, content: bytes) -> None:
    """Write a file of the folder."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror}") from error


def _without_pictures(node: Any, pictures: dict[str, bytes]) -> Any:
    if isinstance(node, dict):
        return {key: _without_pictures(value, pictures) for key, value in node.items()}
    if isinstance(node, list):
        return [_without_pictures(value, pictures) for value in node]
    found = _DATA.fullmatch(node) if isinstance(node, str) else None
    if found is None:
        return node
    content = base64.b64decode(found["content"])
    name = f"picture-{hashlib.sha256(content).hexdigest()[:12]}.{found['kind'].replace('jpeg', 'jpg')}"
    pictures[name] = content
    return name


def print_estimates(console: Console, models: Sequence[ModelEstimate], *, title: str) -> None:
    table = Table(title=Text(title), title_style="bold", title_justify="left")
    table.add_column("model", overflow="fold")
    for name in ("requests", "there already", "text in", "pictures in", "out", "low", "expected", "high"):
        table.add_column(name, justify="right", overflow="fold")
    lines = []
    for model in models:
        who, least, each = f"{model.role} {model.name}", f"{model.requests:,}", model.output
        table.add_row(
            Text(who),
            least if model.requests == model.most_requests else f"{least} to {model.most_requests:,}",
            f"{model.answered + model.stored + model.shared:,}",
            f"{model.text_tokens:,}",
            "?" if model.image_tokens is None else f"{model.image_tokens:,}",
            "?" if each is None else f"{model.requests * each.expected:,.0f}",
            *("-" if usd is None else dollars(usd) for usd in (model.low_usd, model.expected_usd, model.high_usd)),
        )
        there = {
            "answered in the run folder": model.answered,
            "plans in the store": model.stored,
            "plans asked for by an earlier run of this command": model.shared,
        }
        if any(there.values()):
            found = ", ".join(f"{number:,} {words}" for words, number in there.items() if number)
            lines.append(f"{who}: there already: {found}")
        if model.requests != model.most_requests:
            lines.append(
                f"{who}: how many requests an answer takes is not known: tokens are of the fewest, and every request "
                "is counted as long as the first, though later ones of a conversation are longer"
            )
        if model.requests and each is not None:
            lines.append(
                f"{who}: output tokens a reply: {each.low:,.0f} low, {each.expected:,.0f} expected, "
                f"{each.high:,.0f} high, from {each.source}"
            )
        lines += [f"{who}: {note}" for note in model.notes]
    total = total_usd(models)
    dates = ", ".join(sorted({model.price_date for model in models if model.price_date}))
    priced = f"; prices of {dates}" if dates else ""
    lines.append("total: no dollars known" if total is None else f"total: {usd_words(total)}{priced}")
    console.print(table)
    for line in lines:
        say(console, line)
