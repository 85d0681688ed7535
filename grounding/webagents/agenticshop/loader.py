"""AgenticShop's release on disk: a folder in; users with needs and their shops out, or everything that is wrong.

The files ``KEY_user_profile.json`` may lie at any depth up to three below the folder that is given, as in the release's
``data/user_profiles_samples``; which of the seven there are doesn't matter, as long as there is one. A folder ``shops``
beside them makes a mall of its own, which is served on this machine; without one the users shop on the open web.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from grounding.errors import UserError
from grounding.loaders.fields import Fields
from grounding.loaders.json_lists import read_json_list
from grounding.loaders.problems import DatasetProblems, Problem, shorten
from grounding.loaders.registry import locate
from grounding.records import Record
from grounding.webagents.agenticshop.fingerprint import HashedFile, curation_fingerprint, hash_files
from grounding.webagents.agenticshop.layout import read_user
from grounding.webagents.agenticshop.records import (
    DIMENSIONS,
    SCENARIOS,
    CurationDataset,
    CurationTask,
    Scenario,
    Site,
)
from grounding.webagents.agenticshop.scenarios import ROWS, row_of

NAME = "agenticshop"
PROFILES = "*_user_profile.json"
PREFERRED = "user_profiles"
SHOPS = "shops"
SERVED = (SHOPS, "pictures")
"""The folders of a mall that its pages are made of."""

DEPTH = 3
MAX_FILE_BYTES = 64 << 20
"""A hundred times the 50 users of one scenario."""

MAX_USERS = 10_000


class ProfileFiles(Record, frozen=True, kw_only=True):
    """Where the users lie: a file for each scenario that there is one for. ``odd`` says what was passed over."""

    folder: Path
    by_scenario: dict[Scenario, Path]
    odd: tuple[str, ...] = ()


def load_curation(
    dataset: str, data_dir: Path | None = None, *, scenarios: Collection[Scenario] = ()
) -> CurationDataset:
    """Load a data set by the name or path of its card, or by the layout's name and a folder.

    Args:
        dataset: ``sample-mall``, ``agenticshop``, ``my/card.yaml``.
        data_dir: Where the files lie; not needed for a bundled data set.
        scenarios: Whose users become tasks; empty for all that there are.

    Raises:
        DatasetProblems: Something is wrong; every problem is in it.
        UserError: There is no such data set, its files are not there, or none of a scenario that was asked for.
    """
    place = locate(dataset, data_dir)
    if place.layout != NAME:
        raise UserError(
            f"the data set {place.name!r} holds no users to curate products for: its layout is {place.layout}"
        )
    return read_curation(place.folder, name=place.name, scenarios=scenarios)


def read_curation(folder: Path, *, name: str = NAME, scenarios: Collection[Scenario] = ()) -> CurationDataset:
    """Read the release's layout from a folder.

    Raises:
        DatasetProblems: Something is wrong; every problem is in it, in order of the files.
        UserError: Files are not there, or none of a scenario that was asked for.
    """
    files = find_profiles(folder)
    missing = [scenario for scenario in SCENARIOS if scenario in scenarios and scenario not in files.by_scenario]
    if missing:
        raise UserError(
            f"{files.folder}: there are no users of {', '.join(missing)} (no {row_of(missing[0]).profile_file}); "
            f"there are those of: {', '.join(files.by_scenario)}"
        )
    problems: list[Problem] = []
    warnings = list(files.odd)
    tasks: list[CurationTask] = []
    for scenario, path in files.by_scenario.items():
        if not scenarios or scenario in scenarios:
            tasks += _read_file(path, scenario, problems, warnings)
    if problems:
        raise DatasetProblems(problems)
    sites = _sites(files.folder)
    return CurationDataset(
        name=name,
        fingerprint=curation_fingerprint(tasks, sites, _served(files.folder) if sites else ()),
        folder=str(files.folder),
        tasks=tuple(tasks),
        sites=sites,
        warnings=tuple(warnings),
    )


def find_profiles(folder: Path) -> ProfileFiles:
    """The files of users below a folder: of the folders that hold some, the least deep.

    Raises:
        UserError: There is no such folder, no such file in it, or several folders could be meant.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; give the one that holds {PROFILES} with --data-dir")
    names = {row.profile_file: row.scenario for row in ROWS}
    found = _least_deep(folder, names)
    if not found:
        raise UserError(f"{folder}: none of {', '.join(names)} in it, or up to {DEPTH} folders deeper; see --data-dir")
    chosen = next((one for one in found if one.name == PREFERRED), found[0])
    if len(found) > 1 and chosen.name != PREFERRED:
        raise UserError(
            f"{folder}: users in several folders ({', '.join(sorted(one.name for one in found))}); give one of them "
            "with --data-dir"
        )
    odd = [f"{other.name}/ is passed over: the users are those of {PREFERRED}/" for other in found if other != chosen]
    others = sorted(path.name for path in chosen.glob(PROFILES) if path.name not in names)
    odd += [f"{name} is passed over: no scenario has such a file" for name in others]
    by_scenario = {row.scenario: chosen / row.profile_file for row in ROWS if (chosen / row.profile_file).is_file()}
    return ProfileFiles(folder=chosen, by_scenario=by_scenario, odd=tuple(odd))


def _least_deep(folder: Path, names: Iterable[str]) -> list[Path]:
    for depth in range(DEPTH + 1):
        found = {path.parent for name in names for path in folder.glob("/".join(["*"] * depth + [name]))}
        if found:
            return sorted(found)
    return []


def _read_file(path: Path, scenario: Scenario, problems: list[Problem], warnings: list[str]) -> list[CurationTask]:
    if (size := path.stat().st_size) > MAX_FILE_BYTES:
        problems.append(
            Problem(
                file=str(path),
                what=f"has {size:,} bytes; at most {MAX_FILE_BYTES:,}",
                fix="split the data set, or take out what isn't the layout's",
            )
        )
        return []
    entries = read_json_list(path, problems)
    if entries is None:
        return []
    if len(entries) > MAX_USERS:
        problems.append(
            Problem(file=str(path), what=f"has {len(entries):,} users; at most {MAX_USERS:,}", fix="split the data set")
        )
        return []
    tasks: list[CurationTask] = []
    unread: set[str] = set()
    first: dict[str, int] = {}
    for item, values in enumerate(entries):
        if not isinstance(values, dict):
            problems.append(
                Problem(
                    file=str(path),
                    item=item,
                    value=shorten(values),
                    what="must be an object",
                    fix="give every user an object with the fields of the layout",
                )
            )
            continue
        user = values.get("user")
        named = f"({user[:40]}) " if isinstance(user, str) and user.isprintable() else ""
        fields = Fields(str(path), item, values, problems, prefix=named)
        read = read_user(fields, values, scenario)
        unread |= set(read.unread)
        if read.task.user in first:
            fields.report(
                "user", f"is that of item {first[read.task.user]} already", "keep one of them", read.task.user
            )
        elif read.task.user:
            first[read.task.user] = item
        tasks.append(read.task)
    warnings += _odd(path.name, tasks, unread)
    return tasks


def _odd(name: str, tasks: list[CurationTask], unread: set[str]) -> list[str]:
    holes = {
        "without a checklist in some dimension": sum(
            len({item.dimension for item in task.checklist}) < len(DIMENSIONS) for task in tasks
        ),
        "without a context in some dimension": sum(
            any(not getattr(task.context, dimension) for dimension in DIMENSIONS) for task in tasks
        ),
    }
    said = [f"{name}: {count} of {len(tasks)} users {words}" for words, count in holes.items() if count]
    if unread:
        shown = sorted(unread)[:8]
        more = f" and {len(unread) - len(shown)} more" if len(unread) > len(shown) else ""
        said.append(f"{name}: fields that nobody reads: {', '.join(shorten(field) for field in shown)}{more}")
    return said


def _sites(folder: Path) -> tuple[Site, ...]:
    if not (folder / SHOPS).is_dir():
        return ()
    from grounding.webagents.agenticshop.mall import shops_of

    return shops_of(folder)


def _served(folder: Path) -> list[HashedFile]:
    """What the shops' pages are made of; paths begin at the data set's folder."""
    found = []
    for part in SERVED:
        if (folder / part).is_dir():
            files = hash_files(folder / part)
            found += [HashedFile(path=f"{part}/{one.path}", sha256=one.sha256) for one in files]
    return found
