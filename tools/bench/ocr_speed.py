"""How fast does the built-in grounder read screens, beside RapidOCR's own pipeline?

Usage: python tools/bench/ocr_speed.py [DIR] [--plain N] [--first N]

Reads every image under DIR (the bundled sample by default) with cold caches, per resolution, with as many at a time as
there are cores; then N of each resolution with a plain RapidOCR call. Prints seconds of wall time per screenshot.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grounding.data.images import core_count  # noqa: E402
from grounding.grounders.ocr.engine import Engine  # noqa: E402
from grounding.grounders.ocr.reader import DiskCache, OcrReader  # noqa: E402
from grounding.records import Screenshot, Size  # noqa: E402


def _in_order(path: Path) -> tuple[str, int, str]:
    """Screens in the order of a session: they repeat what came just before."""
    return str(path.parent), int(path.stem) if path.stem.isdigit() else 0, path.name


def screenshots(folder: Path) -> list[Screenshot]:
    """Every distinct image below a folder."""
    found: dict[str, Screenshot] = {}
    for path in sorted(folder.rglob("*.png"), key=_in_order):
        with Image.open(path) as image:
            size = Size(width=image.width, height=image.height)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        found.setdefault(sha256, Screenshot(path=str(path), size=size, sha256=sha256))
    return list(found.values())


async def read_all(reader: OcrReader, shots: list[Screenshot]) -> None:
    """Read all of them, as many at a time as there are cores."""
    gate = asyncio.Semaphore(core_count())

    async def one(shot: Screenshot) -> None:
        async with gate:
            await reader.read(shot)

    await asyncio.gather(*(one(shot) for shot in shots))


def timed(work: Callable[[], object], count: int) -> tuple[float, float]:
    """Seconds of wall and of processor time per screenshot; the second also holds on a busy machine."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


def ours(engine: Engine, name: str, shots: list[Screenshot]) -> None:
    """Print the times of the built-in reader, first with empty caches, then from disk."""
    with tempfile.TemporaryDirectory() as folder:
        reader = OcrReader(DiskCache(Path(folder)), engine=engine)
        cold, cpu = timed(lambda: asyncio.run(read_all(reader, shots)), len(shots))
        reader.close()
        again = OcrReader(DiskCache(Path(folder)), engine=engine)
        warm, _ = timed(lambda: asyncio.run(read_all(again, shots)), len(shots))
        again.close()
    known = 1 - reader.crops_recognised / max(1, reader.crops_seen)
    print(
        f"ours   {name:>10} {len(shots):>4} images: {cold:.2f} s wall, {cpu:.2f} s cpu cold; {warm:.3f} s warm; ",
        end="",
    )
    print(f"{known:.0%} of {reader.crops_seen} crops known")


def plain(name: str, shots: list[Screenshot]) -> None:
    """Print the times of RapidOCR as its manual calls it."""
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "critical"})
    engine(shots[0].path)
    wall, cpu = timed(lambda: [engine(shot.path) for shot in shots], len(shots))
    print(f"plain  {name:>10} {len(shots):>4} images: {wall:.2f} s wall, {cpu:.2f} s cpu")


def main() -> None:
    """Print one line per resolution for each, and the memory that ours took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "datasets" / "sample-web", metavar="DIR")
    parser.add_argument("--plain", type=int, default=4, metavar="N", help="images of each resolution for RapidOCR")
    parser.add_argument("--first", type=int, metavar="N", help="read only the first N images")
    options = parser.parse_args()
    shots = screenshots(options.folder)[: options.first]
    if not shots:
        sys.exit(f"no *.png under {options.folder}")
    groups: dict[str, list[Screenshot]] = defaultdict(list)
    for shot in shots:
        groups[f"{shot.size.width}x{shot.size.height}"].append(shot)
    started = time.perf_counter()
    engine = Engine()
    print(f"{len(shots)} screenshots, {core_count()} cores, networks loaded in {time.perf_counter() - started:.1f} s")
    ours(engine, "all", shots)
    for name, group in sorted(groups.items()):
        ours(engine, name, group)
    print(f"peak memory of ours: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    for name, group in sorted(groups.items()):
        step = max(1, len(group) // max(1, options.plain))
        plain(name, group[::step][: options.plain])


if __name__ == "__main__":
    main()
