"""Desktop trajectories: a folder in; tasks of recorded steps out, or everything that is wrong with them.

PERCU's layout, as far as its released evaluator shows it::

    final_data/preference_task/<task>.jsonl     one step a line: action, screenshot, thought, second instruction, …
    final_data/routine_task/<task>.jsonl
    data/events/screenshot/<picture>.png        what "screenshot" names, relative to the events folder

Recordings of PC Tracker and PC-Agent-E, which PERCU is made of, are read alike: the same lines with element and rect in
``events/<task>.jsonl``, the task in words beside them in ``<task>.md`` (**Description:** …).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grounding.actions.kinds import Action, Unparsed
from grounding.actions.parsing import parse_action
from grounding.data.desktop_records import DesktopDataset, DesktopStep, DesktopTask, DesktopTaskKind, is_inside
from grounding.data.fields import DatasetProblems, Fields, Problem, counted, read_json_lines, shorten
from grounding.data.fingerprint import desktop_fingerprint
from grounding.data.folders import ImageLocator, natural_key
from grounding.data.images import ImageFault, probe_images
from grounding.data.layouts import layout
from grounding.records import Box, Screenshot

NAME = "percu"
_IMAGE, _ACTION, _OTHERS = "screenshot", "action", "other_users"
_KINDS: tuple[DesktopTaskKind, ...] = ("preference", "routine")
_SIDES = ("left", "top", "right", "bottom")
_ACTION_FIX = "write it like click (640, 360), press key: enter or type text: hello, or remove the line"
_RECT_FIX = "give left, top, right and bottom in pixels of the screenshot, or set it to null"
_TEXT_FIX = "write text or leave it out"
_DESCRIPTION, _HEAD_LINES, _MAX_MD_BYTES = "**Description:**", 10, 1_000_000
_LISTED_NAMES = 12
NOTHING = Action(kind="wait")  # Stands for an action that could not be read, which is reported.


@dataclass
class _Task:
    """``rows`` are the fields of its steps, with ``line``, ``category`` and ``image``, the screenshot's path."""

    id: str
    path: Path
    kind: DesktopTaskKind | None
    description: str
    rows: list[dict[str, Any]]


@layout(NAME, is_desktop=True)
def load(data_dir: Path, *, tasks: Collection[str] = (), name: str = NAME, deep: bool = False) -> DesktopDataset:
    """Pictures lie beside the task file or in a folder ``events*`` of the data set or of its ``data``.

    ``tasks`` are ids such as ``preference/task_1``, empty for all; ``deep``: decode every screenshot, too. Raises
    DatasetProblems with every problem, in order of file and line.
    """
    data_dir, problems, oddities = Path(data_dir), list[Problem](), list[Problem]()
    files = _task_files(data_dir, problems)
    listed = sorted(files, key=natural_key)
    for wrong in sorted(set(tasks) - set(files) if files else (), key=natural_key):
        fix, what = f"choose from {', '.join(listed[:_LISTED_NAMES])}", "there is no such task"
        problems.append(Problem(file=str(data_dir), field="task", value=shorten(wrong), what=what, fix=fix))
    wanted = [one for one in listed if not tasks or one in tasks]
    found = [_read_task(one, files[one], data_dir, problems, oddities) for one in wanted]
    paths = list(dict.fromkeys(row["image"] for task in found for row in task.rows if row["image"] is not None))
    images = dict(zip(paths, probe_images(paths, deep=deep), strict=True))
    broken: set[Path] = set()  # Many steps may share a screenshot; it is broken once.
    for file, row in ((task.path, row) for task in found for row in task.rows):
        if row["image"] is None or row["image"] in broken:
            continue
        image, at = images[row["image"]], {"file": str(file), "line": row["line"]}
        if isinstance(image, ImageFault):
            broken.add(row["image"])
            value, what = shorten(row["image"].name), f"the file {image.what}"
            problems.append(Problem(**at, field=_IMAGE, value=value, what=what, fix=image.fix))
            continue
        width, height = image.size.width, image.size.height
        for field, action in ((_ACTION, row["gold"]), *((_OTHERS, other) for other in row["other_users"])):
            if any(not (0 <= point.x <= width and 0 <= point.y <= height) for point in action.points):
                value = shorten(row["gold_text"]) if field == _ACTION else ""
                what = f"names a point outside its screenshot of {width} x {height} pixels"
                oddities.append(Problem(**at, field=field, value=value, what=what, fix="it is scored as it stands"))
    place = {str(task.path): position for position, task in enumerate(found)}
    for each in (problems, oddities):
        each.sort(key=lambda problem: (place.get(problem.file, -1), problem.line or 0))
    if problems:
        raise DatasetProblems(problems, oddities)
    built = tuple(_built(task, images) for task in found)
    return DesktopDataset(
        name=name,
        fingerprint=desktop_fingerprint(built),
        tasks=built,
        warnings=counted(oddities),
        oddities=tuple(map(str, oddities)),
    )


def _task_files(data_dir: Path, problems: list[Problem]) -> dict[str, Path]:
    if not data_dir.is_dir():
        what = "is not a folder" if data_dir.exists() else "does not exist"
        problems.append(Problem(file=str(data_dir), what=what, fix="give the folder that holds the task files"))
        return {}
    below = (path.relative_to(data_dir) for path in data_dir.rglob("*.jsonl"))
    paths = [data_dir / path for path in below if not any(part.startswith(".") for part in path.parts)]
    if not paths:
        fix = "give the folder that holds the task files, or one above it"
        problems.append(Problem(file=str(data_dir), what="holds no *.jsonl file", fix=fix))
    found: dict[str, Path] = {}
    for path in sorted(paths):
        kind = _kind_of_folder(path, data_dir)
        name = f"{kind}/{path.stem}" if kind else path.stem
        if found.setdefault(name, path) != path:
            what = f"gives the task id {name}, which {found[name]} has already"
            problems.append(Problem(file=str(path), what=what, fix="give the files different names"))
    return found


def _kind_of_folder(path: Path, data_dir: Path) -> DesktopTaskKind | None:
    """That the nearest folder's name tells, such as ``preference_task``."""
    names = (data_dir.absolute().name, *path.parent.relative_to(data_dir).parts)
    told = ([kind for kind in _KINDS if kind in name.casefold()] for name in reversed(names))
    return next((kinds[0] for kinds in told if len(kinds) == 1), None)


def _read_task(task_id: str, path: Path, data_dir: Path, problems: list[Problem], oddities: list[Problem]) -> _Task:
    parents = (parent for parent in (data_dir, data_dir / "data") if parent.is_dir())
    inside = (folder for parent in parents for folder in sorted(parent.iterdir()) if folder.is_dir())
    places = [path.parent, *(folder for folder in inside if folder.name.startswith("events")), data_dir]
    locators = {folder: ImageLocator(folder, data_dir) for folder in places}
    rows = []
    for line in read_json_lines(path, problems):
        fields = Fields(str(path), None, line.values, problems, line=line.number, oddities=oddities)
        rows.append({"line": line.number, **_read_row(fields, locators)})
    return _Task(task_id, path, _kind_of_folder(path, data_dir), _description(path), rows)


def _description(path: Path) -> str:
    """As PC Tracker's ``.md`` file beside a trajectory says it, ``**Description:** …``; "" without one."""
    beside = path.with_suffix(".md")
    if not beside.is_file():
        return ""
    with beside.open("rb") as file:
        lines = file.read(_MAX_MD_BYTES).decode("utf-8-sig", "replace").split("\n")[:_HEAD_LINES]
    said = (line.strip().partition(_DESCRIPTION) for line in lines)
    return next((text.strip() for before, found, text in said if found and not before), "")


def _read_row(fields: Fields, locators: Mapping[Path, ImageLocator]) -> dict[str, Any]:
    """Read one step; after a problem it holds stand-ins. ``action`` and ``screenshot`` are needed."""
    text = fields.text(_ACTION, _ACTION_FIX)
    others = fields.values.get(_OTHERS) or []
    if not (isinstance(others, list) and all(isinstance(one, str) and one.strip() for one in others)):
        fields.report(_OTHERS, "must be a list of actions", "write actions as texts, or leave it out", others)
        others = []
    told = {
        which: fields.optional_text(which if fields.has(which) else which.replace(" ", "_"), _TEXT_FIX)
        for which in ("first instruction", "second instruction")
    }
    return {
        "gold": _read_action(text, _ACTION, fields),
        "gold_text": text,
        "thought": fields.optional_text("thought", _TEXT_FIX),
        "element": fields.optional_text("element", "write the element's name or null") or None,
        "rect": _read_rect(fields),
        "other_users": tuple(_read_action(one, f"{_OTHERS}[{at}]", fields) for at, one in enumerate(others)),
        **{which.replace(" ", "_"): words for which, words in told.items()},
        "image": _located(fields, locators),
        "category": fields.optional_text("category", _TEXT_FIX),
    }


def _read_action(text: str, field: str, fields: Fields) -> Action:
    action = parse_action(text) if text.strip() else NOTHING
    if isinstance(action, Unparsed):
        fields.report(field, action.reason, _ACTION_FIX, text)
        return NOTHING
    return action


def _read_rect(fields: Fields) -> Box | None:
    """One without an area, as accessibility interfaces give for unknown places, is none."""
    value = fields.values.get("rect")
    if value is None:
        return None
    if not isinstance(value, dict):
        fields.report("rect", "must be null or an object with left, top, right and bottom", _RECT_FIX, value)
        return None
    inside = fields.nested(value, "rect.")
    sides = [float(side) for name in _SIDES if (side := inside.pixels(name, _RECT_FIX)) is not None]
    if len(sides) < len(_SIDES):
        return None
    left, top, right, bottom = sides
    if right < left or bottom < top:
        fields.remark("rect", "ends before it begins", "it is left out", value)
    if right <= left or bottom <= top:
        return None
    return Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)


def _located(fields: Fields, locators: Mapping[Path, ImageLocator]) -> Path | None:
    """Recordings from Windows name a screenshot with backslashes and with its events folder."""
    written = fields.text(_IMAGE, "name the screenshot, like screenshot/20241126_161519_1.png")
    if not written.strip():
        return None
    name = written.replace("\\", "/")
    names = [name, *([name.partition("/")[2]] if name.startswith("events") and "/" in name else [])]
    looked = [locator.locate(one) for locator in locators.values() for one in names]
    for found in looked:
        if isinstance(found, Path) and found.is_file():
            return found
    fault = next((found for found in looked if isinstance(found, ImageFault)), None) or ImageFault(
        what=f"is in none of the folders {', '.join(map(str, locators))}", fix="add the file or correct the path"
    )
    fields.report(_IMAGE, fault.what, fault.fix, written)
    return None


def _built(task: _Task, images: Mapping[Path, Any]) -> DesktopTask:
    steps = []
    for number, row in enumerate(task.rows, start=1):
        info, said = images[row["image"]], {name: row[name] for name in row if name in DesktopStep.__struct_fields__}
        for name in ("first_instruction", "second_instruction"):
            said[name] = said[name] or task.description
        points, rect = said["gold"].points, said["rect"]
        if rect is not None and points and not is_inside(points[0], rect):  # It is another element's.
            said["rect"] = None
        shot = Screenshot(path=str(row["image"].absolute()), size=info.size, sha256=info.sha256)
        steps.append(DesktopStep(id=f"{task.id}/{number}", screenshot=shot, **said))
    return DesktopTask(
        id=task.id,
        kind=task.kind,
        category=next((row["category"] for row in task.rows if row["category"]), task.kind or ""),
        description=task.description,
        steps=tuple(steps),
    )
