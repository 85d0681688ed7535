"""Options in, everything that a run needs out: checked before the first question is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from grounding import __version__
from grounding.cards import GrounderCard, read_cards
from grounding.cards.functions import FunctionGrounder, is_function
from grounding.cards.places import models_dir
from grounding.cards.tuned import CARD_FILE
from grounding.data import load_dataset, participant_folders
from grounding.data.option import ready
from grounding.errors import UserError
from grounding.grounders import BuiltGrounder
from grounding.grounders.som.card import find_som_card
from grounding.grounders.zoom import ZoomGrounder, find_zoom
from grounding.llm.budget import Budget
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner, build_planner
from grounding.planners.base import SavedPlans, planner_reads
from grounding.planners.store import PlanStore, StoredPlanner, plan_store_dir
from grounding.records import Dataset, Plan, Prediction, Record, Session
from grounding.run.benchmark import Shared
from grounding.run.building import chat_options, check_numbers, grounder_card, grounder_of, hf_options
from grounding.run.display import Progress
from grounding.run.folder import (
    TRANSCRIPTS,
    GrounderSetup,
    RunFolder,
    RunInfo,
    RunSettings,
    begun,
    signature,
)
from grounding.run.journal import Journal
from grounding.run.probe.gate import EvalProbe, eval_probe
from grounding.run.ray.cluster import check_executor
from grounding.run.steps import StepItem, StepSelection, plan_query, select_steps, step_items
from grounding.serving.managed import MANAGED, ManagedServers, manage_servers, server_elsewhere, starts_servers
from grounding.serving.worker_server import ANYWHERE, WorkerServer

if TYPE_CHECKING:
    from grounding.asr.sources import Obtained
    from grounding.scoring.words import Transcripts

DEFAULT_HISTORY = 10
_IN_PROCESS = ("torch", "torchvision", "transformers")
"""What answers as well, where a model or SAM runs in this process."""


class PreparedClicks(Record, frozen=True, kw_only=True):
    options: EvalOptions
    dataset: Dataset
    selection: StepSelection
    planner: BuiltPlanner
    grounder: BuiltGrounder
    servers: ManagedServers | None
    worker_server: WorkerServer | None
    probe: EvalProbe | None
    asked: RunSettings
    info: RunInfo
    transcripts: Transcripts | None = None

    @property
    def warnings(self) -> Sequence[str]:
        planner = self.planner.planner
        gaps = planner.gaps(self.selection.sessions) if isinstance(planner, SavedPlans) else ""
        return (*self.dataset.warnings, *filter(None, (gaps,)))

    @property
    def items(self) -> Steps:
        return Steps(self)

    async def aclose(self) -> None:
        await self.planner.planner.aclose()
        await self.grounder.grounder.aclose()

    @property
    def own_servers(self) -> bool:
        """Whether the grounder's servers are started for the run, told the card's limits."""
        return self.asked.base_url == MANAGED


class Steps:
    """The items of a run, made anew each time that they are gone through: there may be millions."""

    def __init__(self, prepared: PreparedClicks) -> None:
        self._prepared = prepared

    def __len__(self) -> int:
        return len(self._prepared.selection.step_ids)

    def __iter__(self) -> Iterator[StepItem]:
        asked, prepared = self._prepared.asked, self._prepared
        return step_items(prepared.dataset.sessions, prepared.selection.step_ids, asked.history, asked.history_scope)

    def __contains__(self, item: object) -> bool:
        return isinstance(item, StepItem) and item.step.id in self._prepared.selection.step_ids


def prepare(
    options: EvalOptions, budget: Budget, progress: Progress, shared: Shared | None = None, *, dry: bool = False
) -> PreparedClicks:
    """Find everything that a run needs. Asks nothing of any model and writes nothing.

    A history that nobody would be told of is refused where the run is alone; beside others, which may be told of it, it
    is left out. Data and servers are taken from what runs ``shared`` before. ``dry``: neither keys nor servers have to
    be there. Raises UserError: something is missing or wrong; says what.
    """
    shared = shared or Shared()
    if dry:
        options = msgspec.structs.replace(options, dry_run=True)
    check_numbers(options)
    check_executor(options.executor, options.workers, options.ray_address)
    planner = build_planner(
        options, chat_options(options, options.planner_base_url), budget=budget, on_retry=progress.retried
    )
    planner = _with_store(planner, options)
    # The data set is read after the cards and before the grounder is made: some grounders need it.
    card = grounder_card(options)
    local = hf_options(options, card)
    som = find_som_card(options.grounder, models_dir() / "pipelines")
    reads = FunctionGrounder(options.grounder).reads if is_function(options.grounder) else ()
    told = "history" in reads or any(one is not None and one.uses_history for one in (planner.card, card, som))
    if options.history and not told and "history" not in planner_reads(planner.planner):
        if shared.alone:
            raise UserError(nobody_told(options))
        options = without_history(options)
    # How many earlier steps models are told of: what was asked for, or ten where a prompt has a place for them.
    history = options.history if options.history is not None else DEFAULT_HISTORY if told else 0
    _check_history(options, history)
    ready(options.data_dir)  # What comes from elsewhere has a progress of its own.
    with progress.phase("reading the data set"):
        wanted: dict[str, Any] = {
            "questions": options.questions,
            "history": (options.history_file or "auto") if history else None,
            "history_of": options.participant,
        }
        dataset = shared.once(
            (options.dataset, options.data_dir, *wanted.values()),
            lambda: load_dataset(options.dataset, options.data_dir, **wanted),
        )
    selection = select_steps(
        dataset.sessions, participants=options.participant, sample_ids=options.sample_id, limit=options.limit
    )
    obtained = _transcripts(options, dataset, selection, progress)
    transcripts = None if obtained is None else obtained.transcripts
    if transcripts is not None:
        from grounding.asr.sources import substitute

        dataset = msgspec.structs.replace(dataset, sessions=substitute(dataset.sessions, transcripts.spoken))
        selection = select_steps(
            dataset.sessions, participants=options.participant, sample_ids=options.sample_id, limit=options.limit
        )
    seed = options.seed or 0
    starts = not local and not options.dry_run
    worker_server = _worker_server(card, options, dataset.sessions) if starts and options.executor == "ray" else None
    servers = manage_servers(card, options, dataset.sessions) if starts and options.executor == "local" else None
    if servers is not None:
        servers = shared.servers.matching(servers)
    own = (
        servers is not None
        or worker_server is not None
        or (options.dry_run and not local and starts_servers(card, options))
    )
    address = servers.base_url if servers else ANYWHERE if worker_server else " ".join(options.base_url)
    chat = chat_options(options, address)
    grounder = grounder_of(
        options, chat, card=card, sessions=dataset.sessions, budget=budget, on_retry=progress.retried
    )
    _check_cards(options, planner, grounder)
    answers, zoom = grounder, find_zoom(options.zoom, card)
    if zoom is not None:
        _check_zoom(options, card)
        grounder = msgspec.structs.replace(grounder, grounder=ZoomGrounder(grounder.grounder, zoom))
    asked = RunSettings(
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
    libraries = _IN_PROCESS if local is not None or (som and som.marks.sam) else ()
    rate = None if transcripts is None else transcripts.score.rate_percent
    signed = signature(asked, planner.card, grounder.card, options.clusters, rate, departs=dataset.departs)
    info = RunInfo(
        **begun(asked, names, options, dataset.departs, libraries) | {"signature": signed},
        family=grounder.card.family if grounder.card else None,
        setup=_setup(options),
        clusters=options.clusters,
    )
    shown = {step.screenshot.size for session in selection.sessions for step in session.steps}
    probe = eval_probe(
        answers, chat, wanted=not options.no_probe, budget=budget, on_retry=progress.retried, shown=shown
    )
    return PreparedClicks(
        options=options,
        dataset=dataset,
        selection=selection,
        planner=planner,
        grounder=grounder,
        servers=servers,
        worker_server=worker_server,
        probe=probe,
        asked=asked,
        info=info,
        transcripts=transcripts,
    )


def _worker_server(card: GrounderCard | None, options: EvalOptions, sessions: Sequence[Session]) -> WorkerServer | None:
    server = server_elsewhere(card, options, sessions)
    return None if server is None or card is None else WorkerServer(card=card, options=server)


def _transcripts(
    options: EvalOptions, dataset: Dataset, selection: StepSelection, progress: Progress
) -> Obtained | None:
    if options.transcript is None:
        return None
    # Only runs over speech load what hears it.
    from grounding.asr.sources import obtain

    folders = participant_folders(options.dataset, options.data_dir, questions=options.questions)
    return obtain(options, dataset.sessions, folders, chosen=selection.step_ids, phase=progress.phase)


def _with_store(built: BuiltPlanner, options: EvalOptions) -> BuiltPlanner:
    folder = plan_store_dir(options.plan_store, off=options.no_plan_store)
    if folder is None or built.card is None:
        return built
    store = PlanStore(folder, built.planner.name, built.base_url)
    return msgspec.structs.replace(built, planner=StoredPlanner(built.planner, store, epoch=options.epoch))


def without_history(options: EvalOptions) -> EvalOptions:
    """The options of the same run, with nobody told what happened before."""
    return msgspec.structs.replace(options, history=0, history_scope="session", history_file=None)


def nobody_told(options: EvalOptions) -> str:
    told = [card.name for card in read_cards(models_dir() / "grounders", GrounderCard) if card.uses_history]
    return (
        f"--history {options.history}: neither the planner {options.planner} nor the grounder {options.grounder} is "
        "told what happened before; leave it out, or name one that is: a chat model with --planner, or --grounder "
        f"{', '.join((*told, 'som'))}"
    )


def _check_history(options: EvalOptions, history: int) -> None:
    if history or options.history == 0:
        return
    flag = f"--history-scope {options.history_scope}" if options.history_scope != "session" else ""
    if flag := flag if options.history_file is None else f"--history-file {options.history_file}":
        raise UserError(
            f"{flag}: neither this planner nor this grounder is told what happened before; leave it out, or ask for it "
            "with --history N"
        )


def _setup(options: EvalOptions) -> GrounderSetup:
    given = {name: getattr(options, name) for name in GrounderSetup.__struct_fields__}
    for name in ("dataset", "grounder", "zoom", "history_file"):
        if isinstance(given[name], str) and Path(given[name]).is_file():
            given[name] = str(Path(given[name]).absolute())
    if (Path(options.grounder) / CARD_FILE).is_file():
        given["grounder"] = str(Path(options.grounder).absolute())
    for name in ("data_dir", "predictions"):
        given[name] = None if given[name] is None else str(given[name].absolute())
    return GrounderSetup(**given)


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


def _check_zoom(options: EvalOptions, card: GrounderCard | None) -> None:
    if options.grounder in ("replay", "oracle"):
        raise UserError(f"--zoom: {options.grounder} looks at no picture, so there is nothing to look at again")
    if card is not None and card.image.send == "file":
        raise UserError("--zoom: crops are no files that a server may read; leave out --send file")


def left_to_ask(prepared: PreparedClicks, plans: Journal[Plan], predictions: Journal[Prediction]) -> tuple[bool, bool]:
    """Whether planner and grounder have something left that neither journals nor the store of plans can answer."""
    steps = len(prepared.selection.step_ids)
    return (
        plans.settled_count < steps and not _all_stored(prepared, plans),
        predictions.settled_count < steps - plans.failed_count,
    )


def _all_stored(prepared: PreparedClicks, plans: Journal[Plan]) -> bool:
    planner, asked = prepared.planner.planner, prepared.asked
    if not isinstance(planner, StoredPlanner):
        return False
    for item in prepared.items:
        query = plan_query((item.opening or item) if asked.plan_ahead else item, planner)
        if plans.settled(item.step.id, query.key) is None and not planner.store.holds(query.key):
            return False
    return True


_UNHEARD = {
    "missing": "without a recording or an entry",
    "unparsed": "unreadable or with nothing to be heard",
    "error": "where the recogniser failed, which the same command tries again",
}  # Why an instruction has no transcript, by the kind of failure.


def write_transcripts(prepared: PreparedClicks, folder: RunFolder) -> None:
    """Keep what the run is told instead of the true words, and say what could not be heard."""
    told = prepared.transcripts
    if told is None:
        return
    folder.replace(TRANSCRIPTS, msgspec.json.format(msgspec.json.encode(told), indent=1))
    lacking = told.failures()
    if lacking:
        kinds = ", ".join(f"{told.failures(kind)} {words}" for kind, words in _UNHEARD.items() if told.failures(kind))
        print(
            f"grounding: warning: {told.condition}: {lacking} of {len(told.spoken)} instructions have no transcript "
            f"({kinds}); they are not asked about and count as wrong",
            file=sys.stderr,
            flush=True,
        )
