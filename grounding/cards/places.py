"""Where the data that comes with the package lies: cards and samples, in a checkout or in an installed wheel."""

import os
import tomllib
from pathlib import Path

from grounding.errors import DISTRIBUTION, UserError

_PACKAGE = Path(__file__).resolve().parents[1]
_NO_CACHE = "GROUNDING_NO_CACHE"


def datasets_dir() -> Path:
    return find_data_dir("datasets", _PACKAGE)


def models_dir() -> Path:
    return find_data_dir("models", _PACKAGE)


def published_dir() -> Path:
    return find_data_dir("results/published", _PACKAGE)


def find_data_dir(kind: str, package: Path) -> Path:
    """The data folder called ``kind`` that belongs to the package folder ``package``. A checkout keeps it beside the
    package, a wheel inside it, under ``_data``. The checkout's goes first, so that an edited card takes effect at once.
    """
    checkout = package.parent
    beside, inside = checkout / kind, package / "_data" / kind
    if beside.is_dir() and _is_our_checkout(checkout):
        return beside
    if inside.is_dir():
        return inside
    raise UserError(
        f"the folder '{kind}' of this installation is missing: looked for {beside} (in a checkout) and {inside} "
        "(in an installed package). Install the package again, or take a complete checkout."
    )


def cache_dir() -> Path | None:
    """Where what was made once is kept for later runs: ``grounding`` in the user's cache folder; it may not exist yet.
    None where the environment variable GROUNDING_NO_CACHE is set, or no home directory is known.
    """
    if os.environ.get(_NO_CACHE, "") not in ("", "0"):
        return None
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grounding"
    except RuntimeError:
        return None


def _is_our_checkout(folder: Path) -> bool:
    # An installed package lies in site-packages, where other packages may well have put a folder of the same name.
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8")).get("project")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    return isinstance(project, dict) and project.get("name") == DISTRIBUTION
