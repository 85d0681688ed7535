"""Short ways to make cards, screenshots, queries and chat models for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image

from grounding.cards import ChatCard, GrounderCard, PlannerCard, read_cards
from grounding.grounders.chat import ChatGrounder
from grounding.llm import ChatClient, Endpoint
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatModel
from grounding.llm.ratelimits import RateLimiter
from grounding.llm.vendors import conversation_wire
from grounding.records import HistoryEntry, Query, Screenshot, Size
from grounding.run.folder import RunSettings

REPOSITORY = Path(__file__).parents[2]
MODELS = REPOSITORY / "models"

USER = [{"image": "screenshot"}, {"text": "{instruction}"}]


def planner_card(**fields: Any) -> PlannerCard:
    """A planner's card: image, then the instruction; the keywords are fields as in YAML."""
    return msgspec.convert({"name": "p", "title": "P", "model": "m", "user": USER, **fields}, PlannerCard)


def grounder_card(**fields: Any) -> GrounderCard:
    """A grounder's card that answers with a point in pixels of the original."""
    answer = {"form": "point", "space": "original_px"}
    return msgspec.convert(
        {"name": "g", "title": "G", "model": "m", "user": USER, "answer": answer, **fields}, GrounderCard
    )


def picture_file(path: Path, width: int = 64, height: int = 48, **save: Any) -> Screenshot:
    """A small picture that is not of one colour, in the format of the name's ending."""
    Image.radial_gradient("L").resize((width, height)).convert("RGB").save(path, **save)
    return screenshot(path, width, height)


def screenshot(path: Path | str = "1.png", width: int = 64, height: int = 48) -> Screenshot:
    """The record of a screenshot, whether or not the file is there."""
    return Screenshot(path=str(path), size=Size(width=width, height=height), sha256="0" * 64)


def query(
    shot: Screenshot | None = None,
    instruction: str = "the blue button",
    *,
    step: str = "1/1",
    history: tuple[HistoryEntry, ...] = (),
) -> Query:
    """What a planner or grounder is asked."""
    return Query(step_id=step, key="k", screenshot=shot or screenshot(), instruction=instruction, history=history)


def asked(**fields: Any) -> RunSettings:
    """What a run was asked: nothing but the middle of every screen, unless a keyword says otherwise."""
    usual = {
        "dataset": "d",
        "fingerprint": "f",
        "questions": "",
        "history": 0,
        "history_file": "",
        "select": "all",
        "planner": "none",
        "planner_identity": "none",
        "planner_base_url": "",
        "grounder": "center",
        "grounder_identity": "center",
        "base_url": "",
        "seed": 0,
        "version": "1",
    }
    return msgspec.convert({**usual, **fields}, RunSettings)


def client(
    base_url: str,
    card: ChatCard | None = None,
    *,
    key_variable: str | None = None,
    max_connections: int = 8,
    timeout_s: float = 5.0,
    max_retries: int = 3,
    backoff_s: float = 0.001,
    budget: Budget | None = None,
    on_retry: Callable[[], None] | None = None,
    limiter: RateLimiter | None = None,
    server_wait_s: float = 0.0,
) -> ChatClient:
    """A client that doesn't wait long."""
    return ChatClient(
        card or planner_card(),
        Endpoint(base_url=base_url, key_variable=key_variable),
        conversation_wire(card or planner_card()),
        max_connections=max_connections,
        timeout_s=timeout_s,
        max_retries=max_retries,
        backoff_s=backoff_s,
        budget=budget,
        on_retry=on_retry,
        limiter=limiter,
        server_wait_s=server_wait_s,
    )


def model(card: ChatCard, base_url: str, **options: Any) -> ChatModel:
    """A card's model behind a server; the keywords are those of :func:`client`."""
    return ChatModel(card, client(base_url, card, **options), dict(card.parameters))


def grounder(card: GrounderCard, base_url: str, **options: Any) -> ChatGrounder:
    """The grounder of a card behind a server; the keywords are those of :func:`client`."""
    return ChatGrounder(card, model(card, base_url, **options))


def installed(folder: Path, group: str, module: str, made: str, code: str) -> None:
    """Another package, as pip would leave it: a module and the entry point that names it."""
    (folder / f"{module}.py").write_text(code)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\nfrom-elsewhere = {module}:{made}\n")


def bundled_grounders() -> list[GrounderCard]:
    """A bundled card for each way of asking: of sizes that are asked alike, and of models that share a prompt, one."""
    found: dict[object, GrounderCard] = {}
    for card in read_cards(MODELS / "grounders", GrounderCard):
        asked = (card.prompt_hash, card.family, card.image, card.answer, card.parameters, card.tools, card.writes)
        found.setdefault(msgspec.json.encode((asked, card.serving.how, card.endpoint.interface)), card)
    return list(found.values())
