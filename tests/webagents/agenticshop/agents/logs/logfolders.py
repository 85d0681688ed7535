"""Small logs as the four programs write them, over a shop that doesn't exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KETTLE = "https://kettle.example/p/alder-tea-50"
BIRCH = "https://birch.example/products/birch-tea?size=50"
ANSWER = (
    f"I would take these:\n1. **Alder tea, 50 bags**: {KETTLE}.\n2. [Birch tea]({BIRCH}) - cheaper, free shipping\n"
)
STOCK = "kettle.example"


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=4), encoding="utf-8")
    return path


# --- WebVoyager ----------------------------------------------------------------------------------------------------


def voyager_messages(answer: str = ANSWER) -> list[dict[str, Any]]:
    def seen(text: str) -> dict[str, Any]:
        parts = [{"type": "text", "text": text}]
        parts.append({"type": "image_url", "image_url": {"url": "data:image/png;base64,{b64_img}"}})  # type: ignore[dict-item]
        return {"role": "user", "content": parts}

    return [
        {"role": "system", "content": "Imagine you are a robot browsing the web."},
        seen(
            "Now given a task: tea  Please interact with https://kettle.example/ and get the answer. \nObservation: [1]"
        ),
        {"role": "assistant", "content": "Thought: I search first.\n\nAction: Type [2]; alder tea"},
        seen('Observation: please analyze the attached screenshot.\n[0]: "Alder tea";'),
        {"role": "assistant", "content": f"Thought: That is all.\n\nAction: ANSWER; {answer}"},
    ]


def voyager_log(answer: str = ANSWER, *, finished: bool = True) -> str:
    lines = ["INFO - ########## TASKu1 ##########", "INFO - Iter: 0", "INFO - Calling gpt4v API..."]
    lines += ["INFO - Prompt Tokens: 1200; Completion Tokens: 60", "INFO - Iter: 1", "INFO - Calling gpt4v API..."]
    if finished:
        lines += [f"INFO - {answer}", "INFO - finish!!", "INFO - Total cost: 0.1"]
    return "\n".join(lines) + "\n"


# --- SeeAct --------------------------------------------------------------------------------------------------------

SEEACT_PREDICTIONS = [
    {
        "action_generation": "I open the shop's search.",
        "action_grounding": "ELEMENT: None\nACTION: GOTO\nVALUE: https://kettle.example/p/alder-tea-50",
        "element": None,
        "action": "GOTO",
        "value": KETTLE,
    },
    {
        "action_generation": "I look at the price.",
        "action_grounding": "ELEMENT: B\nACTION: CLICK\nVALUE: None",
        "element": {"description": "Details", "tag_with_role": "button", "selector": "<Locator frame=...>"},
        "action": "CLICK",
        "value": "None",
    },
    {"action_generation": "I tell.", "action_grounding": "", "element": None, "action": "SAY", "value": ANSWER},
    {"action_generation": "Done.", "action_grounding": "", "element": None, "action": "TERMINATE", "value": "None"},
]

SEEACT_RESULT = {
    "task": ["tea"],
    "website": "https://kettle.example/",
    "num_step": 4,
    "action_history": [f"GOTO: {KETTLE}", "[button] Details -> CLICK", f"SAY: {ANSWER}", "TERMINATE"],
}

SEEACT_LOG = (
    "2024-03-01 10:00:00,250 - Loaded website: https://kettle.example/\n"
    "2024-03-01 10:00:12,000 - Step - 1\n----------\n"
    f"2024-03-01 10:00:20,000 - Navigated to {KETTLE}\n"
    "2024-03-01 10:01:00,750 - Clicked on element: Details\n"
)


# --- Agent-E -------------------------------------------------------------------------------------------------------


def planner_messages(final: str = ANSWER) -> dict[str, Any]:
    step = {"plan": "1. search 2. read", "next_step": "Search for alder tea", "terminate": "no"}
    last = {"terminate": "yes", "final_response": final}
    return {
        "<autogen.agentchat.user_proxy_agent.UserProxyAgent object at 0x1>": [
            {
                "content": "Task: tea Current Page: https://kettle.example/, Title: Kettle",
                "role": "user",
                "name": "user",
            },
            {"content": f"```json\n{json.dumps(step)}\n```", "role": "assistant", "name": "planner_agent"},
            {"content": f"Found it. Current Page: {KETTLE}, Title: Alder tea", "role": "user", "name": "user"},
            {"content": json.dumps(last), "role": "assistant", "name": "planner_agent"},
        ]
    }


def nested_messages() -> list[dict[str, Any]]:
    call = {
        "id": "call_1",
        "function": {"name": "openurl", "arguments": json.dumps({"url": KETTLE})},
        "type": "function",
    }
    return [
        {"content": "Search for alder tea Current Page: https://kettle.example/, Title: Kettle", "role": "assistant"},
        {"tool_calls": [call], "content": None, "role": "assistant"},
        {
            "content": f"Page loaded: {KETTLE}, Title: Alder tea",
            "tool_responses": [{"tool_call_id": "call_1", "role": "tool", "content": "Page loaded"}],
            "role": "tool",
        },
        {"content": "The tea costs $12.\n##TERMINATE TASK##", "role": "user"},
    ]


AGENT_E_RESULT = {
    "task_id": "u1",
    "intent": "tea",
    "last_url": KETTLE,
    "tct": 61.5,
    "compute_cost": {"cost": 0.4, "total_tokens": 9000},
    "last_statement": ANSWER,
    "score": 1.0,
}


# --- Browser Use ---------------------------------------------------------------------------------------------------


def history(answer: str = ANSWER, *, old: bool = True) -> dict[str, Any]:
    """A history as older versions write it (``current_state``, a picture), or as later ones do."""

    def step(number: int, action: dict[str, Any], result: dict[str, Any], url: str) -> dict[str, Any]:
        brain = {"evaluation_previous_goal": "Good.", "memory": "m", "next_goal": f"goal {number}"}
        output: dict[str, Any] = {"current_state": brain} if old else {"thinking": "so", **brain}
        state: dict[str, Any] = {"url": url, "title": "t", "tabs": [], "interacted_element": [None]}
        state |= {"screenshot": "iVBORw0KGgo="} if old else {"screenshot_path": "/home/someone/step.png"}
        times = {"step_start_time": 100.0 + 10 * number, "step_end_time": 104.5 + 10 * number, "step_number": number}
        return {"model_output": {**output, "action": [action]}, "result": [result], "state": state, "metadata": times}

    navigate = {"go_to_url" if old else "navigate": {"url": KETTLE}}
    return {
        "history": [
            step(1, navigate, {"extracted_content": "Navigated"}, "about:blank"),
            {"model_output": None, "result": [{"error": "rate limit"}], "state": {"url": KETTLE}, "metadata": None},
            step(
                2,
                {"done": {"text": answer, "success": True}},
                {"is_done": True, "success": True, "extracted_content": answer},
                KETTLE,
            ),
        ]
    }
