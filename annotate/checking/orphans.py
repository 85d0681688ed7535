"""Pictures that lie among the others and that no step names."""

from __future__ import annotations

from collections.abc import Iterator

from annotate.formats.pictures import SUFFIXES
from annotate.formats.records import Finding, Place, Reading
from grounding.loaders.folders import natural_key


def orphan_pictures(reading: Reading) -> Iterator[Finding]:
    """The pictures in the folders of the steps' pictures that no step names; other folders hold other things."""
    named = {item.picture for sheet in reading.sheets for item in sheet.items if item.picture is not None}
    for folder in dict.fromkeys(picture.parent for picture in named):
        if not folder.is_dir():
            continue
        for file in sorted(folder.iterdir(), key=lambda path: natural_key(path.name)):
            if file.suffix.casefold() in SUFFIXES and not file.name.startswith(".") and file not in named:
                fix = "add a step for it, or take it out"
                problem = Place(file=str(file)).problem("is a picture that no step names", fix)
                yield Finding(kind="orphan-image", problem=problem)
