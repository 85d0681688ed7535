"""Recipes: one YAML file says everything about how a run trains. Files and ``--set`` in, frozen typed records out."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from grounding.cards import allowed_at
from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.training.recipetext import recipe_text
from grounding.training.strictyaml import YamlProblem, read_yaml, value_of

RecipeT = TypeVar("RecipeT", bound=Record)


class ReadRecipe(msgspec.Struct, Generic[RecipeT], frozen=True, kw_only=True):
    """A recipe as it will be used, and where it is from.

    ``sha256`` is of the file's bytes. ``overrides`` are the changes by ``--set``, as they were given. ``text`` is
    the content of the run's ``recipe.yaml``: every value, defaults included, with the file's comments.
    """

    recipe: RecipeT
    path: Path
    sha256: str
    overrides: tuple[str, ...]
    text: str


def bundled_recipes(folder: Path | None = None) -> tuple[str, ...]:
    """The names of the recipes that come with the package, sorted."""
    folder = folder or models_dir() / "recipes"
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


def read_recipe(name: str, recipe_type: type[RecipeT], overrides: Sequence[str] = ()) -> ReadRecipe[RecipeT]:
    """Read a recipe by the name of a bundled one (``grpo-gta1``) or by its path.

    Args:
        name: The name or path.
        recipe_type: What it must be; its records forbid unknown fields.
        overrides: Changes such as ``grpo.optimisation.learning_rate=1e-5``; the value is YAML. ``lora=null`` clears a
            part, ``grpo.rewards.0.weight=2`` reaches into a list, and a field of a part that the file leaves out makes
            that part.

    Raises:
        UserError: there is no such recipe, or a field or override is wrong; says which and what is allowed.
    """
    path = _path(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"--recipe {path}: can't be read: {error.strerror}") from error
    try:
        asked = content.decode()
        tree = read_yaml(asked)
    except (YamlProblem, UnicodeDecodeError) as error:
        raise UserError(f"--recipe {path}: not valid YAML: {error}") from error
    _checked(tree, recipe_type, f"--recipe {path}")
    for override in overrides:
        _override(tree, override)
        _checked(tree, recipe_type, f"--set {override}")
    recipe = _checked(tree, recipe_type, f"--recipe {path}")
    return ReadRecipe(
        recipe=recipe,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        overrides=tuple(overrides),
        text=recipe_text(recipe, asked, path.name, tuple(overrides)),
    )


def _path(name: str) -> Path:
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return path
    folder = models_dir() / "recipes"
    known = bundled_recipes(folder)
    if name in known:
        return folder / f"{name}.yaml"
    close = difflib.get_close_matches(name, known, 1)
    meant = f" Did you mean {close[0]}?" if close else ""
    raise UserError(f"--recipe {name}: neither a file nor a bundled recipe ({', '.join(known) or 'none'}).{meant}")


def _checked(tree: Any, recipe_type: type[RecipeT], where: str) -> RecipeT:
    try:
        return msgspec.convert(tree, recipe_type, strict=True)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `")
        fields = re.findall(r"[A-Za-z_]\w*", place.removeprefix("key` in `"))
        raise UserError(
            f"{where}: field {'.'.join(fields) or '(top level)'}: {text}.{allowed_at(recipe_type, fields)}"
        ) from error


def _override(tree: Any, override: str) -> None:
    """Put a value into the tree of a recipe.

    Raises:
        UserError: it is not ``field=value``, or leads through something that has no fields.
    """
    place, equals, text = override.partition("=")
    if not equals or not place.strip():
        raise UserError(f"--set {override}: expected field=value, such as saving.every_steps=50")
    try:
        value = value_of(text)
    except YamlProblem as error:
        raise UserError(f"--set {override}: the value is not valid YAML: {error}") from error
    names = place.strip().split(".")
    for position, name in enumerate(names):
        through = ".".join(names[:position]) or "the recipe"
        last = position == len(names) - 1
        if isinstance(tree, list):
            if not name.isdigit() or int(name) >= len(tree):
                raise UserError(f"--set {override}: {through} is a list of {len(tree)}: name one by its number, from 0")
            key: Any = int(name)
        elif isinstance(tree, dict):
            key = name
        else:
            raise UserError(f"--set {override}: {through} has no fields")
        if last:
            tree[key] = value
        else:
            if isinstance(tree, dict) and tree.get(key) is None:
                tree[key] = {}
            tree = tree[key]
