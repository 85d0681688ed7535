"""The wording of extraction: a file of texts in, the words of one question out, with what the page says fenced."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.agenticshop.records import RenderedPage
from grounding.webagents.filling import fill

MAX_PAGE_CHARS = 40_000
MAX_DATA_CHARS = 20_000


class ExtractionPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording. ``text`` and ``metadata`` hold what the page says; an empty part is left out."""

    name: str
    version: int
    source: str
    system: str
    head: str
    text: str
    metadata: str
    pictures: str
    task: str
    output: str

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


@cache
def extraction_prompts(name: str = "extraction") -> ExtractionPrompts:
    """The wording of this name (``extraction``, ``extraction-release``), or of a YAML file of one's own.

    Raises:
        UserError: there is none, or a text is missing or unknown.
    """
    folder = models_dir() / "prompts" / "agenticshop"
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=ExtractionPrompts)
    except OSError:
        known = ", ".join(sorted(file.stem for file in folder.glob("extraction*.yaml")))
        raise UserError(
            f"no wording of extraction is called {name!r}: there are {known}, or give a .yaml file"
        ) from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: {error}; every text of {folder / 'extraction.yaml'} must be there") from None


def question(prompts: ExtractionPrompts, page: RenderedPage, *, pictures: int) -> str:
    """The words of one question.

    The mark of the fence is made of what it fences, so that no page can write the end of its own fence.

    Args:
        prompts: The wording.
        page: What is asked about; its text and data are cut to what a model is shown.
        pictures: How many pictures come with it.
    """
    text = page.text[:MAX_PAGE_CHARS]
    metadata = shown_data(page)
    mark = hashlib.sha256(msgspec.json.encode((page.url, text, metadata))).hexdigest()[:16]
    parts = [fill(prompts.head, url=(page.final_url or page.url)[:2_000])]
    if text:
        parts.append(fill(prompts.text, text=text, mark=mark))
    if metadata:
        parts.append(fill(prompts.metadata, metadata=metadata, mark=mark))
    if pictures and prompts.pictures:
        parts.append(prompts.pictures)
    return "\n\n".join(part.strip("\n") for part in (*parts, prompts.task, prompts.output))


def shown_data(page: RenderedPage) -> str:
    """The page's blocks of data, one a line, as many whole ones as a model is shown."""
    kept: list[str] = []
    left = MAX_DATA_CHARS
    for block in page.data:
        line = f"{block.source}: {block.json}"
        if len(line) <= left:
            kept.append(line)
            left -= len(line)
    return "\n".join(kept)
