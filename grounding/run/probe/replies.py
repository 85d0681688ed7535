"""What replies say about a card, and what a run keeps of its probe (``probe.json``).

They are read again in every known space; distances are fractions of the picture then (1 is a whole side), so that
screenshots of all sizes count alike. The server's own count of tokens tells what it made of the pictures: it covers
text and picture together, and the text is the same for every size of screenshot, apart from the words of the
instruction, so that the sizes can be held against one another.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from grounding.atomic import atomic_write
from grounding.cards.schema import Family
from grounding.errors import UserError
from grounding.geometry import ModelBox, ModelPoint, Space, point_from_original, point_to_original, smart_resize
from grounding.llm.tokens import PIXELS_PER_SIDE, image_tokens
from grounding.records import ImageSizes, Point, Prediction, Record, Region, Size
from grounding.regions import distance_px, is_hit

SPACES: tuple[Space, ...] = get_args(Space)
WORDS: dict[Space, str] = {
    "original_px": "pixels of the screenshot",
    "sent_px": "pixels of the picture as sent",
    "resized_px": "pixels of the resized picture",
    "rel_1": "fractions from 0 to 1",
    "rel_999": "a grid of 0 to 999",
    "rel_1000": "a grid of 0 to 1000",
}
MIN_JUDGED = 6
"""Fewer replies than this tell nothing about a space."""
MOST_OUTSIDE, MOST_UNREAD, MIN_HITS = 0.01, 0.25, 0.5
"""Shares: more replies beyond the card's range are no slip of the model; more unread, or fewer hits, are told."""
MOST_LUCK, MOST_LUCK_FOLLOWING = 0.02, 0.005
"""A difference that luck alone makes more often than this is none. Stricter where it is asked of several readings."""
TIMES_BETTER, NEARLY_ALL, FOLLOWS, MATERIAL, ALIKE = 1.5, 0.75, 0.5, 0.02, 0.005
MOST_OTHERS = 20

Level = Literal["ok", "warning", "broken"]
Points = tuple[Point | None, ...]
"""All replies under one reading: the place of each on its screenshot, None where it holds no answer."""


class ProbedReply(Record, frozen=True, kw_only=True):
    """One reply beside the place where it should have been.

    ``corners`` are the numbers of the reply as the card reads them: one point, two corners of a box, or none where the
    reply holds no answer. ``input_tokens`` are the server's count of the request, ``text_chars`` the
    length of its text.
    """

    corners: tuple[ModelPoint, ...]
    sizes: ImageSizes
    region: Region
    input_tokens: int | None = None
    text_chars: int = 0

    @property
    def centre(self) -> ModelPoint | None:
        """The answer as one point, in the model's own numbers."""
        if not self.corners:
            return None
        x = statistics.fmean(corner.x for corner in self.corners)
        y = statistics.fmean(corner.y for corner in self.corners)
        return ModelPoint(space=self.corners[0].space, x=x, y=y)


class SpaceFit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How well a reading explains the replies. ``median_px`` is to the nearest edge of the target, 0 inside.

    ``in_range`` counts the replies whose numbers all lie on the picture.
    """

    name: str
    parsed: int
    in_range: int
    hits: int
    median_px: float | None


class ProbeFinding(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing that was noticed. ``spaces`` are the known spaces that would explain the replies."""

    kind: Literal["errors", "unparsed", "range", "other_space", "no_space", "imprecise", "tokens"]
    level: Level
    text: str
    spaces: tuple[Space, ...] = ()


class ProbeVerdict(Record, frozen=True, kw_only=True):
    """Every space's figures, and what they mean."""

    fits: tuple[SpaceFit, ...]
    findings: tuple[ProbeFinding, ...]


def worst(findings: Sequence[ProbeFinding]) -> Level:
    """The level of the most serious finding."""
    return max((finding.level for finding in findings), key=get_args(Level).index, default="ok")


def corners_of(place: ModelPoint | ModelBox | None) -> tuple[ModelPoint, ...]:
    """What a card read in a reply, as the points it is made of."""
    if isinstance(place, ModelBox):
        ends = ((place.x1, place.y1), (place.x2, place.y2))
        return tuple(ModelPoint(space=place.space, x=x, y=y) for x, y in ends)
    return () if place is None else (place,)


def judge_replies(observations: Sequence[ProbedReply], *, declared: Space) -> ProbeVerdict:
    """Read replies under every space and say what is wrong with the declared one, if anything is."""
    readings = {space: _read_in(space, observations, declared) for space in SPACES}
    fits = {
        space: _fit(space, points, observations, sum(_in_range(seen, space, declared) for seen in observations))
        for space, points in readings.items()
    }
    own = fits[declared]
    findings = []
    if (unread := len(observations) - own.parsed) > MOST_UNREAD * len(observations):
        text = f"{unread} of {len(observations)} replies hold no answer in the form that the card reads"
        findings.append(ProbeFinding(kind="unparsed", level="warning" if own.parsed else "broken", text=text))
    if (outside := own.parsed - own.in_range) > MOST_OUTSIDE * own.parsed:
        corners = [corner for seen in observations for corner in seen.corners]
        text = (
            f"{outside} of {own.parsed} replies lie outside the card's range, {WORDS[declared]}: the largest x is "
            f"{max(corner.x for corner in corners):g}, the largest y {max(corner.y for corner in corners):g}"
        )
        findings.append(ProbeFinding(kind="range", level="warning", text=text))
    if own.parsed >= MIN_JUDGED:
        found = _other_space(fits, readings, observations, declared)
        if found is None and own.hits < MIN_HITS * own.parsed:
            found = _unexplained(own, readings[declared], observations, declared)
        findings += [found] if found else []
    return ProbeVerdict(fits=tuple(fits.values()), findings=tuple(findings))


def _read_in(space: Space, observations: Sequence[ProbedReply], declared: Space) -> Points:
    return tuple(
        None if (said := seen.centre) is None else point_to_original(_as(said, space, declared), seen.sizes)
        for seen in observations
    )


def _as(said: ModelPoint, space: Space, declared: Space) -> ModelPoint:
    """The numbers in a space; in the declared one a card may read whole numbers otherwise, which stands."""
    return said if space == declared else msgspec.structs.replace(said, space=space)


def _in_range(seen: ProbedReply, space: Space, declared: Space) -> bool:
    """Whether every number of a reply lies on the picture, edges included."""
    size = seen.sizes.original
    for corner in seen.corners:
        taken = _as(corner, space, declared)
        end = point_from_original(Point(x_px=size.width, y_px=size.height), taken.space, seen.sizes)
        if not (0 <= taken.x <= end.x and 0 <= taken.y <= end.y):
            return False
    return bool(seen.corners)


def _hits(points: Points, observations: Sequence[ProbedReply]) -> list[bool]:
    pairs = zip(points, observations, strict=True)
    return [point is not None and is_hit(seen.region, point) for point, seen in pairs]


def _fit(name: str, points: Points, observations: Sequence[ProbedReply], in_range: int) -> SpaceFit:
    pairs = [(point, seen) for point, seen in zip(points, observations, strict=True) if point is not None]
    distances = [found for point, seen in pairs if (found := distance_px(seen.region, point)) is not None]
    return SpaceFit(
        name=name,
        parsed=len(pairs),
        in_range=in_range,
        hits=sum(_hits(points, observations)),
        median_px=round(statistics.median(distances), 1) if distances else None,
    )


# --- better, and not by luck ------------------------------------------------------------------------------------------


def _target(region: Region) -> Point | None:
    """The middle of a region's first shape."""
    if region.boxes:
        return region.boxes[0].center
    if not region.polygons:
        return None
    corners = region.polygons[0].points
    x = statistics.fmean(corner.x_px for corner in corners)
    return Point(x_px=x, y_px=statistics.fmean(corner.y_px for corner in corners))


def _apart(one: Point, size: Size, other: Point, other_size: Size) -> float:
    across = one.x_px / size.width - other.x_px / other_size.width
    return math.hypot(across, one.y_px / size.height - other.y_px / other_size.height)


def _offset(point: Point | None, seen: ProbedReply) -> float | None:
    target, size = _target(seen.region), seen.sizes.original
    return None if point is None or target is None else _apart(point, size, target, size)


def _luck(better: int, worse: int) -> float:
    """How often coin flips alone would favour one side so much (one-sided sign test)."""
    total = better + worse
    return sum(math.comb(total, count) for count in range(better, total + 1)) / (1 << total)


def follows(points: Points, observations: Sequence[ProbedReply]) -> bool:
    """Whether nearly all replies are much nearer to their own targets than to those of other replies."""
    placed = [
        (point, seen.sizes.original, target)
        for point, seen in zip(points, observations, strict=True)
        if point is not None and (target := _target(seen.region)) is not None
    ]
    if len(placed) < 2:
        return False
    shifts = range(1, len(placed), max(1, (len(placed) - 1) // MOST_OTHERS))
    own, others = [], []
    for index, (point, size, target) in enumerate(placed):
        own.append(_apart(point, size, target, size))
        strange = (placed[(index + shift) % len(placed)] for shift in shifts)
        others.append(statistics.median(_apart(point, size, theirs, theirs_size) for _, theirs_size, theirs in strange))
    nearer = sum(mine < theirs for mine, theirs in zip(own, others, strict=True))
    enough = _luck(nearer, len(own) - nearer) <= MOST_LUCK_FOLLOWING
    return enough and statistics.median(own) < FOLLOWS * statistics.median(others)


def much_better(other: Points, declared: Points, observations: Sequence[ProbedReply]) -> bool:
    """Whether another reading explains the replies much better: it hits more, or is much nearer, and not by luck."""
    ours, theirs = _hits(declared, observations), _hits(other, observations)
    # So many hits are none of chance, even where all targets are at one place.
    if not follows(other, observations) and sum(theirs) < NEARLY_ALL * sum(point is not None for point in other):
        return False
    gained = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    lost = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    if sum(theirs) >= TIMES_BETTER * sum(ours) and _luck(gained, lost) <= MOST_LUCK:
        return True
    if follows(declared, observations):
        return False
    nearer = further = 0
    for mine, another, seen in zip(declared, other, observations, strict=True):
        before, after = _offset(mine, seen), _offset(another, seen)
        if before is not None and after is not None:
            nearer += after < before - MATERIAL
            further += after > before + MATERIAL
    return bool(nearer) and _luck(nearer, further) <= MOST_LUCK


def alike(one: Points, other: Points, observations: Sequence[ProbedReply]) -> bool:
    """Whether two readings mean the same places, for these pictures."""
    apart = [
        _apart(a, seen.sizes.original, b, seen.sizes.original)
        for a, b, seen in zip(one, other, observations, strict=True)
        if a is not None and b is not None
    ]
    return not apart or statistics.median(apart) < ALIKE


# --- what is wrong with the declared space ----------------------------------------------------------------------------


def _other_space(
    fits: dict[Space, SpaceFit], readings: dict[Space, Points], observations: Sequence[ProbedReply], declared: Space
) -> ProbeFinding | None:
    own = readings[declared]
    better = [
        space
        for space, points in readings.items()
        if not alike(points, own, observations) and much_better(points, own, observations)
    ]
    if not better:
        return None
    best = max(better, key=lambda space: (fits[space].hits, -(fits[space].median_px or 0.0)))
    same = tuple(space for space in better if alike(readings[space], readings[best], observations))
    names = " or ".join(f"{WORDS[space]} ({space})" for space in same)
    return ProbeFinding(
        kind="other_space",
        level="warning",
        text=f"the card says {WORDS[declared]} ({declared}), where {_fit_words(fits[declared])}; read as {names}, "
        f"{_fit_words(fits[best])}",
        spaces=same,
    )


def _fit_words(fit: SpaceFit) -> str:
    return f"{fit.hits} of {fit.parsed} replies hit and the median distance is {fit.median_px:g} px"


def _unexplained(own: SpaceFit, points: Points, observations: Sequence[ProbedReply], declared: Space) -> ProbeFinding:
    if follows(points, observations):
        text = f"{_fit_words(own)}: the replies follow the targets in the card's space, only not precisely"
        return ProbeFinding(kind="imprecise", level="ok", text=text)
    text = f"{_fit_words(own)}: the replies fit neither {WORDS[declared]} ({declared}) nor any other known space"
    return ProbeFinding(kind="no_space", level="warning", text=text)


# --- what the server saw --------------------------------------------------------------------------------------------

CHARS_PER_TOKEN, FEWEST_CHARS_PER_TOKEN, MOST_CHARS_PER_TOKEN = 4.0, 1.5, 8.0
USUAL_TEMPLATE_TOKENS, MOST_TEMPLATE_TOKENS = 25, 150
"""What a chat template puts around the text, its own system prompt included."""


class TokenLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Screenshots of one size: what the card expects of the picture and what the server counted.

    ``expected`` and ``expected_tokens`` are None where the card leaves the size to the server. ``prompt_min``,
    ``prompt_median`` and ``prompt_max`` are the whole requests; ``seen_tokens`` is what is left for the picture without
    the text, and ``seen`` a picture of so many tokens. ``agrees`` is within the tolerance: of the card's size, or where
    it states none, of the screenshot's own.
    """

    original: Size
    expected: Size | None
    expected_tokens: int | None
    replies: int
    prompt_min: int
    prompt_median: float
    prompt_max: int
    seen_tokens: int
    seen: Size
    agrees: bool


def text_chars(templates: Iterable[str | None], instruction: str) -> int:
    """The length of all text in a request, from the card's templates."""
    return len("".join(text for text in templates if text).replace("{instruction}", instruction))


def token_lines(
    observations: Sequence[ProbedReply], family: Family | None, *, tolerance: int, declared: bool = True
) -> tuple[TokenLine, ...]:
    """One line for each size of screenshot; none where the family's formula or the server's count isn't known.

    ``tolerance``: so many tokens of text more or fewer are no difference. ``declared``: whether the card states the
    size that the model sees; otherwise the server may do as it likes.
    """
    factor = None if family is None else PIXELS_PER_SIDE.get(family)
    if factor is None:
        return ()
    groups: dict[tuple[Size, Size, int], list[ProbedReply]] = defaultdict(list)
    for seen in observations:
        original = seen.sizes.original
        most = original.width * original.height * 4
        # A picture that is neither shrunk nor enlarged: the processors round its sides to whole tokens.
        size = seen.sizes.model if declared else smart_resize(original, factor=factor, min_pixels=1, max_pixels=most)
        expected = image_tokens(family, size)
        if expected is not None and seen.input_tokens:
            groups[original, size, expected].append(seen)
    if not groups:
        return ()
    left = {
        group: statistics.median((seen.input_tokens or 0) - seen.text_chars / CHARS_PER_TOKEN for seen in found)
        for group, found in groups.items()
    }
    chars = statistics.median(seen.text_chars for found in groups.values() for seen in found)
    template = _template_tokens([left[group] - group[2] for group in groups], chars, tolerance)
    lines = []
    for (original, expected_size, expected), found in groups.items():
        prompts = [seen.input_tokens or 0 for seen in found]
        tokens = max(1, round(left[original, expected_size, expected] - template))
        agrees = abs(tokens - expected) <= tolerance
        lines.append(
            TokenLine(
                original=original,
                expected=expected_size if declared else None,
                expected_tokens=expected if declared else None,
                replies=len(found),
                prompt_min=min(prompts),
                prompt_median=statistics.median(prompts),
                prompt_max=max(prompts),
                seen_tokens=expected if agrees else tokens,
                seen=expected_size if agrees else _size_of(tokens, original, factor),
                agrees=agrees,
            )
        )
    return tuple(sorted(lines, key=lambda line: line.original.width * line.original.height))


def _template_tokens(differences: Sequence[float], chars: float, tolerance: int) -> float:
    """What the text takes beyond its characters: the figure that most sizes agree on, if it is one that text can have.

    Where the server shrinks only large pictures, the small ones show it; where none is possible, a usual one is taken.
    """
    usual = chars / CHARS_PER_TOKEN
    low = chars / MOST_CHARS_PER_TOKEN - usual - tolerance
    high = chars / FEWEST_CHARS_PER_TOKEN - usual + MOST_TEMPLATE_TOKENS
    possible = [value for value in differences if low <= value <= high]
    if not possible:
        return USUAL_TEMPLATE_TOKENS

    def support(value: float) -> tuple[int, float]:
        return sum(abs(other - value) <= tolerance for other in possible), -abs(value - USUAL_TEMPLATE_TOKENS)

    best = max(possible, key=support)
    return statistics.median(value for value in possible if abs(value - best) <= tolerance)


def _size_of(tokens: int, original: Size, factor: int) -> Size:
    """The screenshot's shape at so many tokens, in whole ones."""
    scale = math.sqrt(tokens * factor**2 / (original.width * original.height))
    width, height = (max(1, round(side * scale / factor)) * factor for side in (original.width, original.height))
    return Size(width=width, height=height)


def token_findings(lines: Sequence[TokenLine]) -> tuple[ProbeFinding, ...]:
    """What names the sizes at which the server saw another picture than the card says: a warning.

    Where the card leaves the size to the server, a note of those that it saw smaller or larger than they are.
    """
    others = [line for line in lines if not line.agrees]
    if not others:
        return ()
    named = "; ".join(
        f"at {_words(line.original)} the server saw about {_words(line.seen)} ({line.seen_tokens:,} image tokens)"
        + ("" if line.expected is None else f", the card says {_words(line.expected)} ({line.expected_tokens:,})")
        for line in others[-3:]
    )
    if all(line.expected is None for line in others):
        return (ProbeFinding(kind="tokens", level="ok", text=f"{named}; the card leaves the size to the server"),)
    return (ProbeFinding(kind="tokens", level="warning", text=named),)


def _words(size: Size) -> str:
    return f"{size.width}x{size.height}"


# --- what a run keeps -----------------------------------------------------------------------------------------------

PROBE_FILE = "probe.json"


class ProbeReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was asked, what came and what it says about the card: the content of ``probe.json``.

    ``asked`` is how many pictures there are; ``replies`` may be fewer where a cost limit was reached. ``earlier`` are
    the replies to probes that this one takes the place of: they were paid for.
    """

    schema: Literal[1] = 1
    card: str
    model: str
    declared: Space
    level: Level
    findings: tuple[ProbeFinding, ...]
    asked: int
    replied: int
    parsed: int
    hits: int
    median_offset_px: float | None
    fits: tuple[SpaceFit, ...]
    tokens: tuple[TokenLine, ...]
    replies: tuple[Prediction, ...]
    earlier: tuple[Prediction, ...] = ()

    @property
    def spaces(self) -> tuple[Space, ...]:
        """Which known spaces explain the replies, the declared one or others; none where no space does."""
        if all(finding.level == "ok" for finding in self.findings):
            return (self.declared,)
        return next((finding.spaces for finding in self.findings if finding.kind == "other_space"), ())

    @property
    def settled(self) -> bool:
        """Whether everything was asked and something readable came: what is not is worth asking again."""
        return len(self.replies) == self.asked and self.replied > 0 and self.level != "broken"

    @property
    def unreachable(self) -> str:
        """Why there is no reply at all; empty where there is one."""
        return "" if self.replied else next((reply.failure.message for reply in self.replies if reply.failure), "")

    @property
    def warnings(self) -> list[str]:
        """The findings that are more than notes."""
        return [finding.text for finding in self.findings if finding.level != "ok"]

    @property
    def all_replies(self) -> tuple[Prediction, ...]:
        """Everything that was ever paid for."""
        return (*self.earlier, *self.replies)


def read_probe(folder: Path) -> ProbeReport | None:
    """A run's probe; None where there is none.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / PROBE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProbeReport)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: can't be read ({error}); delete it to have the probe repeated") from error


def write_probe(folder: Path, report: ProbeReport) -> None:
    """Replace a run's probe in one step."""
    atomic_write(folder / PROBE_FILE, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def probe_predictions(folder: Path) -> tuple[Prediction, ...]:
    """Every reply to a run's probes; raises as :func:`read_probe`."""
    probe = read_probe(folder)
    return () if probe is None else probe.all_replies


def probe_warnings(folder: Path) -> list[str]:
    """What a run's table says of its probe, nothing where all is well; raises as :func:`read_probe`."""
    probe = read_probe(folder)
    return [] if probe is None else [f"probe: {text}" for text in probe.warnings]
