"""Agents that ran elsewhere: what they left behind in, a :class:`CurationAgent` that hands it out again.

Nothing is asked and nothing is paid for here: costs are not taken over, steps and what they say are. A task of which
nothing is recorded is a failure of the kind ``missing``. ``replay`` reads ``KEY_search_output.json`` of the release,
one file or a folder of them (a file of that form under another name is for every scenario in which its users occur),
and ``curations.jsonl`` of an earlier run, or the folder of that run; ``logs`` reads those of four programs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from grounding.benchmarks.agenticshop.agents.base import CurationAgent, CurationServices, agent, made
from grounding.benchmarks.agenticshop.records import Curation, Scenario, ShopperView
from grounding.benchmarks.agenticshop.release.search import read_search_answers, search_outputs
from grounding.benchmarks.agenticshop.scenarios import scenario_named, scenario_of_search_file
from grounding.errors import UserError
from grounding.records import Failure
from grounding.run.journal import Journal

MAX_BYTES = 512 << 20
"""A history of Browser Use with its pictures in it has a few megabytes a step."""

CURATIONS = "curations.jsonl"
NO_PRODUCT = Failure(kind="unparsed", message="what is recorded names no page of a product")

Owner = tuple[Scenario | None, str]
"""Whose an answer is: scenario and user; None where the record does not say the scenario, and it is for all of them."""

Answer = dict[str, Any]
"""Fields of a Curation."""


class RecordedAgent(CurationAgent):
    """Hands out what is recorded: the answer of user and scenario, else that of the user in whatever scenario.

    ``contents`` are hashes of all that ``answers`` are read from, by names.
    """

    max_concurrency = 64

    def __init__(self, name: str, answers: Mapping[Owner, Answer], contents: Mapping[str, bytes]) -> None:
        self.name, self._answers = name, answers
        whole = b"".join(hashlib.sha256(one.encode()).digest() + digest for one, digest in sorted(contents.items()))
        self.identity = f"{name} recorded {hashlib.sha256(whole).hexdigest()}"

    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Look up what is recorded of a task."""
        found = self._answers.get((view.scenario, view.user)) or self._answers.get((None, view.user))
        if found is None:
            found = {"failure": Failure(kind="missing", message=f"nothing is recorded of {view.task_id}")}
        elif not found.get("products") and found.get("failure") is None:
            found = found | {"failure": NO_PRODUCT}
        return made(view, key, **found)


def recordings(given: CurationServices) -> Path:
    """What ``--curations`` names; raises a UserError where it is nothing that is there."""
    path = given.options.curations
    if path is None or not path.exists():
        raise UserError(f"--curations {path}: there is no such file or folder")
    return path


@agent("replay", "products that somebody or something chose before, from a file: --curations", needs="curations")
def _replay(given: CurationServices) -> RecordedAgent:
    return open_recorded(recordings(given))


def open_recorded(path: Path) -> RecordedAgent:
    """The agent that hands out the products of a file or folder; a UserError says where it holds something else."""
    if path.is_dir() and (path / CURATIONS).is_file():
        path = path / CURATIONS
    answers: dict[Owner, Answer] = {}
    if path.suffix == ".jsonl":
        answers, files = _earlier_run(path), [path]
    elif path.is_dir() or path.suffix == ".json":
        several = search_outputs(path) if path.is_dir() else {scenario_of_search_file(path.name): path}
        files = list(several.values())
        for scenario, file in several.items():
            for user, entry in read_search_answers(file).items():
                answers[scenario, user] = {"products": entry.products, "failure": entry.failure}
    else:
        raise UserError(
            f"--curations {path}: unknown form; expected KEY_search_output.json of the release or a folder of them, "
            f"or {CURATIONS} or the folder of an earlier run"
        )
    return RecordedAgent("replay", answers, {one.name: read_bytes(one)[1] for one in files})


def _earlier_run(path: Path) -> dict[Owner, Answer]:
    answers: dict[Owner, Answer] = {}
    kept = ("products", "raw", "ended", "requests", "seconds", "failure")
    with closing(Journal(path, Curation, read_only=True)) as journal:
        for one in journal:  # The last answer of a task counts.
            scenario, _, user = one.step_id.partition("/")
            try:
                owner = scenario_named(scenario), user
            except UserError:
                wrong = f"{one.step_id!r} is no task of users with needs (SCENARIO/USER)"
                raise UserError(f"--curations {path}: {wrong}") from None
            trace = tuple(msgspec.structs.replace(step, screenshot="") for step in one.trace)
            answers[owner] = {name: getattr(one, name) for name in kept} | {"trace": trace}
    return answers


def read_bytes(path: Path) -> tuple[bytes, bytes]:
    """The content of a recorded file, and its hash; a UserError says that it can't be read, or is too large."""
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise UserError(f"--curations {path}: {size:,} bytes; at most {MAX_BYTES:,}")
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"--curations {path}: can't be read: {error.strerror}") from error
    return content, hashlib.sha256(content).digest()
