"""How data sets lie on disk: each module here reads one release's files, and a new one needs no line elsewhere.

A layout is a function marked :func:`samples_layout`, which yields samples, or :func:`layout`, which gives a whole data
set. Packages add theirs under the entry-point group ``grounding.data``.
"""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from grounding.data.fields import Fields, Four, Problem, read_items, read_json_lines, read_json_list, read_table
from grounding.data.folders import ImageLocator, find_files, image_folder
from grounding.data.option import local_folder, ready
from grounding.data.packed import Unpacker
from grounding.data.samples import Convention, Sample, build_dataset
from grounding.errors import UserError
from grounding.records import Dataset, GroupLabel, Record, Region


class Layout(Protocol):
    def __call__(
        self,
        data_dir: Path,
        *,
        questions: str = ...,
        history: str | None = ...,
        participants: Collection[str] = ...,
        name: str = ...,
        deep: bool = ...,
    ) -> Dataset:
        """Load the data set called ``name``; raise ``DatasetProblems`` with everything that is wrong.

        ``questions`` is passed only where the user chose a file: the default is the layout's own.
        """
        ...


class KnownLayout(Record, frozen=True, kw_only=True):
    """A layout; those of desktop tasks give a ``DesktopDataset``, which an agent answers with actions."""

    load: Callable[..., Any]
    is_desktop: bool = False


_known: dict[str, KnownLayout] = {}
LoadT = TypeVar("LoadT", bound=Callable[..., Any])


def layout(name: str, *, is_desktop: bool = False) -> Callable[[LoadT], LoadT]:
    def mark(load: LoadT) -> LoadT:
        _known[name] = KnownLayout(load=load, is_desktop=is_desktop)
        return load

    return mark


@dataclass
class Release:
    """A folder with a data set as a layout reads it, and what it finds wrong or odd there.

    ``questions`` is the file or the set of instructions that the user chose, or the layout's default. ``participants``
    are those to load, empty for all. What is added to ``problems`` keeps the data set from being used.
    """

    folder: Path
    questions: str
    with_history: bool
    participants: Collection[str]
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def wants(self, participant: str) -> bool:
        return not self.participants or participant in self.participants

    def find(self, *names: str, what: str) -> list[Path]:
        """The files of these names or patterns, at any depth up to three; a UserError where none is there."""
        return find_files(self.folder, names, what=what)

    def pictures(self, beside: Path, *names: str, archive: str = "") -> ImageLocator:
        """The pictures that items name, in the first of these folders that is there, else where the file lies.

        Without such a folder, ``archive`` beside the file or in the data set's folder is unpacked into the cache.
        """
        if not names or beside.suffix == ".parquet":
            return ImageLocator(beside.parent, self.folder)
        try:
            return ImageLocator(image_folder(self.folder, beside.parent, names), self.folder)
        except UserError:
            places = (beside.parent / archive, self.folder / archive) if archive else ()
            packed = next((each for each in places if each.is_file()), None)
            if packed is None:
                raise
        unpacked = ready(local_folder(packed))
        return ImageLocator(image_folder(unpacked, unpacked, names), self.folder)

    def items(self, file: Path) -> Iterator[Fields]:
        """The fields of each object in a file: a JSON list, JSON lines, CSV, or parquet with or without pictures."""
        if file.suffix == ".parquet":
            unpacker = Unpacker(file.name)
            for number, row in enumerate(unpacker.parquet(file)):
                picture = unpacker.picture(row.picture) if row.picture else None
                yield Fields(str(file), number, row.values, self.problems, picture=picture)
            return
        found: Iterable[object] = ()
        if file.suffix == ".jsonl":
            found = (line.values for line in read_json_lines(file, self.problems))
        elif file.suffix == ".csv":
            found = read_table(file, self.problems)
        else:
            found = read_json_list(file, self.problems) or ()
        yield from read_items(found, file, self.problems)

    def sample(
        self,
        fields: Fields,
        pictures: ImageLocator,
        participant: str,
        *,
        image: str,
        instruction: str,
        box: str,
        number: object = "",
        groups: Mapping[str, str] | None = None,
        convention: Convention | None = None,
        absent: bool = False,
        mend: Callable[[Four], Four] = lambda numbers: numbers,
    ) -> Iterator[Sample]:
        """The one sample that an item is, or none after a problem.

        Args:
            fields: The item.
            pictures: Where its picture is looked for.
            participant: Whose it is: the id is ``participant/number``, with the item's place in its file as the number.
            image: The field that names the picture.
            instruction: The field with the words.
            box: The field with four numbers.
            number: What stands for the item in its id.
            groups: By kind, what it counts to; "" counts to nothing.
            convention: What its four numbers mean, where that is not the layout's own.
            absent: Whether what is asked for is not on the screen; then no box is read.
            mend: What the release's own code makes of the four numbers before it scores.
        """
        shown = pictures.named_by(fields, image)
        words = fields.text(instruction, "write what is to be found")
        numbers = None if absent else fields.four(box)
        if shown is not None and (numbers is not None or absent):
            labels = {**(groups or {}), **({"target": "absent"} if absent else {})}
            yield Sample(
                file=fields.file,
                item=fields.item,
                field=box,
                id=f"{participant}/{fields.item if number == '' else number}",
                participant=participant,
                image=shown,
                instruction=words,
                boxes=() if numbers is None else (mend(numbers),),
                convention=convention,
                region=Region() if absent else None,
                target_absent=absent,
                groups=tuple(GroupLabel(kind=kind, name=name) for kind, name in labels.items() if name),
            )


def samples_layout(
    name: str, *, convention: Convention, questions: str | tuple[str, ...] = ()
) -> Callable[[Callable[[Release], Iterable[Sample]]], Layout]:
    """Mark a function that yields the samples of a release; what all such data sets share is done here.

    ``questions`` is the file that is read unless the user names another; or what ``--questions`` may be, the default
    first; or nothing, where there is nothing to choose.
    """
    called, choices = name, (questions,) if isinstance(questions, str) else questions

    def mark(read: Callable[[Release], Iterable[Sample]]) -> Layout:
        @layout(called)
        def load(
            data_dir: Path,
            *,
            questions: str | None = None,
            history: str | None = None,
            participants: Collection[str] = (),
            name: str = called,
            deep: bool = False,
        ) -> Dataset:
            if questions is not None and not is_file and questions not in choices:
                there = f"--questions {' or '.join(choices)}" if choices else "one set of instructions; leave it out"
                raise UserError(f"--questions {questions}: this data set has {there}")
            release = Release(Path(data_dir), questions or "".join(choices[:1]), history is not None, participants)
            samples = list(read(release))
            return build_dataset(
                samples,
                release.problems,
                name=name,
                convention=convention,
                participants=participants,
                deep=deep,
                warnings=release.warnings,
            )

        return load

    is_file = isinstance(questions, str)
    return mark


@cache
def built_in() -> dict[str, KnownLayout]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _known
