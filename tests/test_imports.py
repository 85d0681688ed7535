"""The design's picture of who may know whom, held against every import statement in the package."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import annotate
import grounding

PACKAGE = Path(grounding.__file__).parent
ANNOTATE = Path(annotate.__file__).parent
CHECKOUT = PACKAGE.parent
PACKAGES = {"grounding", "annotate"}
TRAINING = {"trl", "datasets", "accelerate", "tensorboard"}
HEAVY = TRAINING | {"fsspec", "s3fs", "gcsfs"}
HEAVY |= {"torch", "transformers", "peft", "vllm", "whisper", "pandas", "pyarrow", "ray", "tkinter"}

VALUES = {"records", "coordinates", "errors"}
SHARED = VALUES | {"cards", "card_schema", "tokens", "chat", "llm", "wire", "budget"}
SHARED |= {"history", "hub", "identity", "pictures", "places", "regions", "tuned"}

MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "errors": set(),
    "coordinates": {"records", "errors"},
    "actions": {"records", "coordinates", "actions"},
    "desktop_records": {"records", "actions"},
    "regions": VALUES,
    "history": VALUES,
    "places": {"errors"},
    "options": {"records", "errors", "history", "sources"},
    "sources": {"records", "errors", "places", "executors", "sources"},
    "addresses": set(),
    "commandline": {"errors"},
    "examples": set(),
    "interrupts": set(),
    "attended": {"errors", "interrupts"},
    "token_rules": {"records"},
    "card_schema": {"records", "coordinates", "token_rules"},
    "hub": {"records"},
    "identity": {"cards"},
    "planner_card": {"records", "card_schema"},
    "search_card": {"records", "card_schema"},
    "tuned": {"records", "errors", "card_schema"},
    "cards": VALUES | {"card_schema", "planner_card", "search_card", "tuned"},
    "tokens": {"records", "coordinates", "card_schema", "token_rules", "wire", "tokens"},
    "marks": {"records", "marks"},
    "money": set(),
    "budget": {"records", "errors", "cards"},
    "wire": VALUES | {"cards"},
    "pictures": VALUES | {"cards"},
    "llm": VALUES | {"cards", "budget", "wire", "addresses", "tokens", "llm"},
    "chat": SHARED - {"chat"},
    "journal": {"records", "errors"},
    "runner": {"records", "errors", "budget", "journal"},
    "loaders": VALUES | {"places", "actions", "desktop_records", "loaders", "sources"},
    "planners": SHARED | {"planners"},
    "grounders": SHARED | {"grounders", "marks", "recorded_lines"},
    "scoring": VALUES | {"regions", "actions", "desktop_records", "scoring"},
    "steps": {"records", "history", "journal", "planners", "grounders"},
    "selection": VALUES,
    "lockedfolder": {"records", "errors"},
    "describedfolder": {"records", "errors", "lockedfolder"},
    "recorded_lines": {"errors"},
    "runid": {"records"},
    "runfolder": {
        "records",
        "describedfolder",
        "errors",
        "history",
        "journal",
        "lockedfolder",
        "scoring",
        "card_schema",
    },
    "signature": {"records", "cards", "chat", "runfolder", "scoring"},
    "timefile": {"records", "errors", "lockedfolder", "scoring"},
    "answers": {"records", "journal", "scoring"},
    "runrows": {"records", "runfolder", "scoring"},
    "parquet": {"records", "errors", "runfolder", "runrows"},
    "payments": {"records", "budget", "journal", "probe", "runfolder"},
    "gate": set(),
    "planned": {"records", "attended", "options", "runfolder", "scorebook"},
    "board": {"attended", "lockedfolder", "planned", "runfolder", "runqueue"},
    "building": SHARED | {"grounders", "options", "planners", "serving"},
    "executors": SHARED
    | {"building", "executors", "grounders", "options", "planner_card", "planners", "probe", "runfolder", "serving"}
    | {"display", "journal", "runner", "sources"},
    "earlier": {"records", "errors", "journal", "runfolder"},
    "estimates": {"records", "errors", "card_schema", "money", "tokens", "estimates"},
    "scorebook": {"records", "answers", "parquet", "runfolder", "scoring", "probe", "timefile"},
    "display": {"records", "options", "runner", "steps", "scoring"},
    "runqueue": {"records", "errors"},
    "manybars": {"money", "records", "runqueue"},
    "manydisplay": {"display", "manybars", "options", "runqueue"},
    "report": {"errors", "money", "records", "options", "runfolder", "scorebook", "scoring", "places", "report"}
    | {"asr", "errorsplit", "history", "runqueue", "describedfolder"},
    "asr": VALUES
    | {"asr", "cards", "display", "interrupts", "llm", "loaders", "options", "places", "report", "runfolder"}
    | {"scorebook", "scoring", "sources"},
    "probe": SHARED | {"grounders", "audit", "display", "probe"},
    "desktop": SHARED
    | {
        "actions",
        "attended",
        "building",
        "describedfolder",
        "desktop",
        "desktop_records",
        "display",
        "executors",
        "grounders",
        "journal",
        "loaders",
        "lockedfolder",
        "recorded_lines",
    }
    | {"options", "report", "runfolder", "runid", "runner", "scoring", "serving", "signature", "sources", "timefile"},
    "captions": SHARED
    | {"captions", "display", "interrupts", "journal", "loaders", "options", "planners", "runner"}
    | {"sources"},
    "audit": VALUES | {"cards", "grounders", "journal", "probe", "runfolder"},
    "errorsplit": SHARED | {"grounders", "journal", "planners", "runfolder", "runner", "scoring", "errorsplit"},
    "serving": VALUES | {"cards", "hub", "options", "serving", "tuned"},
    "serve": VALUES | {"cards", "grounders", "interrupts", "places", "serving", "sources"},
    "webagents": SHARED
    | {"attended", "describedfolder", "display", "interrupts", "journal", "loaders", "lockedfolder", "money", "options"}
    | {"executors", "marks", "planners", "timefile"}
    | {"recorded_lines", "report", "runfolder", "runid", "runner", "scorebook", "scoring", "signature", "webagents"}
    | {"sources"},
    "training": SHARED
    | {"attended", "describedfolder", "display", "grounders", "interrupts", "journal", "lockedfolder", "options"}
    | {"planners", "report", "runfolder", "runid", "scorebook", "scoring", "serving", "steps", "training", "webagents"}
    | {"sources"},
    "frames": {"errors", "parquet", "runfolder", "runrows"},
    "exporting": {"errors", "records", "runfolder", "comparison", "scorebook", "scoring", "exporting"},
    "export": {"errors", "exporting", "scorebook"},
    "comparison": {"errors", "records", "scorebook", "scoring", "desktop", "comparison"},
    "compare": {"errors", "comparison", "report", "webagents"},
    "reporting": {"errors", "options", "comparison", "desktop", "report", "runfolder", "scorebook", "scoring"}
    | {"training"},
    "combinations": {"asr", "errors", "options"},
    "planstore": VALUES | {"places", "planners"},
    "stores": VALUES | {"asr", "grounders", "places", "planstore", "sources"},
}
"""Which rooms and files of ours each may import. The tests below say what of this is a law, whatever is added."""

KNOW_EVERYBODY = {
    "__main__",
    "atwork",
    "clusterruns",
    "leftover",
    "workforce",
    "evaluation",
    "preparation",
    "eval",
    "cli",
    "catalogue",
    "blame",
    "view",
    "errorsplitting",
    "regrounding",
    "dryrun",
    "survey",
    "manyruns",
    "epochs",
    "matrix",
    "sweep",
    "sweeping",
    "train",
}


def room(module: str) -> str:
    """``grounding.scoring.paper`` is in the room ``scoring``; what starts a program is in a room of its own."""
    parts = module.split(".")
    if parts[-1] == "__main__":
        return "__main__"
    return parts[1] if len(parts) > 1 else ""


@cache
def modules(package: Path = PACKAGE) -> dict[str, Path]:
    found = {}
    for path in sorted(package.rglob("*.py")):
        if "_data" not in path.relative_to(package).parts:
            dotted = ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
            found[dotted.removesuffix(".__init__")] = path
    return found


@cache
def imported(name: str, path: Path, *, top_level_only: bool = False) -> frozenset[str]:
    """The modules that a file names in import statements, wherever in the file; type checking is no exception."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = _top_level(tree) if top_level_only else list(ast.walk(tree))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{base}.{alias.name}" for alias in node.names} if base in PACKAGES else {base}
    return frozenset(found)


def _top_level(tree: ast.AST) -> list[ast.AST]:
    """Statements that run at import: all but those inside functions."""
    found: list[ast.AST] = []
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found += [node, *_top_level(node)]
    return found


def ours(name: str, path: Path) -> set[str]:
    """The rooms that a module imports."""
    rooms = {room(found) for found in imported(name, path) if found.split(".")[0] == "grounding"}
    # `from grounding import __version__` imports no room.
    return rooms - {"", "__version__"}


def by_room() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, path in modules().items():
        if room(name):
            found.setdefault(room(name), set()).update(ours(name, path))
    return found


def test_the_reader_of_imports_can_read() -> None:
    found = by_room()
    assert {"records", "errors", "journal", "budget"} >= found["runner"] >= {"journal"}
    assert "planners" in found["preparation"]
    assert "numpy" in imported("grounding.scoring.metrics", PACKAGE / "scoring" / "metrics.py", top_level_only=True)
    chat = imported("grounding.planners", PACKAGE / "planners" / "__init__.py", top_level_only=True)
    assert "grounding.planners.chat" not in chat
    assert "grounding.planners.chat" in imported("grounding.planners", PACKAGE / "planners" / "__init__.py")


@pytest.mark.parametrize("name", sorted(modules()))
def test_every_module_imports_only_what_the_picture_allows(name: str) -> None:
    here = room(name)
    if not here or here in KNOW_EVERYBODY:
        return
    assert here in MAY_IMPORT, f"{here} is not in the picture: say what it may import"
    surplus = ours(name, modules()[name]) - MAY_IMPORT[here]
    assert not surplus, f"{name} imports {surplus}"


def test_the_picture_is_of_what_is_there() -> None:
    assert set(MAY_IMPORT) | KNOW_EVERYBODY == set(by_room())


def test_the_rooms_never_look_into_each_other() -> None:
    rooms = {"loaders", "planners", "grounders", "scoring"}
    for here in rooms:
        assert not MAY_IMPORT[here] & (rooms - {here})


def test_runner_and_journal_know_no_screenshots() -> None:
    assert MAY_IMPORT["runner"] | MAY_IMPORT["journal"] <= {"records", "errors", "budget", "journal"}
    for name in ("runner", "journal"):
        words = {
            node.attr if isinstance(node, ast.Attribute) else node.id
            for node in ast.walk(ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute | ast.Name)
        }
        assert words.isdisjoint({"Plan", "Prediction", "Step", "Screenshot", "screenshot", "instruction", "point"})


def test_the_report_knows_no_models() -> None:
    assert MAY_IMPORT["report"].isdisjoint({"planners", "grounders", "llm", "chat", "evaluation", "loaders"})


def test_only_those_who_may_know_everybody() -> None:
    knowing = {here for here, found in by_room().items() if {"loaders", "planners", "grounders"} <= found}
    assert knowing <= KNOW_EVERYBODY
    assert not {here for here, found in by_room().items() if found & KNOW_EVERYBODY} - KNOW_EVERYBODY


NETWORKS = {
    "grounding.webagents.personalwab.functions.sasrec",
    "grounding.webagents.personalwab.functions.sasrec_training",
}
"""What defines a network needs torch to be read at all; so nobody else may read it before it is used."""


@pytest.mark.parametrize("name", sorted(set(modules()) - NETWORKS))
def test_no_module_loads_heavy_libraries_when_it_is_imported(name: str) -> None:
    named = imported(name, modules()[name], top_level_only=True)
    assert not {each.split(".")[0] for each in named} & HEAVY
    assert not named & NETWORKS


PUTS_ADAPTERS_ON = {"grounding.grounders.hf.loading", "grounding.webagents.personalwab.agents.localmodel"}


@pytest.mark.parametrize("name", sorted(modules()))
def test_libraries_for_training_are_only_known_to_training(name: str) -> None:
    named = {each.split(".")[0] for each in imported(name, modules()[name])}
    if room(name) == "training":
        return
    assert not named & TRAINING
    # Adapters are put on models that run in this process, too.
    assert "peft" not in named or name in PUTS_ADAPTERS_ON


@pytest.mark.parametrize("folder", ["datasets", "models", "results", "tools"])
def test_folders_of_data_are_no_packages(folder: str) -> None:
    assert (CHECKOUT / folder).is_dir() or folder == "results"
    assert not (CHECKOUT / folder / "__init__.py").exists()


# --- the annotation program ---------------------------------------------------------------------------------------

DOCUMENT_CORE = {
    "document",
    "events",
    "folders",
    "heard",
    "history",
    "journal",
    "json_text",
    "lock",
    "native_file",
    "native_item",
    "picture_issues",
    "picture_size",
    "records",
    "restoring",
    "saving",
    "settling",
    "side_folder",
}
"""What holds an annotator's work: it knows no window, no model and no format but the release's own."""


def test_the_toolkit_never_imports_the_annotation_program() -> None:
    for name, path in modules().items():
        assert "annotate" not in {found.split(".")[0] for found in imported(name, path)}, name


def test_the_annotation_program_runs_no_evaluations() -> None:
    for name, path in modules(ANNOTATE).items():
        assert not ours(name, path) & (KNOW_EVERYBODY | {"runner", "llm", "planners"}), name


def test_the_document_core_knows_itself_and_the_loaders_only() -> None:
    found = modules(ANNOTATE)
    assert {f"annotate.{name}" for name in DOCUMENT_CORE} <= set(found)
    for each in DOCUMENT_CORE:
        name = f"annotate.{each}"
        assert ours(name, found[name]) <= {"records", "errors", "loaders", "asr"}, name
        own = {other for other in imported(name, found[name]) if other.split(".")[0] == "annotate"}
        assert own <= {f"annotate.{other}" for other in DOCUMENT_CORE}, name


def loaded_with(name: str, found: dict[str, Path]) -> set[str]:
    """All that is imported when a module of the annotation program is."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += imported(here, found[here], top_level_only=True) if here in found else ()
    return seen


def test_commands_load_no_window_before_one_is_opened() -> None:
    found = modules(ANNOTATE)
    commands = [name for name in found if name.count(".") == 1 and name != "annotate.__init__"]
    assert "annotate.document" in commands
    for name in commands:
        loaded = {each.split(".")[0] for each in loaded_with(name, found)}
        assert not loaded & (HEAVY | {"cv2"}), name


@pytest.mark.parametrize("name", sorted(modules(ANNOTATE)))
def test_the_annotation_program_loads_no_heavy_libraries_when_it_is_imported(name: str) -> None:
    top_level = {each.split(".")[0] for each in imported(name, modules(ANNOTATE)[name], top_level_only=True)}
    assert not top_level & (HEAVY - {"tkinter"})
