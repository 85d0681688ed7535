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
HEAVY = TRAINING | {"fsspec", "s3fs", "gcsfs", "huggingface_hub"}
HEAVY |= {"torch", "transformers", "peft", "vllm", "whisper", "pandas", "pyarrow", "ray", "tkinter"}

FLOORS = (
    ("records", "atomic"),
    ("errors", "cache", "terminal"),
    ("console",),
    ("geometry",),
    ("actions",),
    ("cards",),
    ("data",),
    ("options",),
    ("scoring",),
    ("llm",),
    ("planners", "grounders"),
    ("serving",),
    ("run",),
    ("analysis",),
    ("report",),
    ("asr",),
    ("benchmarks",),
    ("training",),
    ("eval",),
    ("cli",),
    ("api",),
    ("__main__",),
)  # The rooms from the ground up: each imports itself and what lies below it.
UPWARDS = {
    ("grounding.eval", "cli"): "python -m grounding.eval ends as every program of ours",
}  # What looks up all the same, and why.


def room(module: str) -> str:
    """``grounding.scoring.metrics`` is in the room ``scoring``; what starts a program is in a room of its own."""
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
    assert found["geometry"] == {"records"}
    assert {"planners", "grounders", "run"} <= found["benchmarks"]
    assert "numpy" in imported("grounding.scoring.metrics", PACKAGE / "scoring" / "metrics.py", top_level_only=True)
    chat = imported("grounding.planners", PACKAGE / "planners" / "__init__.py", top_level_only=True)
    assert "grounding.planners.chat" not in chat
    assert "grounding.planners.chat" in imported("grounding.planners", PACKAGE / "planners" / "__init__.py")


def test_every_room_stands_on_those_below_it() -> None:
    floor = {name: number for number, rooms in enumerate(FLOORS) for name in rooms}
    assert set(floor) == set(by_room()), "say on which floor a new room is"
    wrong = {
        (name, found)
        for name, path in modules().items()
        if room(name)
        for found in ours(name, path) - {room(name)}
        if floor[found] >= floor[room(name)]
    }
    assert wrong == set(UPWARDS)


NETWORKS = {"grounding.benchmarks.personalwab.sasrec"}
"""What defines a network needs torch to be read at all; so nobody else may read it before it is used."""


def test_no_module_loads_heavy_libraries_when_it_is_imported() -> None:
    for name, path in modules().items():
        named = imported(name, path, top_level_only=True)
        assert name in NETWORKS or not {each.split(".")[0] for each in named} & HEAVY, name
        assert name in NETWORKS or not named & NETWORKS, name


PUTS_ADAPTERS_ON = {"grounding.grounders.hf.loading", "grounding.benchmarks.personalwab.agents.puma"}


def test_libraries_for_training_are_only_known_to_training() -> None:
    for name, path in modules().items():
        named = {each.split(".")[0] for each in imported(name, path)}
        if room(name) != "training":
            assert not named & TRAINING, name
            # Adapters are put on models that run in this process, too.
            assert "peft" not in named or name in PUTS_ADAPTERS_ON, name


@pytest.mark.parametrize("folder", ["datasets", "models", "results", "tools"])
def test_folders_of_data_are_no_packages(folder: str) -> None:
    assert (CHECKOUT / folder).is_dir() or folder == "results"
    assert not (CHECKOUT / folder / "__init__.py").exists()


# --- the annotation program ---------------------------------------------------------------------------------------


def test_the_toolkit_never_imports_the_annotation_program() -> None:
    for name, path in modules().items():
        assert "annotate" not in {found.split(".")[0] for found in imported(name, path)}, name


def test_the_annotation_program_runs_no_evaluations() -> None:
    for name, path in modules(ANNOTATE).items():
        assert not ours(name, path) & {"benchmarks", "cli", "eval", "llm", "planners"}, name


def test_the_core_of_the_annotation_program_knows_itself_and_the_loaders_only() -> None:
    core = {name: path for name, path in modules(ANNOTATE).items() if name.startswith("annotate.core")}
    assert "annotate.core.document" in core
    for name, path in core.items():
        assert ours(name, path) <= {"records", "errors", "data", "asr", "atomic", "cards"}, name
        own = {other for other in imported(name, path) if other.split(".")[0] == "annotate"}
        assert all(other.startswith("annotate.core") for other in own), name


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
    commands = [name for name in found if name.endswith((".commands", "__main__")) and ".window." not in name]
    assert "annotate.formats.commands" in commands
    for name in commands:
        loaded = {each.split(".")[0] for each in loaded_with(name, found)}
        assert not loaded & (HEAVY | {"cv2"}), name


def test_the_annotation_program_loads_no_heavy_libraries_when_it_is_imported() -> None:
    for name, path in modules(ANNOTATE).items():
        top_level = {each.split(".")[0] for each in imported(name, path, top_level_only=True)}
        assert not top_level & (HEAVY - {"tkinter"}), name
