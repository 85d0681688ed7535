"""Options in, everything that a run needs out: checked before the first question is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grounding import __version__
from grounding.budget import Budget
from grounding.building import chat_options, grounder_card, grounder_of, hf_options, planner_of
from grounding.cards import GrounderCard
from grounding.chat import ChatOptions
from grounding.display import Progress
from grounding.errors import UserError
from grounding.executors.recipe import ANYWHERE, Beside
from grounding.executors.servers import SharedServers, shared_servers
from grounding.executors.staffing import check_executor
from grounding.grounders import BuiltGrounder, build_grounder
from grounding.grounders.som.card import find_som_card
from grounding.loaders import load_dataset, participant_folders
from grounding.options import EvalOptions
from grounding.places import models_dir
from grounding.planners import BuiltPlanner
from grounding.planstore import PlanStore, StoredPlanner, plan_store_dir
from grounding.probe.gate import EvalProbe, eval_probe
from grounding.records import Dataset, Record, Session
from grounding.runfolder import Asked, GrounderSetup, RunInfo, utc_now
from grounding.runid import library_versions, run_id
from grounding.selection import Selection, select_steps
from grounding.serving.managed import MANAGED, ManagedServers, manage_servers, server_elsewhere, starts_servers
from grounding.serving.shelf import ServerShelf
from grounding.signature import signature
from grounding.sources.option import ready
from grounding.tuned import CARD_FILE

if TYPE_CHECKING:
    from grounding.asr.obtaining import Obtained
    from grounding.asr.spoken import Transcripts

DEFAULT_HISTORY = 10

_IN_PROCESS = ("torch", "torchvision", "transformers")
"""What answers as well, where a model or SAM runs in this process."""


class Prepared(Record, frozen=True, kw_only=True):
    """Everything a run needs, checked before the first question is asked."""

    dataset: Dataset
    selection: Selection
    planner: BuiltPlanner
    grounder: BuiltGrounder
    servers: ManagedServers | None
    beside: Beside | None
    probe: EvalProbe | None
    several: SharedServers | None
    asked: Asked
    info: RunInfo
    transcripts: Transcripts | None = None


def prepare(
    options: EvalOptions,
    budget: Budget,
    progress: Progress,
    *,
    load: Callable[..., Dataset] | None = None,
    shelf: ServerShelf | None = None,
) -> Prepared:
    """Find everything that a run needs. Asks nothing of any model and writes nothing.

    ``load`` is taken instead of :func:`~grounding.loaders.load_dataset`: several runs may share what it reads, and
    the servers on a ``shelf``.

    Raises:
        UserError: something is missing or wrong; says what.
    """
    _check_numbers(options)
    check_executor(options.executor, options.workers, options.ray_address)
    planner = planner_of(options, base_url=options.planner_base_url, budget=budget, on_retry=progress.retried)
    planner = _with_store(planner, options)
    # The data set is read after the cards and before the grounder is made: some grounders need it.
    card = grounder_card(options)
    local = hf_options(options, card)
    som = find_som_card(options.grounder, models_dir() / "pipelines")
    told = (planner.card, card, som)
    history = _history_length(options, uses_history=any(one is not None and one.uses_history for one in told))
    _check_history(options, history)
    ready(options.data_dir)  # What comes from elsewhere has a progress of its own.
    with progress.phase("reading the data set"):
        dataset = (load or load_dataset)(
            options.dataset,
            options.data_dir,
            questions=options.questions,
            history=(options.history_file or "auto") if history else None,
            history_of=options.participant,
        )
    selection = select_steps(
        dataset.sessions, participants=options.participant, sample_ids=options.sample_id, limit=options.limit
    )
    obtained = _transcripts(options, dataset, selection, progress)
    transcripts = None if obtained is None else obtained.transcripts
    if transcripts is not None:
        from grounding.asr.substitution import substitute

        dataset = msgspec.structs.replace(dataset, sessions=substitute(dataset.sessions, transcripts.spoken))
        selection = select_steps(
            dataset.sessions, participants=options.participant, sample_ids=options.sample_id, limit=options.limit
        )
    seed = options.seed or 0
    starts = not local and not options.dry_run
    beside = _beside(card, options, dataset.sessions) if starts and options.executor == "ray" else None
    servers = manage_servers(card, options, dataset.sessions) if starts and options.executor == "local" else None
    if servers is not None and shelf is not None:
        servers = shelf.matching(servers)
    own = servers is not None or beside is not None or (options.dry_run and not local and starts_servers(card, options))
    address = servers.base_url if servers else ANYWHERE if beside else " ".join(options.base_url)
    grounder = grounder_of(
        options,
        card=card,
        base_url=address or None,
        sessions=dataset.sessions,
        budget=budget,
        on_retry=progress.retried,
    )
    _check_cards(options, planner, grounder)
    asked = Asked(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        questions=options.questions or "",
        history=history,
        history_scope=options.history_scope if history else "session",
        history_file=dataset.history_file if history else "",
        select=selection.text,
        planner=planner.planner.name,
        planner_identity=planner.planner.identity,
        planner_base_url=planner.base_url,
        plan_ahead=options.plan_ahead,
        grounder=grounder.grounder.name,
        grounder_identity=grounder.grounder.identity,
        base_url=MANAGED if own else grounder.base_url,
        seed=seed,
        version=__version__,
        epoch=options.epoch if options.epoch > 1 else msgspec.UNSET,
        transcript=msgspec.UNSET if obtained is None else obtained.asked,
    )
    names = (asked.dataset, asked.planner, asked.grounder, *(() if obtained is None else (obtained.slug,)))
    info = RunInfo(
        run_id=run_id(asked, names),
        status="started",
        signature=signature(
            asked,
            planner.card,
            grounder.card,
            options.clusters,
            None if transcripts is None else transcripts.score.rate_percent,
        ),
        asked=asked,
        data_dir=str(options.data_dir or ""),
        command=options.command,
        versions=library_versions(_IN_PROCESS if local is not None or (som and som.marks.sam) else ()),
        started_at=utc_now(),
        family=grounder.card.family if grounder.card else None,
        setup=_setup(options),
        clusters=options.clusters,
    )
    chat = chat_options(options)
    probe = eval_probe(grounder, chat, wanted=not options.no_probe, budget=budget, on_retry=progress.retried)
    several = None
    if options.executor == "local":  # Workers have one address each, or go through these as one.
        several = shared_servers(grounder, probe, chat, budget=budget, on_retry=progress.retried)
    return Prepared(
        dataset=dataset,
        selection=selection,
        planner=planner,
        grounder=grounder,
        servers=servers,
        beside=beside,
        probe=probe,
        several=several,
        asked=asked,
        info=info,
        transcripts=transcripts,
    )


def _beside(card: GrounderCard | None, options: EvalOptions, sessions: Sequence[Session]) -> Beside | None:
    """The server that each worker on a cluster starts for itself; None where none is to be."""
    server = server_elsewhere(card, options, sessions)
    return None if server is None or card is None else Beside(card=card, options=server)


def open_grounder(name: str, chat: ChatOptions, budget: Budget, on_retry: Callable[[], None]) -> BuiltGrounder:
    """A grounder for pictures that are no data set's: a built-in one, a card's name or path, Set-of-Mark.

    Raises:
        UserError: nothing is called so, it needs a data set, or something it needs is missing.
    """
    if name in ("replay", "oracle"):
        raise UserError(f"--grounder {name}: it answers for the steps of a data set; name ocr, som or a model's card")
    return build_grounder(
        name,
        predictions=None,
        sessions=(),
        seed=0,
        cards=models_dir() / "grounders",
        options=chat,
        budget=budget,
        on_retry=on_retry,
    )


def _transcripts(options: EvalOptions, dataset: Dataset, selection: Selection, progress: Progress) -> Obtained | None:
    """What stands for the true words; None where those are asked for. A dry run has nothing heard."""
    if options.transcript is None:
        return None
    # Only runs over speech load what hears it.
    from grounding.asr.conditions import parse_condition
    from grounding.asr.obtaining import Hearing, obtain

    return obtain(
        parse_condition(options.transcript),
        dataset.sessions,
        participant_folders(options.dataset, options.data_dir, questions=options.questions),
        chosen=selection.step_ids,
        how=Hearing(
            base_url=options.asr_base_url,
            noise_dir=options.noise_dir,
            display=options.display,
            timeout_s=options.timeout,
            max_retries=options.max_retries,
            only_ask=options.dry_run,
        ),
        phase=progress.phase,
    )


def _with_store(built: BuiltPlanner, options: EvalOptions) -> BuiltPlanner:
    """The planner with the store of plans before it, where a chat model stands behind it: those are paid for."""
    folder = plan_store_dir(options.plan_store, off=options.no_plan_store)
    if folder is None or built.card is None:
        return built
    store = PlanStore(folder, built.planner.name, built.base_url)
    return msgspec.structs.replace(built, planner=StoredPlanner(built.planner, store, epoch=options.epoch))


def _history_length(options: EvalOptions, *, uses_history: bool) -> int:
    """How many earlier steps models are told of: what was asked for, or ten where a prompt has a place for them."""
    if options.history is not None:
        return options.history
    return DEFAULT_HISTORY if uses_history else 0


def _check_history(options: EvalOptions, history: int) -> None:
    """Refuse options about the history where nobody asked for one; with --history 0 they are one point of a series."""
    if history or options.history == 0:
        return
    for flag, given in (
        (f"--history-file {options.history_file}", options.history_file is not None),
        (f"--history-scope {options.history_scope}", options.history_scope != "session"),
    ):
        if given:
            raise UserError(
                f"{flag}: neither this planner nor this grounder is told what happened before; leave it out, or ask "
                "for it with --history N"
            )


def _setup(options: EvalOptions) -> GrounderSetup:
    """What ``run.json`` keeps of the options for data and grounder."""
    given = {name: getattr(options, name) for name in GrounderSetup.__struct_fields__}
    for name in ("dataset", "grounder", "history_file"):
        if isinstance(given[name], str) and Path(given[name]).is_file():
            given[name] = str(Path(given[name]).absolute())
    if (Path(options.grounder) / CARD_FILE).is_file():
        given["grounder"] = str(Path(options.grounder).absolute())
    for name in ("data_dir", "predictions"):
        given[name] = None if given[name] is None else str(given[name].absolute())
    return GrounderSetup(**given)


def _check_numbers(options: EvalOptions) -> None:
    least = {"history": 0, "seed": 0, "max_connections": 1, "max_retries": 0}
    for name, lowest in least.items():
        value = getattr(options, name)
        if value is not None and value < lowest:
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {lowest} or more")
    if options.timeout is not None and not (math.isfinite(options.timeout) and options.timeout > 0):
        raise UserError(f"--timeout {options.timeout}: expected seconds, more than 0")
    if options.cost_limit is not None and not options.cost_limit > 0:
        raise UserError(f"--cost-limit {options.cost_limit}: expected US dollars, more than 0")


def _check_cards(options: EvalOptions, planner: BuiltPlanner, grounder: BuiltGrounder) -> None:
    for flag, url, card in (
        ("--base-url", options.base_url, grounder.card),
        ("--planner-base-url", options.planner_base_url, planner.card),
    ):
        if url and card is None:
            who = f"grounder {options.grounder}" if flag == "--base-url" else f"planner {options.planner}"
            address = url if isinstance(url, str) else " ".join(url)
            raise UserError(
                f"{flag} {address}: the {who} asks no server; name the model that is served there, or leave it out"
            )
    cards = [card for card in (planner.card, grounder.card) if card is not None]
    if options.temperature is not None and not any("temperature" in card.takes for card in cards):
        names = " and ".join(card.name for card in cards) or "this planner and grounder"
        raise UserError(f"--temperature: {names} take no temperature; leave it out")
    if options.cost_limit is not None and cards and not any(card.price for card in cards):
        names = " and ".join(card.name for card in cards)
        raise UserError(f"--cost-limit: the card of {names} states no price (field price), so no limit can be kept")
