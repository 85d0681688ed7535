"""Agents of others: the release's outputs, earlier runs, and logs of four programs over a shop that doesn't exist."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.agents.base import MAX_PRODUCTS, named_products
from grounding.benchmarks.agenticshop.agents.recorded import PROGRAMS, open_logs, open_recorded
from grounding.benchmarks.agenticshop.records import Curation, CurationTask, Scenario, TraceStep, view_of
from grounding.errors import UserError
from grounding.records import Call, Failure
from grounding.run.journal import Journal

from ..made import made_curation, made_task

SHOP = "https://kettle.example/"
KETTLE = f"{SHOP}p/alder-tea-50"
BIRCH = "https://birch.example/products/birch-tea?size=50"
ANSWER = (
    f"I would take these:\n1. **Alder tea, 50 bags**: {KETTLE}.\n2. [Birch tea]({BIRCH}) - cheaper, free shipping\n"
)


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=4), encoding="utf-8")
    return path


def voyager_messages() -> list[dict[str, Any]]:
    def seen(text: str) -> dict[str, Any]:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,{b64_img}"}}
        return {"role": "user", "content": [{"type": "text", "text": text}, picture]}

    return [
        {"role": "system", "content": "Imagine you are a robot browsing the web."},
        seen(f"Now given a task: tea  Please interact with {SHOP} and get the answer. \nObservation: [1]"),
        {"role": "assistant", "content": "Thought: I search first.\n\nAction: Type [2]; alder tea"},
        seen('Observation: please analyze the attached screenshot.\n[0]: "Alder tea";'),
        {"role": "assistant", "content": f"Thought: That is all.\n\nAction: ANSWER; {ANSWER}"},
    ]


DETAILS = {"description": "Details", "tag_with_role": "button", "selector": "<Locator frame=...>"}
SEEACT_PREDICTIONS = [
    {"action_generation": said, "action_grounding": "", "element": element, "action": action, "value": value}
    for said, element, action, value in (
        ("I open the shop's search.", None, "GOTO", KETTLE),
        ("I look at the price.", DETAILS, "CLICK", "None"),
        ("I tell.", None, "SAY", ANSWER),
        ("Done.", None, "TERMINATE", "None"),
    )
]
SEEACT_RESULT = {
    "task": ["tea"], "website": SHOP, "num_step": 4,
    "action_history": [f"GOTO: {KETTLE}", "[button] Details -> CLICK", f"SAY: {ANSWER}", "TERMINATE"],
}  # fmt: skip


def planner_messages() -> dict[str, Any]:
    step = {"plan": "1. search 2. read", "next_step": "Search for alder tea", "terminate": "no"}
    said = (
        (f"Task: tea Current Page: {SHOP}, Title: Kettle", "user", "user"),
        (f"```json\n{json.dumps(step)}\n```", "assistant", "planner_agent"),
        (f"Found it. Current Page: {KETTLE}, Title: Alder tea", "user", "user"),
        (json.dumps({"terminate": "yes", "final_response": ANSWER}), "assistant", "planner_agent"),
    )
    messages = [{"content": content, "role": role, "name": name} for content, role, name in said]
    return {"<autogen.agentchat.user_proxy_agent.UserProxyAgent object at 0x1>": messages}


def nested_messages() -> list[dict[str, Any]]:
    call = {"id": "call_1", "type": "function"}
    call |= {"function": {"name": "openurl", "arguments": json.dumps({"url": KETTLE})}}  # type: ignore[dict-item]
    responses = [{"tool_call_id": "call_1", "role": "tool", "content": "Page loaded"}]
    return [
        {"content": f"Search for alder tea Current Page: {SHOP}, Title: Kettle", "role": "assistant"},
        {"tool_calls": [call], "content": None, "role": "assistant"},
        {"content": f"Page loaded: {KETTLE}, Title: Alder tea", "tool_responses": responses, "role": "tool"},
        {"content": "The tea costs $12.\n##TERMINATE TASK##", "role": "user"},
    ]


AGENT_E_RESULT = {"task_id": "u1", "intent": "tea", "last_url": KETTLE, "tct": 61.5, "last_statement": ANSWER}


def history(answer: str = ANSWER, *, old: bool = True) -> dict[str, Any]:
    """A history as older versions of Browser Use write it (``current_state``, a picture), or as later ones do."""

    def step(number: int, action: dict[str, Any], result: dict[str, Any], url: str) -> dict[str, Any]:
        brain = {"evaluation_previous_goal": "Good.", "memory": "m", "next_goal": f"goal {number}"}
        output: dict[str, Any] = {"current_state": brain} if old else {"thinking": "so", **brain}
        state: dict[str, Any] = {"url": url, "title": "t", "tabs": [], "interacted_element": [None]}
        state |= {"screenshot": "iVBORw0KGgo="} if old else {"screenshot_path": "/home/someone/step.png"}
        return {"model_output": {**output, "action": [action]}, "result": [result], "state": state}

    done = {"is_done": True, "success": True, "extracted_content": answer}
    failed = {"model_output": None, "result": [{"error": "rate limit"}], "state": {"url": KETTLE}}
    navigate = {"go_to_url" if old else "navigate": {"url": KETTLE}}
    first = step(1, navigate, {"extracted_content": "Navigated"}, "about:blank")
    return {"history": [first, failed, step(2, {"done": {"text": answer, "success": True}}, done, KETTLE)]}


def write_logs(kind: str, root: Path) -> None:
    """The logs of one task of user u1."""
    match kind:
        case "webvoyager":
            write(root / "tasku1" / "interact_messages.json", voyager_messages())
            write(root / "tasku1" / "screenshot1.png", "")
        case "seeact":
            write(root / "u1" / "result.json", SEEACT_RESULT)
            write(root / "u1" / "all_predictions.json", SEEACT_PREDICTIONS)
            write(root / "u1" / "config.toml", "[basic]\n")
        case "agent-e":
            folder = root / "logs" / "test_results_for_tea" / "logs_for_task_u1"
            write(folder / "execution_logs_u1.json", planner_messages())
            write(folder / "nested_chat_log_1718108706934467700.json", nested_messages())
            write(root / "results" / "results_for_tea" / "test_result_u1.json", AGENT_E_RESULT)
        case "browser-use":
            write(root / "u1.json", history())


def curate(kind: str, path: Path, user: str = "u1", scenario: Scenario = "explicit_title") -> Curation:
    return asyncio.run(open_logs(kind, path).curate(view_of(made_task(user, scenario)), "a key"))


every_program = pytest.mark.parametrize("kind", sorted(PROGRAMS))


@every_program
def test_the_products_of_the_last_words(kind: str, tmp_path: Path) -> None:
    write_logs(kind, tmp_path)
    found = curate(kind, tmp_path)
    assert [(one.rank, one.url, one.name) for one in found.products] == [
        (0, KETTLE, "Alder tea, 50 bags"),
        (1, BIRCH, "Birch tea"),
    ]
    assert "cheaper" in found.products[1].reasoning
    assert (found.step_id, found.key, found.failure, found.call) == ("explicit_title/u1", "a key", None, None)
    assert (found.ended, bool(found.trace)) == ("answered", True)
    missing = curate(kind, tmp_path, user="u2").failure
    assert missing is not None
    assert missing.kind == "missing"


@every_program
def test_the_identity_is_the_content_and_what_is_not_there_is_said(kind: str, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_logs(kind, tmp_path / name)
    changed = next(path for path in sorted((tmp_path / "c").rglob("*.json")) if "Alder" in path.read_text())
    changed.write_text(changed.read_text().replace("Alder", "Elder"), encoding="utf-8")
    first, second, third = (open_logs(kind, tmp_path / name).identity for name in ("a", "b", "c"))
    assert first == second != third
    # Links lead nowhere.
    (tmp_path / "links").mkdir()
    for path in [path for path in (tmp_path / "a").rglob("*") if path.is_file()]:
        (tmp_path / "links" / path.name).symlink_to(path)
    with pytest.raises(UserError, match="none of the files"):
        open_logs(kind, tmp_path / "links")


NAMES = ["history", "role", "content", "model_output", "result", "state", "action", "done", "tool_calls", "function",
         "last_url", "tct", "value"]  # fmt: skip
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=12,
)


@every_program
@settings(max_examples=30)
@given(junk=JSON, share=st.floats(0, 1))
def test_json_of_any_shape_and_logs_that_were_cut_off_are_survived(
    tmp_path_factory: pytest.TempPathFactory, kind: str, junk: object, share: float
) -> None:
    root = tmp_path_factory.mktemp("junk")
    for name in ("shape", "cut"):
        write_logs(kind, root / name)
    for path in (root / "shape").rglob("*.json"):
        path.write_text(json.dumps(junk), encoding="utf-8")
    for path in [path for path in (root / "cut").rglob("*") if path.is_file()]:
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    for name in ("shape", "cut"):
        found = curate(kind, root / name)
        assert bool(found.products) == (found.failure is None)


def test_names_say_whose_a_log_is(tmp_path: Path) -> None:
    write(tmp_path / "home__u1.json", history("https://a.example/p/1"))
    write(tmp_path / "electronics" / "u1.json", history("https://b.example/p/2"))
    write(tmp_path / "low_involvement__u2" / "history.json", history("https://c.example/p/3"))
    write(tmp_path / "u1.json", history("https://d.example/p/4"))
    asked: dict[tuple[str, Scenario], str] = {
        ("u1", "low_involvement"): "https://a.example/p/1",
        ("u1", "high_involvement"): "https://b.example/p/2",
        ("u2", "low_involvement"): "https://c.example/p/3",
        ("u1", "casual_browsing"): "https://d.example/p/4",
    }
    for (user, scenario), url in asked.items():
        assert curate("browser-use", tmp_path, user, scenario).products[0].url == url
    assert curate("browser-use", tmp_path / "u1.json").products[0].url == "https://d.example/p/4"
    for name in ("a", "b"):
        write_logs("webvoyager", tmp_path / name)
    with pytest.raises(UserError, match="two logs of 'u1'"):
        open_logs("webvoyager", tmp_path)


def test_what_each_program_did_is_told_in_its_order(tmp_path: Path) -> None:
    for kind in PROGRAMS:
        write_logs(kind, tmp_path / kind)
    steps = {kind: curate(kind, tmp_path / kind).trace for kind in PROGRAMS}
    typed = steps["webvoyager"][0]
    assert (typed.action, typed.url, typed.thought) == ("Type [2]; alder tea", SHOP, "I search first.")
    assert steps["webvoyager"][-1].action.startswith("ANSWER;")
    assert [(one.action.partition(":")[0], one.url) for one in steps["seeact"]] == [
        ("GOTO", KETTLE), ("CLICK", ""), ("SAY", ""), ("TERMINATE", ""),
    ]  # fmt: skip
    (opened,) = steps["agent-e"]
    assert (opened.action, opened.url) == (f'openurl {{"url": "{KETTLE}"}}', KETTLE)
    first, last = steps["browser-use"]
    assert (first.action, first.url) == (f'go_to_url {{"url":"{KETTLE}"}}', "")
    assert (first.thought.endswith("goal 1"), last.url) == (True, KETTLE)


def test_where_the_answer_stands_otherwise(tmp_path: Path) -> None:
    kept = [f"[link] Tea -> GOTO: {KETTLE}", f"MEMORIZE: {ANSWER}"]
    write(tmp_path / "seeact" / "u1" / "result.json", {"task_id": "u1", "action_history": kept})
    write(tmp_path / "agent-e" / "test_result_u1.json", AGENT_E_RESULT)
    write(tmp_path / "browser-use" / "u1" / "history.json", history(old=False))
    for kind in ("seeact", "agent-e", "browser-use"):
        assert [one.url for one in curate(kind, tmp_path / kind).products] == [KETTLE, BIRCH]
    schema = history()
    schema["history"][-1]["model_output"]["action"] = [
        {"done": {"data": {"search_results": [{"product_url": KETTLE}]}}}
    ]
    schema["history"][-1]["result"] = [{"is_done": True}]
    write(tmp_path / "schema" / "u1.json", schema)
    assert [one.url for one in curate("browser-use", tmp_path / "schema").products] == [KETTLE]
    # SeeAct says nothing where its model gave no words.
    said = [{"action": "MEMORIZE", "value": ANSWER}, {"action": "SAY", "value": None}, {"action": "SAY", "value": ""}]
    write(tmp_path / "silent" / "u1" / "all_predictions.json", said)
    assert [one.url for one in curate("seeact", tmp_path / "silent").products] == [KETTLE, BIRCH]


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        (f"Take {KETTLE}, or ({BIRCH}).", [KETTLE, BIRCH]),
        (f"{SHOP} sells it; see {KETTLE} and again {KETTLE}", [KETTLE]),
        (f"Only {SHOP} has it", [SHOP]),
        ("https://wiki.example/Tea_(plant) is no shop", ["https://wiki.example/Tea_(plant)"]),
        ("http://[broken and nothing else", []),
        (json.dumps({"search_results": [{"product_url": KETTLE}]}), [KETTLE]),
        ("\n".join(f"{SHOP}p/{number}" for number in range(40)), [f"{SHOP}p/{n}" for n in range(MAX_PRODUCTS)]),
    ],
)
def test_products_that_a_text_names(text: str, urls: list[str]) -> None:
    assert [one.url for one in named_products(text)] == urls


# --- what was recorded in the release's form, and in ours -------------------------------------------------------------

A, B = "https://shop.example/a", "https://shop.example/b"


def replayed(path: Path, task: CurationTask | None = None) -> Curation:
    return asyncio.run(open_recorded(path).curate(view_of(task or made_task()), "a key"))


def test_outputs_of_the_release(tmp_path: Path) -> None:
    products = [{"product_name": "Tea", "product_url": A, "reasoning": "cheap"}, {"product_url": B}]
    entries = [{"user": "u1", "search_results": products}, {"user": "u2", "search_results": [], "error": "too slow"}]
    file = tmp_path / "grocery_explicit_title_search_output.json"
    file.write_text(json.dumps(entries))
    for path in (file, tmp_path):
        found = [(one.url, one.name, one.reasoning) for one in replayed(path).products]
        assert found == [(A, "Tea", "cheap"), (B, "", "")]
    assert replayed(file, made_task("u2")).failure == Failure(kind="error", message="too slow")
    missing = replayed(file, made_task("u1", "low_involvement")).failure
    assert missing is not None
    assert missing.kind == "missing"
    # Under another name it is for every scenario; the same content is the same agent.
    (tmp_path / "mine.json").write_text(json.dumps(entries))
    assert len(replayed(tmp_path / "mine.json", made_task("u1", "low_involvement")).products) == 2
    assert open_recorded(file).identity == open_recorded(tmp_path).identity
    before = open_recorded(file).identity
    file.write_text(json.dumps(entries[:1]))
    assert open_recorded(file).identity != before


def test_an_earlier_run(tmp_path: Path) -> None:
    task, other = made_task(), made_task("u2")
    trace = (TraceStep(action="search", screenshot="ab" * 32 + ".png"),)
    none = Failure(kind="unparsed", message="no JSON")
    journal = Journal(tmp_path / "curations.jsonl", Curation)
    journal.append(made_curation(task, [A], failure=None))
    journal.append(made_curation(task, [B], trace=trace, call=Call(seconds=1.0, cost_usd=2.0), requests=3))
    journal.append(made_curation(other, [], failure=none))
    journal.close()
    for path in (tmp_path, tmp_path / "curations.jsonl"):
        found = replayed(path)
        assert [one.url for one in found.products] == [B]
        assert (found.call, found.requests, found.trace) == (None, 3, (TraceStep(action="search"),))
        assert replayed(path, other).failure == none


def test_one_answer_that_cannot_be_read_takes_no_other_with_it(tmp_path: Path) -> None:
    answers = [
        {"user": "u", "search_results": [{"product_url": A}]},
        {"user": "u2", "search_results": "see above"},
        {"user": "u3", "search_results": [3]},
        {"user": "u4", "search_results": [], "error": "timed out"},
    ]
    (tmp_path / "a.json").write_text(json.dumps(answers))
    found = [replayed(tmp_path / "a.json", made_task(one["user"])) for one in answers]
    assert [one.failure and one.failure.kind for one in found] == [None, "unparsed", "unparsed", "error"]
    assert [one.failure.message for one in found if one.failure] == [
        "no list of products: 'see above'", "no list of products: '[3]'", "timed out"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{}", "item 0: expected an object with a user"),
        ("a.json", '[{"search_results": []}]', "item 0: expected an object with a user"),
        ("a.json", "[", "is no JSON"),
        ("a.jsonl", '{"step_id": "nonsense", "key": "k"}\n', "is no task of users"),
        ("a.txt", "x", "unknown form"),
        ("folder/a.txt", "x", r"no \*_search_output.json"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    with pytest.raises(UserError, match=said):
        open_recorded(path.parent if "/" in name else path)
