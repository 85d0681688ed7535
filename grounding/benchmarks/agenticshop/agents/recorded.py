"""Agents that ran elsewhere: what they left behind in, a :class:`CurationAgent` that hands it out again.

Nothing is asked or paid for, and no costs are taken over. ``replay`` reads ``KEY_search_output.json`` of the release,
one file or a folder of them (a file of that form under another name is for every scenario in which its users occur),
and ``curations.jsonl`` of an earlier run, or its folder. For logs of others, ``PROGRAMS`` says which files a task has
and what reads them. Whose a log is, says its place: the user's id where the row has ``TASK``, or ``SCENARIO__USER``
there, or the id below a folder that is named after the scenario. JSON that was cut off says nothing.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grounding.errors import UserError
from grounding.records import Failure
from grounding.run.journal import scan

from ..records import ROWS, SCENARIO_NAMES, Curation, Scenario, ShopperView, TraceStep, files_in
from ..release import read_bytes, read_search_answers
from .base import CurationAgent, CurationServices, agent, at, decoded, each, made, named_products, text

MAX_BYTES = 512 << 20
CURATIONS, WHAT = "curations.jsonl", "a file of --curations"
NO_PRODUCT = Failure(kind="unparsed", message="what is recorded names no page of a product")

# Whose an answer is: scenario and user; None where the record does not say the scenario, and it is for all of them.
Owner = tuple[Scenario | None, str]
Answer = dict[str, Any]


class RecordedAgent(CurationAgent):
    """Hands out the answer of user and scenario, else that of the user in whatever scenario. ``contents`` are hashes of
    all that ``answers``, fields of a Curation, are read from, by names.
    """

    max_concurrency = 64

    def __init__(self, name: str, answers: Mapping[Owner, Answer], contents: Mapping[str, bytes]) -> None:
        self.name, self._answers = name, answers
        whole = b"".join(hashlib.sha256(one.encode()).digest() + digest for one, digest in sorted(contents.items()))
        self.identity = f"{name} recorded {hashlib.sha256(whole).hexdigest()}"

    async def curate(self, view: ShopperView, key: str) -> Curation:
        missing = {"failure": Failure(kind="missing", message=f"nothing is recorded of {view.task_id}")}
        answers = self._answers
        found = answers.get((view.scenario, view.user)) or answers.get((None, view.user)) or missing
        named_or_failed = found.get("products") or found.get("failure")
        return made(view, key, **(found if named_or_failed else found | {"failure": NO_PRODUCT}))


def open_recorded(path: Path) -> RecordedAgent:
    """The agent that hands out the products of a file or folder; a UserError says where it holds something else."""
    path = path / CURATIONS if (path / CURATIONS).is_file() else path
    if path.suffix == ".jsonl":
        answers, files = _earlier_run(path), [path]
    elif path.is_dir() or path.suffix == ".json":
        named = {row.file("search_output"): row.scenario for row in ROWS.values()}
        several = files_in(path, "search_output") if path.is_dir() else {named.get(path.name): path}
        if not several:
            raise UserError(f"{path}: no *_search_output.json in it; give the folder of one model")
        answers, files = {}, list(several.values())
        for scenario, file in several.items():
            for user, entry in read_search_answers(file).items():
                answers[scenario, user] = {"products": entry.products, "failure": entry.failure}
    else:
        raise UserError(
            f"--curations {path}: unknown form; expected KEY_search_output.json of the release or a folder of them, "
            f"or {CURATIONS} or the folder of an earlier run"
        )
    contents = {one.name: hashlib.sha256(read_bytes(one, WHAT, MAX_BYTES)).digest() for one in files}
    return RecordedAgent("replay", answers, contents)


def _earlier_run(path: Path) -> dict[Owner, Answer]:
    answers: dict[Owner, Answer] = {}
    for one in scan(path, Curation):  # The last answer of a task counts.
        scenario, _, user = one.step_id.partition("/")
        if (known := SCENARIO_NAMES.get(scenario.casefold())) is None:
            raise UserError(f"--curations {path}: {one.step_id!r} is no task of users with needs (SCENARIO/USER)")
        answer = answers[known, user] = msgspec.structs.asdict(one)
        answer["trace"] = tuple(msgspec.structs.replace(step, screenshot="") for step in one.trace)
        del answer["step_id"], answer["key"], answer["call"]
    return answers


# --- logs -------------------------------------------------------------------------------------------------------------


Logged = tuple[str, list[TraceStep], str]
"""What a task's files say: the last words, the steps before them, and an error, "" where they name none."""


class Program(NamedTuple):
    """A program's logs. ``files`` are the paths of a task's files, with the user's id for ``TASK``."""

    title: str
    files: tuple[str, ...]
    read: Callable[[dict[str, Any]], Logged]


def open_logs(name: str, path: Path) -> RecordedAgent:
    """The agent whose logs lie in a folder, or a file named after its task. A UserError says that there are no such
    logs, or that two are of one task.
    """
    program, answers, contents = PROGRAMS[name], dict[Owner, Answer](), dict[str, bytes]()
    for owner, files in _tasks(path, program).items():
        whole: dict[str, Any] = {}
        for file in files.values():
            content = read_bytes(file, WHAT, MAX_BYTES)
            contents[f"{owner}/{file.name}"] = hashlib.sha256(content).digest()
            if value := decoded(content):
                whole[file.name] = value
        answer, steps, error = program.read(whole)
        products = named_products(answer)
        wrong = "" if products else error[:500]
        wrong = wrong or ("" if whole else "the log holds nothing that is whole")
        answers[owner] = {
            "products": products,
            "ended": "answered" if products else "no address in the answer" if answer else "no answer",
            "failure": Failure(kind="error", message=wrong) if wrong else None,
            "trace": tuple(steps),
            "raw": answer,
        }
    return RecordedAgent(name, answers, contents)


def _tasks(root: Path, program: Program) -> dict[Owner, dict[str, Path]]:
    """The files of each task by their names, in the order of their paths. Links are not followed."""
    pattern = re.compile("|".join(f"(?:.*/)?{one.replace('TASK', '([^/]+)')}" for one in program.files))
    found: dict[Owner, dict[str, Path]] = {}
    for file in [root] if root.is_file() else sorted(root.rglob("*")):
        place = file.relative_to(root.parent)
        match = pattern.fullmatch(place.as_posix())
        if match is None or file.is_symlink() or not file.is_file():
            continue
        task: str = next(filter(None, match.groups()))
        left, _, right = task.partition("__")
        named = [left] if right else reversed(place.parts[:-1])
        known = (SCENARIO_NAMES.get(one.casefold()) for one in named)
        scenario: Scenario | None = next(filter(None, known), None)
        owner: Owner = (scenario, right if right and scenario else task)
        if (other := found.setdefault(owner, {}).setdefault(file.name, file)) != file:
            raise UserError(f"--curations {root}: two logs of {owner[1]!r}: {other} and {file}; take one out")
    if not found:
        raise UserError(f"--curations {root}: none of the files that {program.title} writes is in it")
    return found


def _step(action: str, url: str = "", thought: str = "") -> TraceStep:
    return TraceStep(action=" ".join(action.split()), url=url if url.startswith("http") else "", thought=thought)


_START = re.compile(r"Please interact with (https?://\S+)")
_ANSWER = re.compile(r"ANSWER\s*;?\s*(.*)", re.DOTALL | re.IGNORECASE)


def read_webvoyager(files: dict[str, Any]) -> Logged:
    """https://github.com/MinorJerry/WebVoyager at 0915445, ``run.py`` and ``results/examples``. A reply reads
    ``Thought: …`` and ``Action: …``, at the end ``ANSWER; …``. Only the first page's address is told.
    """
    steps, url, answer = list[TraceStep](), "", ""
    for message in each(files.get("interact_messages.json")):
        said = text(message, "content") or "\n".join(text(part, "text") for part in each(message, "content"))
        if message.get("role") == "user":
            url = match[1] if (match := _START.search(said)) else url
        elif message.get("role") == "assistant":
            thought, _, action = said.partition("Action:") if "Action:" in said else ("", "", said)
            answer = match[1].strip() if (match := _ANSWER.match(action.strip())) else ""
            steps.append(_step(action, url, thought.strip().removeprefix("Thought:").strip()))
            url = ""
    return answer, steps, ""


_TOLD = (
    re.compile(r"SAY: (.*)|Say (.*) to the user", re.DOTALL),
    re.compile(r"MEMORIZE: (.*)|Keep (.*) to the action.*", re.DOTALL),
)
_GOTO = re.compile(r"GOTO:? (https?://\S+)")


def read_seeact(files: dict[str, Any]) -> Logged:
    """https://github.com/OSU-NLP-Group/SeeAct: ``src/seeact.py`` (0effe3c), ``seeact_package`` (0701b4f).

    SeeAct has no final answer of its own: what it told the user with ``SAY`` last is taken, else what it kept with
    ``MEMORIZE``, else the words with which it terminated.
    """
    predictions, history = each(files.get("all_predictions.json")), at(files.get("result.json"), "action_history")
    actions = [f"{text(one, 'action')}: {text(one, 'value')}".removesuffix(": None") for one in predictions]
    thoughts = [text(one, "action_generation") for one in predictions]
    if not predictions and isinstance(history, list):
        actions = [one for one in history if isinstance(one, str)]
        thoughts = [""] * len(actions)
    matches = [[match for one in actions if (match := kind.fullmatch(one))] for kind in _TOLD]
    told = [[words for match in found if (words := match[1] or match[2])] for found in matches]
    last = thoughts[-1] if actions and actions[-1].startswith("TERMINATE") else ""
    urls = [match[1] if (match := _GOTO.search(one)) else "" for one in actions]
    return next((said[-1].strip() for said in told if said), last), list(map(_step, actions, urls, thoughts)), ""


_FENCE = re.compile(r"^\s*```(?:json)?\s*|\s*```\s*$")
_PAGE = re.compile(r"Current (?:Page|URL): (https?://\S+?)(?:,? Title:|,?\s|$)")


def read_agent_e(files: dict[str, Any]) -> Logged:
    """https://github.com/EmergenceAI/Agent-E: ``test/tests_processor.py`` at 06719a4 and the core it calls.

    ``execution_logs_ID.json`` is the planner's conversation, whose replies hold JSON with ``final_response`` at the
    end, ``nested_chat_log_….json`` that of a step of the plan. Pages are named in words, ``Current Page: URL``.
    """
    result = next((value for name, value in files.items() if name.startswith("test_result")), None)
    told = [value for name, value in files.items() if name.startswith("execution") and isinstance(value, dict)]
    plans = [one for value in told for agent in value for one in each(value, agent)]
    replies = [decoded(_FENCE.sub("", text(one, "content"))) for one in plans]
    answer = next((said for one in reversed(replies) if (said := text(one, "final_response").strip())), "")
    steps, url = list[TraceStep](), ""
    for messages in (each(value) for name, value in files.items() if name.startswith("nested")):
        thought = text(messages[0], "content") if messages else ""
        for message in messages:
            url = match[1] if (match := _PAGE.search(text(message, "content"))) else url
            for call in each(message, "tool_calls"):
                arguments = text(call, "function", "arguments")
                url = text(decoded(arguments), "url") or url
                steps.append(_step(f"{text(call, 'function', 'name')} {arguments}", url, thought))
    return answer or text(result, "last_statement"), steps, text(result, "error")


_THOUGHTS = ("thinking", "thought", "evaluation_previous_goal", "memory", "next_goal")


def read_browser_use(files: dict[str, Any]) -> Logged:
    """https://github.com/browser-use/browser-use, ``AgentHistoryList.save_to_file`` at 019af07, a178036 and 1549e71.

    What the model thinks is below ``current_state`` in older versions; ``model_output`` is null where a request failed.
    The answer is what the last ``done`` says. Held against a file that version 0.13.14 wrote.
    """
    steps, answer, error = list[TraceStep](), "", ""
    for one in (one for value in files.values() for one in each(value, "history")):
        output, url = at(one, "model_output"), text(one, "state", "url")
        thought = "\n".join(
            said for name in _THOUGHTS if (said := text(output, name) or text(output, "current_state", name))
        )
        for action in each(output, "action"):
            name, parameters = next(iter(action.items()), ("", None))
            words = msgspec.json.encode(parameters).decode() if parameters else ""
            steps.append(_step(f"{name} {words}", url, thought))
            if name == "done":  # Its text, or the fields of a schema that the user gave.
                answer = text(parameters, "text") or words
        for result in each(one, "result"):
            error = text(result, "error") or error
            if result.get("is_done") is True:
                answer = text(result, "extracted_content") or answer
    return answer, steps, "" if answer else error


PROGRAMS: dict[str, Program] = {
    "agent-e": Program(
        "Agent-E",
        (r"execution_logs_TASK\.json", r"test_result_TASK\.json", r"logs_for_task_TASK/nested_chat_log_\d+\.json"),
        read_agent_e,
    ),
    "seeact": Program("SeeAct", (r"TASK/(?:result|all_predictions)\.json",), read_seeact),
    "webvoyager": Program("WebVoyager", (r"taskTASK/interact_messages\.json",), read_webvoyager),
    "browser-use": Program("Browser Use", (r"TASK/(?:agent_?)?history\.json", r"TASK\.json"), read_browser_use),
}


def _recorded(name: str, given: CurationServices) -> RecordedAgent:
    path = given.options.curations
    if path is None or not path.exists():
        raise UserError(f"--curations {path}: there is no such file or folder")
    return open_logs(name, path) if name in PROGRAMS else open_recorded(path)


_WRITTEN = {name: f"what {program.title} wrote into its logs" for name, program in PROGRAMS.items()}
for _name, _what in {"replay": "products that somebody or something chose before, from a file", **_WRITTEN}.items():
    agent(_name, f"{_what}: --curations", needs="curations")(partial(_recorded, _name))
