"""Makes the bundled mall: shops, drawings, users and the reference, from the hand-written sources beside this file.

``python -m tools.sample_mall.build``, from the root of the repository, writes datasets/sample-mall. It needs no network
and no chance: the same sources give the same files to the byte. README.md there is written by hand and left alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.benchmarks.agenticshop.mall.shops import Shop
from tools.sample_mall.drawing import draw
from tools.sample_mall.goods import SHOPS, make_shop, read_source, slug_of_goods
from tools.sample_mall.people import profiles, references

ROOT = Path(__file__).resolve().parents[2]
MADE = ("shops", "pictures", "reference")


def build(folder: Path) -> None:
    """Write everything that is made into a folder, in place of what was made there before."""
    for name in MADE:
        shutil.rmtree(folder / name, ignore_errors=True)
    for old in folder.glob("*_user_profile.json"):
        old.unlink()
    shops = []
    for name in SHOPS:
        source = read_source(name)
        shop = make_shop(name, source)
        shops.append(shop)
        _write(folder / "shops" / f"{name}.json", msgspec.json.format(msgspec.json.encode(shop), indent=1).decode())
        _draw_all(folder / "pictures" / name, shop, source)
    for key, users in profiles().items():
        _write(folder / f"{key}_user_profile.json", _text(users))
    for key, outputs in references(shops).items():
        _write(folder / "reference" / f"{key}_search_output.json", _text(outputs))


def _draw_all(folder: Path, shop: Shop, source: dict) -> None:  # type: ignore[type-arg]
    drawn = {slug_of_goods(one): str(one["draw"]) for one in source["goods"]}
    for goods in shop.goods:
        for number, name in enumerate(goods.pictures):
            _write(folder / name, draw(drawn[goods.slug], goods.brand, number))
    for place in shop.places:
        if place.picture:
            some = [drawn[slug] for slug in place.goods[:4]]
            _write(folder / place.picture, draw(" + ".join(some), "", 0))


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Build into datasets/sample-mall, or into another folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "datasets" / "sample-mall", help="the folder to write")
    build(parser.parse_args(arguments).to)


if __name__ == "__main__":
    main()
