"""What replies say about a card, and what a run keeps of its probe (``probe.json``).

Replies are read again in every known space; distances are fractions of the picture, so that all sizes count alike. The
server's count of tokens is of text and picture together: the text is the same for all sizes of screenshot.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from grounding.atomic import atomic_write
from grounding.cards.schema import Family
from grounding.errors import UserError
from grounding.geometry import (
    ModelBox,
    ModelPoint,
    Space,
    distance_px,
    is_hit,
    point_from_original,
    point_to_original,
    smart_resize,
)
from grounding.llm.tokens import PIXELS_PER_SIDE, image_tokens
from grounding.records import ImageSizes, Point, Prediction, Record, Region, Size

PROBE_FILE = "probe.json"
SPACES: tuple[Space, ...] = get_args(Space)
WORDS: dict[Space, str] = {
    "original_px": "pixels of the screenshot",
    "sent_px": "pixels of the picture as sent",
    "resized_px": "pixels of the resized picture",
    "rel_1": "fractions from 0 to 1",
    "rel_999": "a grid of 0 to 999",
    "rel_1000": "a grid of 0 to 1000",
}
MIN_JUDGED = 6  # Fewer replies than this tell nothing about a space.
MOST_OUTSIDE, MOST_UNREAD, MIN_HITS = 0.01, 0.25, 0.5
"""Shares: more replies beyond the card's range are no slip of the model; more unread, or fewer hits, are told."""
MOST_LUCK, MOST_LUCK_FOLLOWING = 0.02, 0.005
"""A difference that luck alone makes more often than this is none. Stricter where it is asked of several readings."""
TIMES_BETTER, NEARLY_ALL, FOLLOWS, MATERIAL, ALIKE = 1.5, 0.75, 0.5, 0.02, 0.005
MOST_OTHERS = 20
CHARS_PER_TOKEN, FEWEST_CHARS_PER_TOKEN, MOST_CHARS_PER_TOKEN = 4.0, 1.5, 8.0
# What a chat template puts around the text, its own system prompt included.
USUAL_TEMPLATE_TOKENS, MOST_TEMPLATE_TOKENS = 25, 150
Level = Literal["ok", "warning", "broken"]


class ProbedReply(Record, frozen=True, kw_only=True):
    """One reply beside the place where it should have been: its numbers as the card reads them, None where it holds no
    answer. ``input_tokens`` are the server's count of the request, ``text_chars`` the length of its text.
    """

    place: ModelPoint | ModelBox | None
    sizes: ImageSizes
    region: Region
    input_tokens: int | None = None
    text_chars: int = 0

    @property
    def corners(self) -> tuple[ModelPoint, ...]:
        """The one point, or two corners of the box."""
        if isinstance(self.place, ModelBox):
            ends = ((self.place.x1, self.place.y1), (self.place.x2, self.place.y2))
            return tuple(ModelPoint(space=self.place.space, x=x, y=y) for x, y in ends)
        return () if self.place is None else (self.place,)

    def corners_in(self, space: Space, declared: Space) -> list[ModelPoint]:
        """In the declared space a card may read whole numbers otherwise, which stands."""
        return [each if space == declared else msgspec.structs.replace(each, space=space) for each in self.corners]


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


def worst(findings: Sequence[ProbeFinding]) -> Level:
    return max((finding.level for finding in findings), key=get_args(Level).index, default="ok")


# --- which space explains the replies ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reading:
    """All replies in one space: arrays with a row for each reply, NaN where it holds no answer or has no target.
    ``points`` and ``targets`` are n x 2 fractions of the screenshot, a target the middle of the region's first shape.
    """

    fit: SpaceFit
    points: Any
    targets: Any
    hit: Any

    @property
    def offset(self) -> Any:
        """Fractions of a side from each place to its own target."""
        return np.hypot(*(self.points - self.targets).T)

    def follows(self) -> bool:
        """Whether nearly all replies are much nearer to their own targets than to those of other replies."""
        placed = ~np.isnan(self.offset)
        points, targets, own = self.points[placed], self.targets[placed], self.offset[placed]
        if len(own) < 2:
            return False
        shifts = range(1, len(own), max(1, (len(own) - 1) // MOST_OTHERS))
        others = np.median([np.hypot(*(points - np.roll(targets, -shift, axis=0)).T) for shift in shifts], axis=0)
        nearer = int((own < others).sum())
        enough = _luck(nearer, len(own) - nearer) <= MOST_LUCK_FOLLOWING
        return enough and bool(np.median(own) < FOLLOWS * np.median(others))

    def much_better(self, declared: _Reading) -> bool:
        """Whether this explains the replies much better than the declared space: it hits more, or is much nearer, and
        not by luck. So many hits are none of chance, even where all targets are at one place.
        """
        if not self.follows() and self.fit.hits < NEARLY_ALL * self.fit.parsed:
            return False
        gained, lost = (self.hit & ~declared.hit).sum(), (declared.hit & ~self.hit).sum()
        if self.fit.hits >= TIMES_BETTER * declared.fit.hits and _luck(gained, lost) <= MOST_LUCK:
            return True
        if declared.follows():
            return False
        nearer = declared.offset - self.offset
        return _luck((nearer > MATERIAL).sum(), (nearer < -MATERIAL).sum()) <= MOST_LUCK

    def alike(self, other: _Reading) -> bool:
        """Whether two readings mean the same places, for these pictures."""
        apart = np.hypot(*(self.points - other.points).T)
        return bool(np.isnan(apart).all() or np.nanmedian(apart) < ALIKE)


def _luck(better: int, worse: int) -> float:
    """How often coin flips alone would favour one side so much (one-sided sign test)."""
    from scipy.stats import binomtest  # Half a second, which only a probe has to pay.

    return float(binomtest(int(better), int(better + worse), alternative="greater").pvalue) if better else 1.0


def _target(region: Region) -> tuple[float, float]:
    if region.boxes:
        return region.boxes[0].center.x_px, region.boxes[0].center.y_px
    corners = region.polygons[0].points if region.polygons else (Point(x_px=math.nan, y_px=math.nan),)
    return statistics.fmean(each.x_px for each in corners), statistics.fmean(each.y_px for each in corners)


def _read_in(space: Space, replies: Sequence[ProbedReply], declared: Space) -> _Reading:
    points, targets, hit, distances = [], [], [], []
    in_range = parsed = 0
    for reply in replies:
        size, corners = reply.sizes.original, reply.corners_in(space, declared)
        whole = size.width, size.height
        targets.append(np.divide(_target(reply.region), whole))
        hit.append(False)
        points.append(np.array((math.nan, math.nan)))
        if not corners:
            continue
        ends = [point_from_original(Point(x_px=whole[0], y_px=whole[1]), each.space, reply.sizes) for each in corners]
        parsed += 1
        in_range += all(0 <= each.x <= end.x and 0 <= each.y <= end.y for each, end in zip(corners, ends, strict=True))
        x, y = statistics.fmean(each.x for each in corners), statistics.fmean(each.y for each in corners)
        point = point_to_original(ModelPoint(space=corners[0].space, x=x, y=y), reply.sizes)
        points[-1], hit[-1] = np.divide((point.x_px, point.y_px), whole), is_hit(reply.region, point)
        distances += [found] if (found := distance_px(reply.region, point)) is not None else []
    median = round(statistics.median(distances), 1) if distances else None
    fit = SpaceFit(name=space, parsed=parsed, in_range=in_range, hits=sum(hit), median_px=median)
    return _Reading(fit, np.reshape(points, (-1, 2)), np.reshape(targets, (-1, 2)), np.array(hit, dtype=bool))


def judge_replies(
    replies: Sequence[ProbedReply], *, declared: Space
) -> tuple[tuple[SpaceFit, ...], tuple[ProbeFinding, ...]]:
    """Every space's figures, and what is wrong with the declared one, if anything is."""
    readings = {space: _read_in(space, replies, declared) for space in SPACES}
    reading = readings[declared]
    own, findings = reading.fit, []
    if (unread := len(replies) - own.parsed) > MOST_UNREAD * len(replies):
        text = f"{unread} of {len(replies)} replies hold no answer in the form that the card reads"
        findings.append(ProbeFinding(kind="unparsed", level="warning" if own.parsed else "broken", text=text))
    if (outside := own.parsed - own.in_range) > MOST_OUTSIDE * own.parsed:
        corners = [corner for reply in replies for corner in reply.corners]
        text = (
            f"{outside} of {own.parsed} replies lie outside the card's range, {WORDS[declared]}: the largest x is "
            f"{max(corner.x for corner in corners):g}, the largest y {max(corner.y for corner in corners):g}"
        )
        findings.append(ProbeFinding(kind="range", level="warning", text=text))
    fits = tuple(each.fit for each in readings.values())
    if own.parsed < MIN_JUDGED:
        return fits, tuple(findings)
    better = {
        space: other for space, other in readings.items() if not other.alike(reading) and other.much_better(reading)
    }
    if better:
        best = max(better.values(), key=lambda other: (other.fit.hits, -(other.fit.median_px or 0.0)))
        same = tuple(space for space, other in better.items() if other.alike(best))
        names = " or ".join(f"{WORDS[space]} ({space})" for space in same)
        text = (
            f"the card says {WORDS[declared]} ({declared}), where {_fit_words(own)}; read as {names}, "
            f"{_fit_words(best.fit)}"
        )
        findings.append(ProbeFinding(kind="other_space", level="warning", text=text, spaces=same))
    elif own.hits < MIN_HITS * own.parsed and reading.follows():
        text = f"{_fit_words(own)}: the replies follow the targets in the card's space, only not precisely"
        findings.append(ProbeFinding(kind="imprecise", level="ok", text=text))
    elif own.hits < MIN_HITS * own.parsed:
        text = f"{_fit_words(own)}: the replies fit neither {WORDS[declared]} ({declared}) nor any other known space"
        findings.append(ProbeFinding(kind="no_space", level="warning", text=text))
    return fits, tuple(findings)


def _fit_words(fit: SpaceFit) -> str:
    return f"{fit.hits} of {fit.parsed} replies hit and the median distance is {fit.median_px:g} px"


# --- what the server saw --------------------------------------------------------------------------------------------


class TokenLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Screenshots of one size: what the card expects of the picture and what the server counted.

    ``expected`` and ``expected_tokens`` are None where the card leaves the size to the server. ``seen_tokens`` is the
    request's count without the text, and ``seen`` a picture of so many. ``agrees`` is within the tolerance: of the
    card's size, or where it states none, of the screenshot's own.
    """

    original: Size
    expected: Size | None
    expected_tokens: int | None
    replies: int
    seen_tokens: int
    seen: Size
    agrees: bool


def text_chars(templates: Iterable[str | None], instruction: str) -> int:
    return len("".join(text for text in templates if text).replace("{instruction}", instruction))


def token_lines(
    replies: Sequence[ProbedReply], family: Family | None, *, tolerance: int, declared: bool = True
) -> tuple[TokenLine, ...]:
    """One line for each size of screenshot; none where the family's formula or the server's count isn't known.

    ``tolerance``: so many tokens of text more or fewer are no difference. ``declared``: whether the card states the
    size that the model sees; otherwise the server may do as it likes.
    """
    factor = None if family is None else PIXELS_PER_SIDE.get(family)
    if factor is None:
        return ()
    groups: dict[tuple[Size, Size, int], list[float]] = defaultdict(list)
    for reply in replies:
        original = reply.sizes.original
        most = original.width * original.height * 4
        # A picture that is neither shrunk nor enlarged: the processors round its sides to whole tokens.
        size = reply.sizes.model if declared else smart_resize(original, factor=factor, min_pixels=1, max_pixels=most)
        expected = image_tokens(family, size)
        if expected is not None and reply.input_tokens:
            groups[original, size, expected].append(reply.input_tokens - reply.text_chars / CHARS_PER_TOKEN)
    if not groups:
        return ()
    chars = statistics.median(reply.text_chars for reply in replies)
    left = {group: statistics.median(counts) for group, counts in groups.items()}
    template = _template_tokens([left[group] - group[2] for group in groups], chars, tolerance)
    lines = []
    for (original, size, expected), counts in groups.items():
        tokens = max(1, round(left[original, size, expected] - template))
        agrees = abs(tokens - expected) <= tolerance
        # The screenshot's shape at so many tokens, in whole ones.
        scale = math.sqrt(tokens * factor**2 / (original.width * original.height))
        width, height = (max(1, round(side * scale / factor)) * factor for side in (original.width, original.height))
        lines.append(
            TokenLine(
                original=original,
                expected=size if declared else None,
                expected_tokens=expected if declared else None,
                replies=len(counts),
                seen_tokens=expected if agrees else tokens,
                seen=size if agrees else Size(width=width, height=height),
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

    def support(value: float) -> tuple[int, float]:
        return sum(abs(other - value) <= tolerance for other in possible), -abs(value - USUAL_TEMPLATE_TOKENS)

    return max(possible, key=support, default=USUAL_TEMPLATE_TOKENS)


def token_findings(lines: Sequence[TokenLine]) -> tuple[ProbeFinding, ...]:
    """A warning that names the sizes at which the server saw another picture than the card says; where the card leaves
    the size to the server, a note of those that it saw smaller or larger than they are.
    """
    others = [line for line in lines if not line.agrees]
    if not others:
        return ()
    named = "; ".join(
        f"at {size_words(line.original)} the server saw about {size_words(line.seen)} ({line.seen_tokens:,} image "
        "tokens)"
        + ("" if line.expected is None else f", the card says {size_words(line.expected)} ({line.expected_tokens:,})")
        for line in others[-3:]
    )
    if all(line.expected is None for line in others):
        return (ProbeFinding(kind="tokens", level="ok", text=f"{named}; the card leaves the size to the server"),)
    return (ProbeFinding(kind="tokens", level="warning", text=named),)


def size_words(size: Size) -> str:
    return f"{size.width}x{size.height}"


# --- what a run keeps -----------------------------------------------------------------------------------------------


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


def read_probe(folder: Path) -> ProbeReport | None:
    """A run's probe; None where there is none."""
    path = folder / PROBE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProbeReport)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: can't be read ({error}); delete it to have the probe repeated") from error


def write_probe(folder: Path, report: ProbeReport) -> None:
    atomic_write(folder / PROBE_FILE, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def probe_predictions(folder: Path) -> tuple[Prediction, ...]:
    """Every reply to a run's probes that was ever paid for; raises as :func:`read_probe`."""
    probe = read_probe(folder)
    return () if probe is None else (*probe.earlier, *probe.replies)


def probe_warnings(folder: Path) -> list[str]:
    """What a run's table says of its probe, nothing where all is well; raises as :func:`read_probe`."""
    probe = read_probe(folder)
    return [] if probe is None else [f"probe: {each.text}" for each in probe.findings if each.level != "ok"]
