"""The wording of judging: a file of texts, because it is part of what is asked.

Two kinds. ``evidence`` is this project's own: fenced evidence, items by id, a quote or a place for each verdict.
``official`` is the release's, which shows the extraction and the checklist as JSON and wants stats back.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record

DEFAULT = "evidence"
_PREFIX = "judge-"


class JudgePrompt(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording.

    ``style`` says who fills it and how a reply is read. ``full``, ``no_info`` and ``url_only`` lead the evidence of the
    three conditions, ``picture`` each picture; ``one`` and ``all`` ask for one verdict or for all. The official style
    has ``system`` and ``full`` alone.
    """

    name: str
    version: int
    source: str
    style: Literal["evidence", "official"]
    system: str
    full: str
    no_info: str = ""
    url_only: str = ""
    pictures: str = ""
    no_pictures: str = ""
    picture: str = ""
    one: str = ""
    all: str = ""

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


@cache
def judge_prompt(name: str | None = None) -> JudgePrompt:
    """The wording of this name (``evidence``, ``official``), or of a YAML file of one's own.

    Raises:
        UserError: there is none, or a text is missing or unknown.
    """
    name = name or DEFAULT
    folder = models_dir() / "prompts" / "agenticshop"
    known = {file.stem.removeprefix(_PREFIX): file for file in folder.glob(f"{_PREFIX}*.yaml")}
    path = Path(name) if name.endswith((".yaml", ".yml")) else known.get(name)
    if path is None:
        raise UserError(
            f"no wording of judging is called {name!r}: there are {', '.join(sorted(known))}, or give a .yaml file"
        )
    try:
        prompt = msgspec.yaml.decode(path.read_bytes(), type=JudgePrompt)
    except OSError as error:
        raise UserError(f"{path}: the wording can't be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: {error}; its fields are those of {folder / 'judge-evidence.yaml'}") from None
    if prompt.style == "evidence" and not all(
        (prompt.no_info, prompt.url_only, prompt.picture, prompt.one, prompt.all)
    ):
        raise UserError(f"{path}: a wording of the style evidence needs no_info, url_only, picture, one and all")
    return prompt
