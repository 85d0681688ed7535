"""What a search-augmented model is told of a user's need: a file of texts and a view in, the words of a request out.

The order, the blanks and what is left out are the release's (protocol D2); ``models/prompts/agenticshop`` holds the
texts. The double quotes of a context are turned into single ones, as there.
"""

from __future__ import annotations

import copy
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.agenticshop.records import DIMENSIONS, ShopperView
from grounding.webagents.filling import fill


class CurationPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording, and the schema of the reply."""

    name: str
    version: int
    source: str
    system: str
    opening: str
    product_type: str
    situation: str
    budget: str
    query: str
    context: str
    dimension: str
    task: str
    sites: str
    in_words: str
    schema_name: str
    schema: dict[str, Any]

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        return f"{self.name}.{self.version}@{hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]}"


@cache
def curation_prompts(name: str = "curation") -> CurationPrompts:
    """The wording of this name, or of a YAML file of one's own.

    Raises:
        UserError: there is none, or a text is missing or unknown.
    """
    folder = models_dir() / "prompts" / "agenticshop"
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=CurationPrompts)
    except OSError:
        raise UserError(f"prompt {name}: there is no such file; there is curation, or give a .yaml file") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: not the wording of a curation: {error}") from None


def curation_prompt(prompts: CurationPrompts, view: ShopperView) -> str:
    """The prompt of a need, as the release writes it into its inputs; what has no value is left out."""
    said = [prompts.opening]
    if view.product_type:
        said.append(fill(prompts.product_type, product_type=view.product_type))
    about = []
    if view.situation:
        about.append(fill(prompts.situation, situation=view.situation.rstrip(".")))
    if view.budget:
        about.append(fill(prompts.budget, budget=view.budget))
    if view.query:
        about.append(fill(prompts.query, query=view.query))
    if about:
        said.append(" ".join(about) + " ")
    told = [(name, text) for name in DIMENSIONS if (text := getattr(view.context, name))]
    if told:
        said.append(prompts.context)
        said += [fill(prompts.dimension, dimension=name, text=text.replace('"', "'")) for name, text in told]
    return "".join([*said, prompts.task])


def request_text(prompts: CurationPrompts, view: ShopperView, *, in_words: bool) -> str:
    """All that a model is told: the release's system text and prompt, the data set's shops, the form of the reply.

    Args:
        prompts: The wording.
        view: The need.
        in_words: Whether the form has to be asked for, because no schema goes along.
    """
    text = prompts.system + curation_prompt(prompts, view)
    if view.sites:
        text += fill(prompts.sites, sites=", ".join(f"{site.name} ({site.home_url})" for site in view.sites))
    return text + prompts.in_words if in_words else text


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with its definitions where they are used, for vendors that are not known to follow references."""
    definitions = schema.get("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).removeprefix("#/$defs/")
            if name in definitions:
                return put(definitions[name])
            return {key: put(value) for key, value in part.items() if key != "$defs"}
        return [put(one) for one in part] if isinstance(part, list) else part

    made = put(copy.deepcopy(schema))
    assert isinstance(made, dict)
    return made
