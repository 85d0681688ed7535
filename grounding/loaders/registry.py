"""From the name of a data set to its records: cards say which layout, layouts say how to read it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Protocol

from grounding.desktop_records import DesktopDataset
from grounding.errors import UserError
from grounding.loaders import (
    androidcontrol,
    mind2web,
    omniact,
    osworld_g,
    percu,
    realwebassist,
    screenspot,
    screenspot_pro,
)
from grounding.loaders.captions import caption_path, with_captions
from grounding.loaders.cards import DatasetCard, ExpectedCounts, dataset_cards, read_card
from grounding.loaders.counts import count_desktop, count_steps, differences
from grounding.loaders.folders import find_participants
from grounding.loaders.problems import DatasetProblems, Problem
from grounding.places import datasets_dir
from grounding.records import Dataset, Record
from grounding.sources.option import local_folder, ready

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


_BUILT_IN: dict[str, Layout] = {
    realwebassist.NAME: realwebassist.load,
    screenspot.NAME: screenspot.load,
    screenspot.V2_NAME: screenspot.load_v2,
    screenspot_pro.NAME: screenspot_pro.load,
    osworld_g.NAME: osworld_g.load,
    mind2web.NAME: mind2web.load,
    androidcontrol.NAME: androidcontrol.load,
    omniact.NAME: omniact.load,
}

_DESKTOP: dict[str, Callable[..., DesktopDataset]] = {
    percu.NAME: percu.load,
    percu.TRACKER_NAME: percu.load_tracker,
}
"""Layouts of recorded desktop tasks, which an agent answers with actions instead of points."""

WEB_LAYOUTS = ("personalwab", "agenticshop")
"""Layouts of benchmarks in the room ``webagents``, which reads them itself."""


def load_dataset(
    name: str,
    data_dir: Path | str | None = None,
    *,
    questions: str | None = None,
    history: str | None = None,
    participants: Collection[str] = (),
    history_of: Collection[str] = (),
    deep: bool = False,
) -> Dataset:
    """Load a data set by the name of its card, by the path of a card, or by the name of a layout.

    Args:
        name: ``realwebassist``, ``sample-web``, ``my/card.yaml``, or a layout that an installed package adds.
        data_dir: Where the files lie: a folder, an archive, or the URL of either, which is fetched into the cache
            folder; not needed for a bundled data set.
        questions: Name of the questions file, or what else the layout lets one choose; None for the card's or the
            layout's own default.
        history: Name of the history file, the path of a file that ``grounding caption`` wrote, ``auto``, or None for
            no history.
        participants: Names of the participants to load; empty for all.
        history_of: Names of the participants that such a file must be complete for; empty for all that are loaded.
        deep: Decode every screenshot as well.

    Raises:
        DatasetProblems: The data is wrong; every problem is in it.
        UserError: The name is not known, or the files are not there.
    """
    source = _find(name, data_dir)
    if source.is_desktop:
        raise UserError(
            f"the data set {source.name!r} holds desktop tasks, which are answered with actions and not with points: "
            "choose an agent as the grounder"
        )
    captions = caption_path(history)
    chosen = questions or source.questions
    named = {} if chosen is None else {"questions": chosen}
    dataset = source.layout(
        source.folder,
        **named,
        history=None if captions else history,
        participants=participants,
        name=source.name,
        deep=deep,
    )
    return with_captions(dataset, captions, history_of) if captions else dataset


def load_desktop(
    name: str, data_dir: Path | str | None = None, *, tasks: Collection[str] = (), deep: bool = False
) -> DesktopDataset:
    """Load a data set of desktop tasks by the name of its card, by the path of a card, or by the name of a layout.

    Args:
        name: ``percu``, ``pc-tracker``, ``my/card.yaml``.
        data_dir: Where the files lie; not needed for a bundled data set.
        tasks: Ids of the tasks to load; empty for all.
        deep: Decode every screenshot as well.

    Raises:
        DatasetProblems: The data is wrong; every problem is in it.
        UserError: The name is not known, the files are not there, or the data set holds no desktop tasks.
    """
    source = _find(name, data_dir)
    if not source.is_desktop:
        raise UserError(f"the data set {source.name!r} holds no desktop tasks: its steps are answered with points")
    dataset: DesktopDataset = source.layout(source.folder, tasks=tasks, name=source.name, deep=deep)
    return dataset


def participant_folders(
    name: str, data_dir: Path | str | None = None, *, questions: str | None = None
) -> dict[str, Path]:
    """The participants' folders of a data set in RealWebAssist's layout, where its recordings and transcripts lie.

    Raises:
        DatasetProblems: There are no such folders.
        UserError: The name is not known, the files are not there, or the layout has no participants' folders.
    """
    source = _find(name, data_dir)
    if source.layout is not realwebassist.load:
        raise UserError(
            f"the data set {source.name!r} has no recordings: transcripts need the layout of realwebassist, with audio "
            "and transcriptions in every participant's folder"
        )
    problems: list[Problem] = []
    chosen = questions or source.questions or realwebassist.QUESTIONS
    folders = find_participants(source.folder, chosen, (), problems)
    if problems:
        raise DatasetProblems(problems)
    return {folder.participant: folder.path for folder in folders}


class Located(Record, frozen=True, kw_only=True):
    """Where a data set lies, how it is laid out, and what its card says that it holds."""

    name: str
    layout: str
    folder: Path
    expected: ExpectedCounts = ExpectedCounts()


def locate(name: str, data_dir: Path | str | None = None) -> Located:
    """Find a data set by the name of its card, by the path of a card, or by the name of a layout, whatever it holds.

    Raises:
        UserError: The name is not known, or the files are not there.
    """
    source = _find(name, data_dir)
    return Located(name=source.name, layout=source.layout_name, folder=source.folder, expected=source.expected)


def layout_of(name: str) -> str:
    """The layout of a data set, by the name or path of its card or by the layout's own name.

    Raises:
        UserError: The card is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return read_card(Path(name)).layout
    card = dataset_cards().get(name)
    return name if card is None else card.layout


def is_desktop(name: str) -> bool:
    """Whether a data set, by the name or path of its card or the name of its layout, holds desktop tasks.

    Raises:
        UserError: The card is wrong.
    """
    return layout_of(name) in _DESKTOP


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
    return list(
        inspect_dataset(
            name, data_dir, questions=questions, history=history, participants=participants, deep=deep
        ).problems
    )


class Inspection(Record, frozen=True, kw_only=True):
    """What a check found: problems keep the data set from being used, warnings do not.

    ``summary`` says in one line how much the data set holds; "" where the layout doesn't count.
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str = ""


def inspect_dataset(
    name: str,
    data_dir: Path | str | None = None,
    *,
    questions: str | None = None,
    history: str | None = None,
    participants: Collection[str] = (),
    deep: bool = True,
) -> Inspection:
    """As ``check_dataset``, with what is odd besides: loaders' warnings, and counts that are not those of the card.

    Counts are compared where everything is loaded.

    Raises:
        UserError: The name is not known, or the files are not there.
    """
    expected = _find(name, data_dir).expected
    try:
        if is_desktop(name):
            counts = count_desktop(load_desktop(name, data_dir, tasks=participants, deep=deep))
            warnings: tuple[str, ...] = ()
        else:
            dataset = load_dataset(
                name, data_dir, questions=questions, history=history, participants=participants, deep=deep
            )
            counts, warnings = count_steps(dataset.sessions), dataset.warnings
    except DatasetProblems as found:
        return Inspection(problems=found.problems)
    return Inspection(warnings=(*warnings, *(() if participants else differences(counts, expected))))


def layouts() -> list[str]:
    """The names of the layouts that can be read: the built-in one and those of installed packages."""
    from importlib.metadata import entry_points

    return sorted({*_BUILT_IN, *_DESKTOP, *WEB_LAYOUTS, *(point.name for point in entry_points(group=ENTRY_POINTS))})


class _Source(Record, frozen=True, kw_only=True):
    name: str
    layout: Callable[..., Any]
    folder: Path
    layout_name: str
    is_desktop: bool = False
    questions: str | None = None
    expected: ExpectedCounts = ExpectedCounts()


def _find(name: str, given: Path | str | None) -> _Source:
    data_dir = None if given is None else local_folder(given)
    cards = dataset_cards()
    if name in cards:
        return _source(cards[name], data_dir, datasets_dir(), origin=str(datasets_dir() / f"{name}.yaml"))
    if name in layouts():
        if data_dir is None:
            raise UserError(f"the data set {name!r} does not come with the package: say where it lies, with --data-dir")
        layout = _layout(name, origin="the data set's name")
        return _Source(name=name, layout=layout, folder=ready(data_dir), layout_name=name, is_desktop=name in _DESKTOP)
    if name.endswith((".yaml", ".yml")):
        return _source(read_card(Path(name)), data_dir, Path(name).parent, origin=name)
    known = [*cards, *layouts()]
    if Path(name).is_dir():
        names = ", ".join(sorted(set(known)))
        raise UserError(f"{name} is a folder: give it with --data-dir, and as the data set one of: {names}")
    raise UserError(f"no data set is called {name!r}{_close_to(name, known)}")


def _source(card: DatasetCard, data_dir: Path | None, beside: Path, origin: str) -> _Source:
    layout = _layout(card.layout, origin=f"{origin}: layout")
    is_desktop = card.layout in _DESKTOP
    known: dict[str, Any] = {"name": card.name, "layout": layout, "layout_name": card.layout, "is_desktop": is_desktop}
    known |= {"questions": card.questions, "expected": card.expected}
    if data_dir is not None:
        return _Source(**known, folder=ready(data_dir))
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
    return _Source(**known, folder=folder)


def _layout(name: str, origin: str) -> Callable[..., Any]:
    from importlib.metadata import entry_points

    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _DESKTOP:
        return _DESKTOP[name]
    if name in WEB_LAYOUTS:
        return _refuse_web
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


def _refuse_web(*_: object, name: str, **__: object) -> Dataset:
    raise UserError(f"the data set {name!r} holds tasks for web agents, which are not answered with points")


def _close_to(name: str, known: Iterable[str]) -> str:
    names = sorted(set(known))
    close = difflib.get_close_matches(name.casefold(), names, n=1)
    guess = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{guess}; there are: {', '.join(names)}"
