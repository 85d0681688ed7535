"""Small pictures of page segments that stand in the page itself, as many as a budget of bytes allows."""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grounding.records import Record
from grounding.webagents.agenticshop.records import Extraction, Judgement

BUDGET_BYTES = 12 << 20
"""What all small pictures of a page may take together, as text."""

WIDTH_PX = 300
_TALLEST_PX = 900
_QUALITY = 45
_MOST_PIXELS = 50_000_000
_PREFIX = "data:image/webp;base64,"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class Pictures(Record, frozen=True, kw_only=True):
    """Data URLs by the name of the file; how many files had no room; what was wrong with others."""

    urls: dict[str, str]
    left_out: int = 0
    problems: tuple[str, ...] = ()


def is_evidence_name(name: str) -> bool:
    """Whether a name can be one of the evidence folder's own: it leads nowhere else."""
    return _NAME.fullmatch(name) is not None


def picture_order(extractions: Iterable[Extraction], judgements: Iterable[Judgement]) -> tuple[str, ...]:
    """Which segments come first: the top of each page, then what a verdict points at, then the rest."""
    pages = {one.step_id: one.page for one in extractions if one.page is not None and one.page.segments}
    tops = [page.segments[0].file for page in pages.values()]
    pointed = []
    for judgement in judgements:
        page = pages.get(judgement.step_id.removesuffix(f"/{judgement.judge}"))
        for verdict in judgement.verdicts:
            if page is not None and verdict.place is not None and 0 <= verdict.place.segment < len(page.segments):
                pointed.append(page.segments[verdict.place.segment].file)
    rest = [segment.file for page in pages.values() for segment in page.segments[1:]]
    return tuple(dict.fromkeys([*tops, *pointed, *rest]))


def make_pictures(
    files: Sequence[str],
    read: Callable[[str], bytes],
    *,
    budget_bytes: int = BUDGET_BYTES,
    cache: Path | None = None,
) -> Pictures:
    """Make small pictures in the given order until the budget is used up.

    Args:
        files: Names in the folder of evidence, the most wanted first.
        read: Gives a file's bytes; OSError or ValueError where it can't.
        budget_bytes: How long all data URLs may be together.
        cache: Where they are kept for the next page; files are named after their content. None to keep none.
    """
    urls: dict[str, str] = {}
    problems: list[str] = []
    left, tried = budget_bytes, 0
    workers = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        # A few at a time, so that little is made in vain once the budget is used up.
        for start in range(0, len(files), 8 * workers):
            some = files[start : start + 8 * workers]
            for name, made in zip(some, pool.map(lambda one: _bring(one, read, cache), some), strict=True):
                tried += 1
                if isinstance(made, str):
                    problems.append(f"{name[:80]}: {made}")
                    continue
                url = _PREFIX + base64.b64encode(made).decode()
                if len(url) <= left:
                    urls[name] = url
                    left -= len(url)
            if left < len(_PREFIX) + 2_000:
                break
    return Pictures(urls=urls, left_out=len(files) - len(urls) - len(problems), problems=tuple(problems))


def _bring(name: str, read: Callable[[str], bytes], cache: Path | None) -> bytes | str:
    """A small picture, or what was wrong."""
    if not is_evidence_name(name):
        return "no name of a file of evidence"
    kept = None if cache is None else cache / f"{name}.{WIDTH_PX}.webp"
    try:
        if kept is not None and kept.exists():
            return kept.read_bytes()
        content = small_picture(read(name))
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            draft = kept.with_name(f".{kept.name}.{os.getpid()}.new")
            draft.write_bytes(content)
            draft.replace(kept)
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        # Pillow says SyntaxError of broken PNG files, and ValueError of pictures that it can't convert.
        return str(getattr(error, "strerror", None) or error)
    return content


def small_picture(content: bytes) -> bytes:
    """A picture as a small WebP picture.

    Raises:
        OSError: it is no picture.
        ValueError: it claims to be too large.
    """
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        if image.width * image.height > _MOST_PIXELS:
            raise ValueError(f"{image.width} x {image.height} pixels are too many")
        small = image.convert("RGB")
    small.thumbnail((WIDTH_PX, _TALLEST_PX), Image.Resampling.BILINEAR, reducing_gap=2.0)
    out = io.BytesIO()
    small.save(out, "WEBP", quality=_QUALITY, method=2)
    return out.getvalue()
