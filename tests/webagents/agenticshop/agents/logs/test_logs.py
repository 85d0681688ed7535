from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.options import CurationAgentName
from grounding.webagents.agenticshop.agents.recorded import RecordedAgent, open_recorded
from grounding.webagents.agenticshop.records import Curation, Scenario, view_of

from ...made import made_task
from . import logfolders as logs

Writer = Callable[[Path], None]


def curate(agent: RecordedAgent, user: str = "u1", scenario: Scenario = "explicit_title") -> Curation:
    return asyncio.run(agent.curate(view_of(made_task(user, scenario)), "a key"))


def voyager(root: Path) -> None:
    logs.write(root / "tasku1" / "interact_messages.json", logs.voyager_messages())
    logs.write(root / "tasku1" / "agent.log", logs.voyager_log())
    logs.write(root / "tasku1" / "screenshot1.png", "")


def seeact(root: Path) -> None:
    logs.write(root / "u1" / "result.json", logs.SEEACT_RESULT)
    logs.write(root / "u1" / "all_predictions.json", logs.SEEACT_PREDICTIONS)
    logs.write(root / "u1" / "agent.log", logs.SEEACT_LOG)
    logs.write(root / "u1" / "config.toml", "[basic]\n")


def agent_e(root: Path) -> None:
    folder = root / "logs" / "test_results_for_tea" / "logs_for_task_u1"
    logs.write(folder / "execution_logs_u1.json", logs.planner_messages())
    logs.write(folder / "nested_chat_log_1718108706934467700.json", logs.nested_messages())
    logs.write(root / "results" / "results_for_tea" / "test_result_u1.json", logs.AGENT_E_RESULT)


def browser_use(root: Path) -> None:
    logs.write(root / "u1.json", logs.history())


WRITERS: dict[CurationAgentName, Writer] = {
    "webvoyager": voyager,
    "seeact": seeact,
    "agent-e": agent_e,
    "browser-use": browser_use,
}
KINDS = sorted(WRITERS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_products_of_the_last_words(kind: CurationAgentName, tmp_path: Path) -> None:
    WRITERS[kind](tmp_path)
    found = curate(open_recorded(kind, tmp_path))
    assert [product.url for product in found.products] == [logs.KETTLE, logs.BIRCH]
    assert [product.name for product in found.products] == ["Alder tea, 50 bags", "Birch tea"]
    assert [product.rank for product in found.products] == [0, 1]
    assert "cheaper" in found.products[1].reasoning
    assert (found.step_id, found.key, found.failure) == ("explicit_title/u1", "a key", None)
    assert found.ended == "answered"
    assert found.trace
    assert found.call is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_without_a_log_is_missing(kind: CurationAgentName, tmp_path: Path) -> None:
    WRITERS[kind](tmp_path)
    found = curate(open_recorded(kind, tmp_path), user="u2")
    assert found.failure is not None
    assert (found.failure.kind, found.products) == ("missing", ())


@pytest.mark.parametrize("kind", KINDS)
def test_the_identity_is_the_content(kind: CurationAgentName, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        WRITERS[kind](tmp_path / name)
    changed = next(path for path in sorted((tmp_path / "c").rglob("*.json")) if "Alder" in path.read_text())
    changed.write_text(changed.read_text().replace("Alder", "Elder"), encoding="utf-8")
    first, second, third = (open_recorded(kind, tmp_path / name).identity for name in ("a", "b", "c"))
    assert first == second != third


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_folder_is_said_to_be_so(kind: CurationAgentName, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(UserError, match="none of the files"):
        open_recorded(kind, tmp_path)
    with pytest.raises(UserError, match="no such file or folder"):
        open_recorded(kind, tmp_path / "nowhere")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(share=st.floats(0, 1))
def test_logs_that_were_cut_off_are_read_as_far_as_they_are_whole(
    tmp_path_factory: pytest.TempPathFactory, kind: CurationAgentName, share: float
) -> None:
    root = tmp_path_factory.mktemp("cut")
    WRITERS[kind](root)
    for path in root.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            path.write_bytes(content[: int(len(content) * share)])
    found = curate(open_recorded(kind, root))
    assert set(one.url for one in found.products) <= {
        logs.KETTLE,
        logs.BIRCH,
        "https://birch.example/products/birch-tea",
    }
    assert bool(found.products) == (found.failure is None)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(
    junk=st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "history",
                        "role",
                        "content",
                        "model_output",
                        "result",
                        "state",
                        "action",
                        "done",
                        "tool_calls",
                        "function",
                        "last_url",
                        "tct",
                        "value",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_json_of_any_shape_is_survived(
    tmp_path_factory: pytest.TempPathFactory, kind: CurationAgentName, junk: object
) -> None:
    root = tmp_path_factory.mktemp("junk")
    WRITERS[kind](root)
    for path in root.rglob("*.json"):
        path.write_text(json.dumps(junk), encoding="utf-8")
    for path in root.rglob("*.log"):
        path.unlink()
    found = curate(open_recorded(kind, root))
    assert found.failure is not None or found.products


# --- whose a log is ------------------------------------------------------------------------------------------------


def test_names_that_say_the_scenario(tmp_path: Path) -> None:
    logs.write(tmp_path / "home__u1.json", logs.history("https://a.example/p/1"))
    logs.write(tmp_path / "electronics" / "u1.json", logs.history("https://b.example/p/2"))
    logs.write(tmp_path / "low_involvement__u2" / "history.json", logs.history("https://c.example/p/3"))
    logs.write(tmp_path / "u1.json", logs.history("https://d.example/p/4"))
    agent = open_recorded("browser-use", tmp_path)
    asked: list[tuple[str, Scenario]] = [
        ("u1", "low_involvement"),
        ("u1", "high_involvement"),
        ("u2", "low_involvement"),
    ]
    asked += [("u1", "casual_browsing")]
    urls = [curate(agent, user, scenario).products[0].url for user, scenario in asked]
    assert urls == ["https://a.example/p/1", "https://b.example/p/2", "https://c.example/p/3", "https://d.example/p/4"]


def test_one_history_alone(tmp_path: Path) -> None:
    agent = open_recorded("browser-use", logs.write(tmp_path / "u1.json", logs.history()))
    assert len(curate(agent).products) == 2


def test_two_logs_of_one_task(tmp_path: Path) -> None:
    for name in ("a", "b"):
        voyager(tmp_path / name)
    with pytest.raises(UserError, match="two logs of 'u1'"):
        open_recorded("webvoyager", tmp_path)


def test_links_lead_nowhere(tmp_path: Path) -> None:
    voyager(tmp_path / "elsewhere")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "tasku1").symlink_to(tmp_path / "elsewhere" / "tasku1")
    with pytest.raises(UserError, match="none of the files"):
        open_recorded("webvoyager", tmp_path / "logs")


# --- WebVoyager ----------------------------------------------------------------------------------------------------


def test_webvoyager_steps(tmp_path: Path) -> None:
    voyager(tmp_path)
    found = curate(open_recorded("webvoyager", tmp_path))
    first, last = found.trace
    assert (first.action, first.thought, first.url) == (
        "Type [2]; alder tea",
        "I search first.",
        "https://kettle.example/",
    )
    assert first.observation == "[1]"
    assert last.action.startswith("ANSWER;")
    assert last.url == ""
    assert (found.requests, found.raw) == (2, logs.ANSWER.strip())


def test_webvoyager_without_messages_has_its_log(tmp_path: Path) -> None:
    logs.write(tmp_path / "tasku1" / "agent.log", logs.voyager_log())
    assert len(curate(open_recorded("webvoyager", tmp_path)).products) == 2
    logs.write(tmp_path / "tasku1" / "agent.log", logs.voyager_log(finished=False))
    found = curate(open_recorded("webvoyager", tmp_path))
    assert found.failure is not None
    assert (found.failure.kind, "cut off" in found.failure.message) == ("error", True)


def test_webvoyager_without_an_answer_took_no_product(tmp_path: Path) -> None:
    logs.write(tmp_path / "tasku1" / "interact_messages.json", logs.voyager_messages()[:-1])
    found = curate(open_recorded("webvoyager", tmp_path))
    assert found.failure is not None
    assert (found.failure.kind, found.ended) == ("unparsed", "no answer")


# --- SeeAct --------------------------------------------------------------------------------------------------------


def test_seeact_steps(tmp_path: Path) -> None:
    seeact(tmp_path)
    found = curate(open_recorded("seeact", tmp_path))
    assert [step.action for step in found.trace[:2]] == [f"GOTO: {logs.KETTLE}", "CLICK on Details"]
    assert [step.url for step in found.trace] == ["https://kettle.example/", logs.KETTLE, "", ""]
    assert found.trace[0].thought == "I open the shop's search."
    assert (found.requests, found.seconds) == (8, 60.5)


def test_seeact_of_the_scripts_and_of_a_log_alone(tmp_path: Path) -> None:
    history = [f"[link] Tea -> GOTO: {logs.KETTLE}", "[button] Buy -> CLICK"]
    result = {"task_id": "u1", "website": "kettle", "action_history": history, "exit_by": "Max steps"}
    logs.write(tmp_path / "script" / "u1" / "result.json", result)
    logs.write(tmp_path / "log" / "u1" / "u1.log", logs.SEEACT_LOG)
    script = curate(open_recorded("seeact", tmp_path / "script"))
    log = curate(open_recorded("seeact", tmp_path / "log"))
    assert [product.url for product in script.products] == [logs.KETTLE]
    assert script.ended == "no answer: the last product page; exit by Max steps"
    assert [product.url for product in log.products] == [logs.KETTLE]
    assert [step.action for step in log.trace] == [f"Navigated to {logs.KETTLE}", "Clicked on element: Details"]


# --- Agent-E -------------------------------------------------------------------------------------------------------


def test_agent_e_steps(tmp_path: Path) -> None:
    agent_e(tmp_path)
    found = curate(open_recorded("agent-e", tmp_path))
    opened, report = found.trace
    assert opened.action == f'openurl {{"url": "{logs.KETTLE}"}}'
    assert (opened.url, opened.observation) == (logs.KETTLE, f"Page loaded: {logs.KETTLE}, Title: Alder tea")
    assert opened.thought.startswith("Search for alder tea")
    assert (report.action, report.observation) == ("report", "The tea costs $12.")
    assert found.seconds == 61.5


def test_agent_e_with_the_planner_alone(tmp_path: Path) -> None:
    logs.write(tmp_path / "u1" / "chat_messages.json", logs.planner_messages(final="I could not decide."))
    found = curate(open_recorded("agent-e", tmp_path))
    assert [product.url for product in found.products] == [logs.KETTLE]
    assert found.ended == "no address in the answer: the last product page"
    assert [step.action for step in found.trace] == ["Search for alder tea", "report"]


def test_agent_e_that_failed(tmp_path: Path) -> None:
    result = {"task_id": "u1", "last_url": "https://kettle.example/", "tct": 3.0, "error": "no key"}
    logs.write(tmp_path / "test_result_u1.json", result)
    found = curate(open_recorded("agent-e", tmp_path))
    assert found.failure is not None
    assert (found.failure.kind, found.failure.message) == ("error", "no key")


# --- Browser Use ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [True, False])
def test_browser_use_steps(tmp_path: Path, old: bool) -> None:
    logs.write(tmp_path / "u1" / "history.json", logs.history(old=old))
    found = curate(open_recorded("browser-use", tmp_path))
    first, last = found.trace
    assert first.action == f'{"go_to_url" if old else "navigate"} {{"url": "{logs.KETTLE}"}}'
    assert first.thought.endswith("goal 1")
    assert (first.url, last.url) == ("about:blank", logs.KETTLE)
    assert (found.requests, found.seconds, first.seconds) == (2, 9.0, 4.5)
    assert len(found.products) == 2


def test_browser_use_that_answers_in_a_schema(tmp_path: Path) -> None:
    answer = {"search_results": [{"product_name": "Tea", "product_url": logs.KETTLE, "reasoning": "cheap"}]}
    history = logs.history()
    last = history["history"][-1]
    last["model_output"]["action"] = [{"done": {"success": True, "data": answer}}]
    last["result"] = [{"is_done": True, "success": True}]
    logs.write(tmp_path / "u1.json", history)
    found = curate(open_recorded("browser-use", tmp_path))
    assert [(one.name, one.url, one.reasoning) for one in found.products] == [("Tea", logs.KETTLE, "cheap")]


def test_browser_use_that_never_answered(tmp_path: Path) -> None:
    history = logs.history()
    history["history"] = [history["history"][1]]
    history["history"][0]["state"]["url"] = "https://kettle.example/"
    logs.write(tmp_path / "u1.json", history)
    found = curate(open_recorded("browser-use", tmp_path))
    assert found.failure is not None
    assert found.failure.message == "the agent ended without an answer: rate limit"
