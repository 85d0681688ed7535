"""From the name of a data set to its records: cards say which layout, layouts say how to read it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Protocol

from grounding.errors import UserError
from grounding.loaders import realwebassist
from grounding.loaders.cards import DatasetCard, dataset_cards, read_card
from grounding.loaders.problems import DatasetProblems, Problem
from grounding.places import datasets_dir
from grounding.records import Dataset, Record

ENTRY_POINTS = "grounding.loaders"


class Layout(Protocol):
    """Reads one layout of files. Packages add their own under the entry-point group ``grounding.loaders``."""

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


_BUILT_IN: dict[str, Layout] = {realwebassist.NAME: realwebassist.load}


def load_dataset(
    name: str,
    data_dir: Path | str | None = None,
    *,
    questions: str | None = None,
    history: str | None = None,
    participants: Collection[str] = (),
    deep: bool = False,
) -> Dataset:
    """Load a data set by the name of its card, by the path of a card, or by the name of a layout.

    Args:
        name: ``realwebassist``, ``sample-web``, ``my/card.yaml``, or a layout that an installed package adds.
        data_dir: Where the files lie; not needed for a bundled data set.
        questions: Name of the questions file; None for the layout's own default.
        history: Name of the history file, ``auto``, or None for no history.
        participants: Names of the participants to load; empty for all.
        deep: Decode every screenshot as well.

    Raises:
        DatasetProblems: The data is wrong; every problem is in it.
        UserError: The name is not known, or the files are not there.
    """
    source = _find(name, None if data_dir is None else Path(data_dir))
    if questions is None:
        return source.layout(source.folder, history=history, participants=participants, name=source.name, deep=deep)
    return source.layout(
        source.folder, questions=questions, history=history, participants=participants, name=source.name, deep=deep
    )


def check_dataset(
    name: str,
    data_dir: Path | str | None = None,
    *,
    questions: str | None = None,
    history: str | None = None,
    participants: Collection[str] = (),
    deep: bool = True,
) -> list[Problem]:
    """Everything that would keep ``load_dataset`` from loading, every screenshot decoded; empty when all is well.

    Raises:
        UserError: The name is not known, or the files are not there.
    """
    try:
        load_dataset(name, data_dir, questions=questions, history=history, participants=participants, deep=deep)
    except DatasetProblems as found:
        return list(found.problems)
    return []


def layouts() -> list[str]:
    """The names of the layouts that can be read: the built-in one and those of installed packages."""
    from importlib.metadata import entry_points

    return sorted({*_BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINTS))})


class _Source(Record, frozen=True, kw_only=True):
    name: str
    layout: Callable[..., Dataset]
    folder: Path


def _find(name: str, data_dir: Path | None) -> _Source:
    cards = dataset_cards()
    if name in cards:
        return _source(cards[name], data_dir, datasets_dir(), origin=str(datasets_dir() / f"{name}.yaml"))
    if name in layouts():
        if data_dir is None:
            raise UserError(f"the data set {name!r} does not come with the package: say where it lies, with --data-dir")
        return _Source(name=name, layout=_layout(name, origin="the data set's name"), folder=data_dir)
    if name.endswith((".yaml", ".yml")):
        return _source(read_card(Path(name)), data_dir, Path(name).parent, origin=name)
    known = [*cards, *layouts()]
    if Path(name).is_dir():
        names = ", ".join(sorted(set(known)))
        raise UserError(f"{name} is a folder: give it with --data-dir, and as the data set one of: {names}")
    raise UserError(f"no data set is called {name!r}{_close_to(name, known)}")


def _source(card: DatasetCard, data_dir: Path | None, beside: Path, origin: str) -> _Source:
    layout = _layout(card.layout, origin=f"{origin}: layout")
    if data_dir is not None:
        return _Source(name=card.name, layout=layout, folder=data_dir)
    if card.path is None:
        how = f" To get it:\n{card.download.rstrip()}" if card.download.strip() else ""
        raise UserError(
            f"the data set {card.name!r} ({card.title}) does not come with the package: say where it lies, with "
            f"--data-dir.{how}"
        )
    folder = beside / card.path
    if not folder.is_dir():
        raise UserError(
            f"{origin}: path = {card.path!r}: there is no folder {folder}; restore it, or give another with --data-dir"
        )
    return _Source(name=card.name, layout=layout, folder=folder)


def _layout(name: str, origin: str) -> Callable[..., Dataset]:
    from importlib.metadata import entry_points

    if name in _BUILT_IN:
        return _BUILT_IN[name]
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            found = point.load()
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"the layout {name!r} ({point.value}) cannot be imported: {error}; see to the package that brings it"
            ) from error
        if not callable(found):
            raise UserError(f"the layout {name!r} ({point.value}) must be a function that loads a data set")
        return found  # type: ignore[no-any-return]
    raise UserError(f"{origin} = {name!r}: no such layout{_close_to(name, layouts())}")


def _close_to(name: str, known: Iterable[str]) -> str:
    names = sorted(set(known))
    close = difflib.get_close_matches(name.casefold(), names, n=1)
    guess = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{guess}; there are: {', '.join(names)}"
