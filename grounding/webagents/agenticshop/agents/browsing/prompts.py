"""The wording of the browsing agent: a file of texts in, the messages of a request out.

The texts are data (``models/prompts/agenticshop/browsing.yaml``), because they are part of what is asked. All values
are put in at once, so that what a page or a user wrote is never filled again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.agenticshop.agents.browsing.elements import element_line, quoted
from grounding.webagents.agenticshop.agents.browsing.observation import Observation
from grounding.webagents.agenticshop.records import ShopperView

_PLACE = re.compile(r"\{([a-z_]+)\}")

HISTORY_STEPS = 30
HISTORY_LINE_CHARS = 400
OPENED_PAGES = 40


class BrowsingPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording.

    ``numbered`` belongs to a picture with numbers and a list, ``described`` to one without, where a grounder finds the
    element that is described. The lines of the task are left out where there is nothing to say.
    """

    name: str
    version: int
    source: str
    system: str
    numbered: str
    described: str
    task: str
    product_type_line: str
    situation_line: str
    budget_line: str
    query_line: str
    no_query_line: str
    context_line: str
    sites_line: str
    page: str
    list_numbered: str
    list_described: str
    last_step: str
    mistake: str
    nothing_yet: str

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


class Told(Record, frozen=True, kw_only=True):
    """What the model is told of its own way so far. ``steps`` are lines; ``opened`` are addresses with titles."""

    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    step: int = 1
    last: bool = False


@cache
def browsing_prompts(name: str = "browsing") -> BrowsingPrompts:
    """The wording of this name, or of a YAML file of one's own.

    Raises:
        UserError: there is none, or a text is missing or unknown.
    """
    folder = models_dir() / "prompts" / "agenticshop"
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=BrowsingPrompts)
    except OSError:
        raise UserError(f"no wording for the browsing agent at {path}: leave it out, or give a .yaml file") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: {error}; every text of {folder / 'browsing.yaml'} must be there") from None


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into the places ``{name}`` of a text, all at once; other braces stay."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), template)


def system_text(prompts: BrowsingPrompts, view: ShopperView, *, numbered: bool, max_steps: int) -> str:
    """The rules, the forms of actions, and the task."""
    values = {
        "actions": prompts.numbered if numbered else prompts.described,
        "task": task_text(prompts, view),
        "max_steps": str(max_steps),
    }
    return fill(prompts.system, values)


def task_text(prompts: BrowsingPrompts, view: ShopperView) -> str:
    """What is known of the user and the need; a line for each thing that is known."""
    lines = [
        fill(line, {"value": " ".join(value.split())})
        for line, value in (
            (prompts.product_type_line, view.product_type or ""),
            (prompts.situation_line, view.situation),
            (prompts.budget_line, view.budget or ""),
            (prompts.query_line if view.query else prompts.no_query_line, view.query or "-"),
        )
        if value
    ]
    context = [
        fill(prompts.context_line, {"name": name.replace("_", " "), "value": " ".join(text.split())})
        for name in view.context.__struct_fields__
        if (text := getattr(view.context, name))
    ]
    sites = [fill(prompts.sites_line, {"name": site.name, "value": site.home_url}) for site in view.sites]
    return fill(prompts.task, {"need": "\n".join(lines), "context": "\n".join(context), "sites": "\n".join(sites)})


def page_text(prompts: BrowsingPrompts, seen: Observation, told: Told, *, numbered: bool) -> str:
    """What goes beside the picture: where we are, what can be done there, and what was done so far."""
    lines = [element_line(element, seen.url) for element in seen.elements]
    values = {
        "step": str(told.step),
        "url": seen.url,
        "title": quoted(seen.title, 150),
        "scroll": seen.place,
        "elements": "\n".join(lines) or prompts.nothing_yet,
        "history": "\n".join(told.steps[-HISTORY_STEPS:]) or prompts.nothing_yet,
        "notes": "\n".join(f"- {quoted(note, 200)}" for note in told.notes) or prompts.nothing_yet,
        "opened": "\n".join(told.opened[-OPENED_PAGES:]) or prompts.nothing_yet,
        "last_step": prompts.last_step if told.last else "",
    }
    listed = fill(prompts.list_numbered if numbered else prompts.list_described, values)
    return fill(prompts.page, {**values, "list": listed}).rstrip()


def mistake_text(prompts: BrowsingPrompts, mistake: str) -> str:
    """What a model is told whose answer could not be read or done."""
    return fill(prompts.mistake, {"mistake": mistake})


def history_line(step: int, action: str, outcome: str) -> str:
    """One step as the model is reminded of it; what a page had a part in stands on this one line."""
    line = f"{step}. {action} -> {outcome}" if outcome else f"{step}. {action}"
    return " ".join(line.split())[:HISTORY_LINE_CHARS]


def opened_lines(opened: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The pages that were opened: address and title."""
    return tuple(f"- {url} {quoted(title, 80)}" for url, title in opened)
