"""Data sets by name: cards (one YAML file each) say what a data set is and which layout reads it; layouts say how."""

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.cards.functions import is_function, loaded_function
from grounding.cards.places import datasets_dir
from grounding.data.address import HUB, parse_address
from grounding.data.desktop_records import DesktopDataset
from grounding.data.fields import DatasetProblems, Problem
from grounding.data.folders import find_participants
from grounding.data.history import caption_path, with_captions
from grounding.data.layouts import built_in, realwebassist
from grounding.data.option import local_folder, ready
from grounding.data.samples import Convention
from grounding.errors import UserError
from grounding.records import Dataset, Record, Session

ENTRY_POINTS = "grounding.data"
WEB_LAYOUTS = ("personalwab", "agenticshop")  # Layouts of benchmarks that read them themselves.


class ExpectedCounts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the publication says the data set holds, to compare a copy with; None where it does not say.

    ``absent_steps`` are those whose target is not on the screen, ``screenshots`` different pictures. ``groups`` has the
    number of scored steps by kind of group and group. ``train_instructions`` and ``test_instructions`` are those of
    the two splits of a shop.
    """

    participants: int | None = None
    tasks: int | None = None
    instructions: int | None = None
    train_instructions: int | None = None
    test_instructions: int | None = None
    scored_instructions: int | None = None
    steps: int | None = None
    scored_steps: int | None = None
    absent_steps: int | None = None
    screenshots: int | None = None
    groups: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)


class DatasetCard(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One data set.

    ``layout`` names the loader. ``path`` is the data set's folder beside the card where it comes with the package,
    None where it has to be fetched: ``download`` says how. ``licence`` is that of the data. ``reference`` is a file
    beside the card with an explicit instruction for each scored step, in the layout of saved plans. ``questions`` is
    what the layout reads without ``--questions``, where that is not its own default. ``hub`` has the repositories of
    the Hugging Face hub that the layout reads, with a pattern of the files that are needed, "" for all. ``boxes`` says
    what the four
    numbers of a box mean in the release, ``grouping`` which kinds of groups its publication reports, and ``benchmark``
    under which name the cards of models state their figures.
    """

    name: str
    title: str
    layout: str
    source: str
    licence: str
    path: str | None = None
    reference: str | None = None
    questions: str | None = None
    hub: dict[str, str] = msgspec.field(default_factory=dict)
    boxes: Convention | None = None
    grouping: tuple[str, ...] = ()
    benchmark: str = ""
    download: str = ""
    citation: str = ""
    notes: str = ""
    expected: ExpectedCounts = ExpectedCounts()


def dataset_cards() -> dict[str, DatasetCard]:
    """The cards that come with the package, by name, in alphabetical order. Raises UserError: a card is wrong."""
    cards = {}
    for file in sorted(datasets_dir().glob("*.yaml"), key=lambda one: one.stem):
        cards[file.stem] = read_card(file)
        if cards[file.stem].name != file.stem:
            name = cards[file.stem].name
            raise UserError(f"{file}: name = {name!r}: must be the name of the file, {file.stem!r}")
    return cards


def read_card(file: Path) -> DatasetCard:
    """One card. Raises UserError: the file cannot be read, is not YAML, or has a wrong, missing or unknown field."""
    import yaml

    try:
        return msgspec.yaml.decode(file.read_bytes(), type=DatasetCard)
    except OSError as error:
        raise UserError(f"{file}: the data set card cannot be read ({error.strerror})") from error
    except msgspec.ValidationError as error:
        raise UserError(
            f"{file}: {error}. A data set card has the fields {_names(DatasetCard)}; "
            f"expected has {_names(ExpectedCounts)}, whole numbers"
        ) from error
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise UserError(f"{file}: is not YAML: {' '.join(str(error).split())}") from error


def _names(card_type: type[msgspec.Struct]) -> str:
    return ", ".join(
        field.name + (" (needed)" if field.required else "") for field in msgspec.structs.fields(card_type)
    )


def _card(name: str) -> tuple[DatasetCard, Path] | None:
    """A card by its name, its path or a repository of the hub, and its file; None where the name is no card's."""
    if name.endswith((".yaml", ".yml")):
        return read_card(Path(name)), Path(name)
    name = on_the_hub(name)[0]
    file = datasets_dir() / f"{name}.yaml"
    return (read_card(file), file) if file in datasets_dir().glob("*.yaml") else None


def on_the_hub(name: str, data_dir: Path | None = None) -> tuple[str, Path | None]:
    """The card's name and the folder of a data set that is named by its repository on the Hugging Face hub.

    ``likaixin/ScreenSpot-Pro`` and ``hf://datasets/likaixin/ScreenSpot-Pro@REVISION`` are ``screenspot-pro`` with such
    a folder, unless ``data_dir`` is given; whatever is no repository of a card is given back as it is.
    """
    if "/" not in name or is_function(name) or name.endswith((".yaml", ".yml")):
        return name, data_dir
    address = parse_address(name)
    found = None if address is None else HUB.fullmatch(address.url)
    if found is None:
        return name, data_dir
    for card in dataset_cards().values():
        for repository, wanted in card.hub.items():
            if repository.casefold() == found["repository"].casefold():
                is_part = found["inner"] or "refs/" in name
                return card.name, local_folder(name, "" if is_part else wanted) if data_dir is None else data_dir
    return name, data_dir


def reference_plans(name: str) -> Path | None:
    """The file of reference instructions that comes with a data set, by its name or its card's path; None without one.
    Raises UserError: a card is wrong, or the file that it names is not there.
    """
    found = _card(name)
    if found is None or found[0].reference is None:
        return None
    path = found[1].parent / found[0].reference
    if not path.is_file():
        raise UserError(f"the card of {found[0].name}: reference = {found[0].reference!r}: there is no file {path}")
    return path


def layout_of(name: str) -> str:
    """The layout of a data set, by the name or path of its card or by the layout's own name. Raises UserError: the card
    is wrong.
    """
    found = _card(name)
    return name if found is None else found[0].layout


def layout_names() -> list[str]:
    from importlib import metadata

    return sorted({*built_in(), *WEB_LAYOUTS, *(point.name for point in metadata.entry_points(group=ENTRY_POINTS))})


def is_desktop(name: str) -> bool:
    """Whether a data set, by the name or path of its card or the name of its layout, holds desktop tasks. Raises
    UserError: the card is wrong.
    """
    return _holds_desktop(layout_of(name))


def _holds_desktop(layout: str) -> bool:
    return layout in built_in() and built_in()[layout].is_desktop


# --- counts -------------------------------------------------------------------------------------------------------


def count_steps(sessions: Sequence[Session]) -> ExpectedCounts:
    steps = [step for session in sessions for step in session.steps]
    scored = [step for step in steps if step.region is not None]
    groups: dict[str, Counter[str]] = {}
    for step in scored:
        for label in step.groups:
            groups.setdefault(label.kind, Counter())[label.name] += 1
    return ExpectedCounts(
        participants=len(sessions),
        tasks=len({(step.participant, step.task) for step in steps}),
        instructions=len({(step.participant, step.task, step.instruction_index) for step in steps}),
        scored_instructions=len({(step.participant, step.task, step.instruction_index) for step in scored}),
        steps=len(steps),
        scored_steps=len(scored),
        absent_steps=sum(step.target_absent for step in steps),
        screenshots=len({step.screenshot.sha256 for step in steps}),
        groups={kind: dict(counts) for kind, counts in groups.items()},
    )


def _count_desktop(dataset: DesktopDataset) -> ExpectedCounts:
    return ExpectedCounts(tasks=len(dataset.tasks), steps=sum(len(task.steps) for task in dataset.tasks))


def differences(found: ExpectedCounts, expected: ExpectedCounts) -> tuple[str, ...]:
    """One sentence for every count that the card states and the data set does not have, naming both."""
    totals = (f"{counted:,} {name}, where the card says {stated:,}" for name, counted, stated in _odd(found, expected))
    groups = (
        f"{kind} {group}: {counted:,} scored steps, where the card says {stated:,}"
        for kind, stated_groups in expected.groups.items()
        for group, stated in stated_groups.items()
        if (counted := found.groups.get(kind, {}).get(group, 0)) != stated
    )
    return (*totals, *groups)


def departures(found: ExpectedCounts, expected: ExpectedCounts) -> tuple[str, ...]:
    """What shows that a whole data set is not the release that its card describes, as ``264 of 2,524 steps``. The
    number of steps comes first. None where every count is right, and where the card states none.
    """
    odd = sorted(_odd(found, expected), key=lambda one: one[0] != "steps")
    # Equal totals in other groups are another data set, too.
    return tuple(f"{counted:,} of {stated:,} {name}" for name, counted, stated in odd) or differences(found, expected)


def _odd(found: ExpectedCounts, expected: ExpectedCounts) -> Iterator[tuple[str, int, int]]:
    for name in ExpectedCounts.__struct_fields__:
        stated, counted = getattr(expected, name), getattr(found, name)
        if name != "groups" and stated is not None and counted is not None and stated != counted:
            yield name.replace("_", " "), counted, stated


# --- loading ------------------------------------------------------------------------------------------------------


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
        name: ``realwebassist``, ``sample-web``, ``my/card.yaml``, a layout that an installed package adds, or
            ``FILE.py:NAME`` of a function that reads one (see :class:`grounding.data.layouts.Layout`).
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
    source = locate(name, data_dir)
    if source.is_desktop:
        raise UserError(
            f"the data set {source.name!r} holds desktop tasks, which are answered with actions and not with points: "
            "choose an agent as the grounder"
        )
    captions = caption_path(history)
    chosen = questions or source.questions
    dataset: Dataset = source.load(
        source.folder,
        **({} if chosen is None else {"questions": chosen}),
        history=None if captions else history,
        participants=participants,
        name=source.name,
        deep=deep,
    )
    if not participants:
        # Instructions are told apart by their texts, which hang on the words that were chosen.
        counts = msgspec.structs.replace(count_steps(dataset.sessions), instructions=None, scored_instructions=None)
        dataset = msgspec.structs.replace(dataset, departs=departures(counts, source.expected))
    return with_captions(dataset, captions, history_of) if captions else dataset


def load_desktop(
    name: str, data_dir: Path | str | None = None, *, tasks: Collection[str] = (), deep: bool = False
) -> DesktopDataset:
    """Load a data set of desktop tasks (all, or those of these ids) by the name or path of a card or a layout's name.
    Raises DatasetProblems: The data is wrong; every problem is in it. Raises UserError: The name is not known, the
    files are not there, or the data set holds no desktop tasks.
    """
    source = locate(name, data_dir)
    if not source.is_desktop:
        raise UserError(f"the data set {source.name!r} holds no desktop tasks: its steps are answered with points")
    dataset: DesktopDataset = source.load(source.folder, tasks=tasks, name=source.name, deep=deep)
    departs = () if tasks else departures(_count_desktop(dataset), source.expected)
    return msgspec.structs.replace(dataset, departs=departs)


class Inspection(Record, frozen=True, kw_only=True):
    """What a check found: problems keep the data set from being used, warnings do not. ``summary`` says in one line how
    much the data set holds.
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
    """Everything that would keep ``load_dataset`` from loading, every screenshot decoded, and what is odd besides.

    Counts are compared with those of the card where everything is loaded. Raises UserError: the name is not known, or
    the files are not there.
    """
    expected = locate(name, data_dir).expected
    dataset: Dataset | DesktopDataset
    try:
        if is_desktop(name):
            dataset = load_desktop(name, data_dir, tasks=participants, deep=deep)
            counts = _count_desktop(dataset)
        else:
            dataset = load_dataset(
                name, data_dir, questions=questions, history=history, participants=participants, deep=deep
            )
            counts = count_steps(dataset.sessions)
    except DatasetProblems as found:
        return Inspection(problems=found.problems, warnings=tuple(map(str, found.oddities)))
    odd = () if participants else differences(counts, expected)
    held = {name.replace("_", " "): count for name, count in msgspec.structs.asdict(counts).items() if name != "groups"}
    summary = ", ".join(f"{count:,} {name}" for name, count in held.items() if count)
    return Inspection(warnings=(*dataset.oddities, *dataset.warnings, *odd), summary=summary)


def participant_folders(
    name: str, data_dir: Path | str | None = None, *, questions: str | None = None
) -> dict[str, Path]:
    """The participants' folders of a data set in RealWebAssist's layout, where its recordings and transcripts lie.
    Raises DatasetProblems: There are no such folders. Raises UserError: The name is not known, the files are not there,
    or the layout has no participants' folders.
    """
    source = locate(name, data_dir)
    if source.layout != realwebassist.NAME:
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
    """Where a data set lies, how it is laid out and read, and what its card says that it holds."""

    name: str
    layout: str
    folder: Path
    load: Callable[..., Any]
    is_desktop: bool = False
    questions: str | None = None
    expected: ExpectedCounts = ExpectedCounts()


def locate(name: str, data_dir: Path | str | None = None) -> Located:
    """Find a data set by the name of its card, by the path of a card, or by the name of a layout, whatever it holds.
    Raises UserError: the name is not known, or the files are not there.
    """
    folder = None if data_dir is None else local_folder(data_dir)
    name, folder = on_the_hub(name, folder)
    found = _card(name)
    if found is None and not (name in layout_names() or is_function(name)):
        known = sorted({*dataset_cards(), *layout_names()})
        if Path(name).is_dir():
            raise UserError(
                f"{name} is a folder: give it with --data-dir, and as the data set one of: {', '.join(known)}"
            )
        if "://" in name or "/" in name:
            raise UserError(
                f"--dataset {name}: no data set that is known lies there. A copy of one is read with its name as the "
                f"data set and --data-dir {name}; a list of pictures, instructions and boxes with --dataset boxes "
                f"--data-dir {name}. Known are: {', '.join(known)}"
            )
        raise UserError(f"no data set is called {name!r}{_close_to(name, known)}")
    if found is None:
        if folder is None:
            raise UserError(f"the data set {name!r} does not come with the package: say where it lies, with --data-dir")
        load = _loader(name, origin="the data set's name")
        return Located(name=name, layout=name, folder=ready(folder), load=load, is_desktop=_holds_desktop(name))
    card, file = found
    load = _loader(card.layout, origin=f"{file}: layout")
    if folder is not None:
        folder = ready(folder)
    elif card.path is None:
        hub = f" `--dataset {next(iter(card.hub))}` fetches it from the Hugging Face hub." if card.hub else ""
        how = f"{hub} To get it:\n{card.download.rstrip()}" if card.download.strip() else hub
        raise UserError(
            f"the data set {card.name!r} ({card.title}) does not come with the package: say where it lies, with "
            f"--data-dir.{how}"
        )
    else:
        folder = file.parent / card.path
        if not folder.is_dir():
            raise UserError(
                f"{file}: path = {card.path!r}: there is no folder {folder}; restore it, or give one with --data-dir"
            )
    return Located(
        name=card.name,
        layout=card.layout,
        folder=folder,
        load=load,
        is_desktop=_holds_desktop(card.layout),
        questions=card.questions,
        expected=card.expected,
    )


def _loader(layout: str, origin: str) -> Callable[..., Any]:
    if layout in built_in():
        return built_in()[layout].load
    if is_function(layout):
        return loaded_function(layout)[0]
    if layout in WEB_LAYOUTS:
        return _refuse_web
    from importlib import metadata

    for point in metadata.entry_points(group=ENTRY_POINTS, name=layout):
        try:
            found = point.load()
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"the layout {layout!r} ({point.value}) cannot be imported: {error}; see to the package that brings it"
            ) from error
        if not callable(found):
            raise UserError(f"the layout {layout!r} ({point.value}) must be a function that loads a data set")
        return found  # type: ignore[no-any-return]
    raise UserError(f"{origin} = {layout!r}: no such layout{_close_to(layout, layout_names())}")


def _refuse_web(*_: object, name: str, **__: object) -> Dataset:
    raise UserError(f"the data set {name!r} holds tasks for web agents, which are not answered with points")


def _close_to(name: str, names: Iterable[str]) -> str:
    names = list(names)
    close = difflib.get_close_matches(name.casefold(), names, n=1)
    guess = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{guess}; there are: {', '.join(names)}"
