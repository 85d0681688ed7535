"""Web functions over a shop (PersonalWAB): an agent calls them for a user, in one turn or in a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import msgspec

from grounding import __version__
from grounding.benchmarks.asking import COLOURS, find_card
from grounding.benchmarks.episodes import HARMLESS, TAKEN, AgentBenchmark, addresses, combinations, select_tasks
from grounding.benchmarks.personalwab import options as asked_for
from grounding.benchmarks.personalwab import rows, scoring
from grounding.benchmarks.personalwab.agents.chat import Given, Play, ShopAgent
from grounding.benchmarks.personalwab.agents.puma import LocalTextModel, read_predictions
from grounding.benchmarks.personalwab.embeddings import cached_embeddings, needs
from grounding.benchmarks.personalwab.episode import EpisodeStage, HumanUser, ModelUser, ScriptedUser, view_of
from grounding.benchmarks.personalwab.loader import find_files, load_shop
from grounding.benchmarks.personalwab.options import AGENTS, HUMAN, OWN_MEMORY, WITHOUT_MODEL, ShopOptions
from grounding.benchmarks.personalwab.prompts import RELEASE_TOKENS, Memory, shop_prompts
from grounding.benchmarks.personalwab.records import Episode, ShopDataset, ShopTask, TaskType
from grounding.benchmarks.personalwab.scoring import ShopFolder, ShopRunInfo, ShopScored
from grounding.benchmarks.personalwab.web import WebFunctions, open_search
from grounding.cards import PlannerCard
from grounding.data.option import local_folder, ready, url_behind
from grounding.data.registry import locate
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatModel, open_chat
from grounding.options import Display, ScoringName, ShopMemory
from grounding.records import Record
from grounding.report.html.written import written_or_warned
from grounding.run.benchmark import Pass, Shared, Takes, Work
from grounding.run.building import chat_options
from grounding.run.display import Progress
from grounding.run.dry import AskedModel
from grounding.run.folder import begun
from grounding.run.journal import Journal
from grounding.run.ray.cluster import RemoteStage, Workers
from grounding.run.ray.worker import ModelAddress, OpenedStage, StageWork

if TYPE_CHECKING:
    from rich.console import Console

TEMPERATURES = {"model": 0.0, "user": 1.0}
# What the release asks agents and users (`envs/user.py`) with, where neither card nor user says otherwise.
USER_MAX_TOKENS = 150
LIBRARIES = ("nltk", "regex", "sentence-transformers", "torch", "transformers")


class PersonalWab(AgentBenchmark[ShopOptions, "PreparedShop", ShopScored]):
    name = scoring.BENCHMARK
    takes = Takes(
        what="whose tasks are calls of web functions",
        names=frozenset(ShopOptions.__struct_fields__) | TAKEN,
        choices={
            "agent": tuple(AGENTS),
            "memory": get_args(ShopMemory),
            "kind": get_args(TaskType),
            "scoring": get_args(ScoringName),
        },
        harmless=HARMLESS,
    )
    axes = ("agent", "model", "memory")
    folder = ShopFolder
    answers: ClassVar = {"episodes.jsonl": Episode}

    def runs(self, given: Mapping[str, Any], axes: Sequence[str], command: str) -> tuple[ShopOptions, ...]:
        given = dict(given)
        if tuple(given["memory"]) == ("thought",):  # The desktop's, where nobody gives it.
            given["memory"] = ()
        several, models = len(tuple(given["agent"])) > 1, tuple(given["model"])
        found = []
        for one in combinations(given, axes, ShopOptions.__struct_fields__):
            # For grounders it may be an id on the hub, which is text; here it is a folder.
            one["model_path"] = None if one["model_path"] is None else Path(one["model_path"])
            one["base_url"] = addresses(one["base_url"], one.get("model"), models)
            # What is meant for the other agents is left out: a memory for one that has its own, a model and its server.
            agent = one.get("agent")
            if several and agent in OWN_MEMORY:
                one["memory"] = None
            if several and agent in WITHOUT_MODEL:
                one |= {"model": None, "base_url": ()}
            if one.get("user") == HUMAN:
                one["display"] = "none"  # A bar would be painted over what is typed.
            found.append(ShopOptions(**{**one, "command": command}))
        return tuple(dict.fromkeys(found))

    def progress(self, display: Display | None) -> Progress:
        return Progress(display, COLOURS, ("done",), unit="tasks")

    def prepare(
        self,
        options: ShopOptions,
        budget: Budget,
        progress: Progress,
        shared: Shared,
        *,
        dry: bool = False,
        cards: Mapping[str, PlannerCard] | None = None,
    ) -> PreparedShop:
        """Find everything that a run needs; ``cards`` of the options ``model`` and ``user``, where they are known."""
        asked_for.check_options(options)
        # What is missing at an endpoint is said before anything that takes long.
        found, models = _open_models(options, cards or {}, budget, progress, dry=dry)
        ready(options.data_dir)
        with progress.phase("reading the data set"):
            dataset = dataset_of(options, shared)
        tasks = select_tasks(
            dataset.tasks,
            options,
            user_of=lambda task: task.user_id,
            id_of=lambda task: task.id,
            by="--kind",
            also=lambda task: options.kind is None or task.type == options.kind,
        )
        named_in = options.functions_file
        predictions = None if named_in is None else read_predictions(named_in, tasks)
        with progress.phase("building the search index and the recommender"):
            web = web_of(options, dataset, shared)
        warnings: tuple[str, ...] = ()
        if not web.numbered and (unscored := sum(task.type == "recommend" for task in tasks)):
            # Without a recommender no list has the target.
            lacks = find_files(locate(options.dataset, options.data_dir).folder).lacks
            words = (
                f"{unscored} of {len(tasks)} tasks ask for recommendations, and there is no {lacks}: they are neither "
                "asked nor scored. Fetch the release's functions/recommender beside the data, or train one with "
                f"`grounding shop recommender {options.data_dir or options.dataset}`"
            )
            if unscored == len(tasks):
                raise UserError(words)
            tasks, warnings = tuple(task for task in tasks if task.type != "recommend"), (words,)
        local = None
        if options.model_path is not None:
            # The memory that a model of PUMA was trained with, where the user asked for no other.
            local = LocalTextModel(options.model_path)
            length, tokens = options.memory_length, RELEASE_TOKENS if options.preset == "official" else None
            if local.trained is not None:
                tokens = local.trained.memory_tokens
                length = local.trained.memory_length if length is None else length
            tokens = options.memory_tokens or tokens
            options = msgspec.structs.replace(options, memory_length=length, memory_tokens=tokens)
        memory = Memory(
            options.memory_kind,
            dataset,
            shop_prompts(),
            length=options.behaviours,
            max_tokens=options.memory_tokens,
            seed=options.seed or 0,
            # torch is loaded only by runs that need it.
            embed=cached_embeddings() if options.memory_kind in ("relevant", "task-specific") else None,
            cut=None if local is None else local.tokens.cut,
            react=options.agent in ("react", "reflexion"),
        )
        agent = AGENTS[options.agent].make(Given(options, web, memory, models.get("model"), predictions, local))
        user = None
        if options.track == "multi":
            typed = HumanUser if options.user == HUMAN else ScriptedUser
            user = ModelUser(dataset, models["user"]) if "user" in models else typed(dataset)
        info = _info(options, dataset, web, agent, user, found)
        return PreparedShop(options, found, models, dataset, tasks, web, agent, user, info, warnings)

    def write_items(self, prepared: PreparedShop, folder: ShopFolder) -> None:
        def line(task: ShopTask) -> scoring.TaskLine:
            user, product = prepared.dataset.users[task.user_id], prepared.dataset.products[task.target_asin]
            earlier = len(user.before(task.timestamp_ms))
            return scoring.TaskLine(task=task, earlier_behaviours=earlier, profile=user.profile, product=product)

        folder.replace_lines("steps.jsonl", map(line, prepared.tasks))

    def passes(self, prepared: PreparedShop, work: Work) -> Iterator[Pass]:
        stage = prepared.stage(work.journals["episodes.jsonl"])
        yield Pass(
            stage=stage,
            items=prepared.tasks,
            progress=work.progress,
            outcome=lambda _, episode: "done" if episode.failure is None else episode.failure.kind,
            check=prepared.check,
            early=prepared.options.model_path is None,
            elsewhere=partial(in_workers, stage, prepared),
            asks=tuple(prepared.asked(stage)),
        )

    def score(self, folder: ShopFolder) -> ShopScored:
        return scoring.score_shop(folder)

    def page(self, scored: ShopScored) -> Path | None:
        return written_or_warned(lambda: rows.write_page(scored.folder, None))

    def figures(self, scored: ShopScored, scoring: str | None) -> dict[str, float | None]:
        found = scored.summary.scores["official" if scoring == "official" else self.reading(scored)].overall
        return {"function": found.function.value, "result": found.result.value}

    def reading(self, scored: ShopScored) -> ScoringName:
        return scored.info.asked.preset

    def print_runs(self, console: Console, results: Sequence[ShopScored], rule: ScoringName) -> None:
        for track in dict.fromkeys(one.info.asked.track for one in results):
            rows.print_shop(console, [one for one in results if one.info.asked.track == track], rule=rule)

    def print_published(self, console: Console, results: Sequence[ShopScored]) -> None:
        rows.print_published_shop(console, results)

    def measures(self, rule: ScoringName) -> tuple[str, ...]:
        lead = "official_" if rule == "official" else ""
        return (*(f"{lead}{name}" for name in ("function", "result", "outcome")), "steps")


class PreparedShop(Record, frozen=True):
    """Everything a run needs, checked before it asks; cards and models are those of ``model`` and ``user``."""

    options: ShopOptions
    cards: dict[str, PlannerCard]
    models: dict[str, ChatModel]
    dataset: ShopDataset
    tasks: tuple[ShopTask, ...]
    functions: WebFunctions
    agent: ShopAgent
    user: ScriptedUser | None
    info: ShopRunInfo
    warnings: tuple[str, ...] = ()

    async def aclose(self) -> None:
        for model in self.models.values():
            await model.aclose()

    async def check(self) -> None:
        for model in self.models.values():
            await model.check()

    def stage(self, journal: Journal[Episode]) -> EpisodeStage:
        limits = (self.options.track, self.options.steps, self.dataset.fingerprint)
        stage = EpisodeStage(self.agent, self.functions, self.user, journal, *limits)
        stage.take_up(self.tasks)
        return stage

    def asked(self, stage: EpisodeStage) -> Iterator[AskedModel]:
        options, user = self.options, self.user
        if "model" in self.cards:
            # Beside the moves puma-chat asks for the function; InteRecAgent for a profile, before and after; Reflexion
            # after every reply.
            beside = {"interecagent": 2, "puma-chat": 1}.get(options.agent, 0)
            most = options.steps * (2 if options.agent == "reflexion" else 1)
            calls = (1 + beside, most + beside)
            yield AskedModel("agent", self.cards["model"], lambda task, key: stage.run(task, None, key), calls)
        if "user" in self.cards and user is not None:
            card, calls = self.cards["user"], (0, options.steps)
            yield AskedModel("user", card, lambda task, _: user.reply(task, Play(view=view_of(task, None)), ""), calls)


def dataset_of(options: ShopOptions, shared: Shared) -> ShopDataset:
    what = ("shop", options.dataset, options.data_dir, options.split)
    return shared.once(what, lambda: load_shop(options.dataset, options.data_dir, splits=(options.split,)))


def web_of(options: ShopOptions, dataset: ShopDataset, shared: Shared) -> WebFunctions:
    def make() -> WebFunctions:
        files = find_files(locate(options.dataset, options.data_dir).folder)
        search, recommender = open_search(options.search, dataset.products), None
        if files.checkpoint is not None and files.numbers is not None:
            with needs("torch"):
                from grounding.benchmarks.personalwab.sasrec import Recommender
            recommender = Recommender(files.checkpoint, files.numbers)
        return WebFunctions(dataset.products, search, recommender)

    return shared.once(("web", dataset.fingerprint, options.data_dir, options.search), make)


def _info(
    options: ShopOptions,
    dataset: ShopDataset,
    web: WebFunctions,
    agent: ShopAgent,
    user: ScriptedUser | None,
    cards: Mapping[str, PlannerCard],
) -> ShopRunInfo:
    model = cards["model"].name if "model" in cards else str(options.model_path or "")
    as_given = ("split", "agent", "memory_tokens", "search", "track", "preset")
    chosen = {
        "kind": options.kind,
        "users": ",".join(sorted(options.participant)),
        "tasks": ",".join(sorted(options.sample_id)),
        "limit": options.limit,
        "split": "" if options.split == "test" else options.split,
        "without": "" if web.numbered else "recommend",
    }
    asked = scoring.ShopAsked(
        **{name: getattr(options, name) for name in as_given},
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        select=";".join(f"{name}={value}" for name, value in chosen.items() if value not in (None, "")) or "all",
        agent_identity=agent.identity,
        model=model,
        base_url=" ".join(options.base_url),
        memory=options.memory_kind,
        memory_length=options.behaviours,
        user="" if user is None else options.user or "scripted",
        user_identity="" if user is None else user.identity,
        functions_identity=web.identity,
        max_steps=options.steps,
        seed=options.seed or 0,
        version=__version__,
    )
    names = (asked.dataset, asked.agent, model if "model" in cards else "offline", asked.memory)
    info = ShopRunInfo(
        **begun(asked, names, options, dataset.departs, LIBRARIES),
        prompt="" if options.agent in ("rules", "oracle") else shop_prompts().label,
        products=len(dataset.products),
        recommended=web.numbered,
    )
    return msgspec.structs.replace(info, signature=scoring.shop_signature(info))


def _endpoints(options: ShopOptions) -> dict[str, tuple[str, str, str]]:
    named = {}
    if options.model is not None:
        named["model"] = (options.model, " ".join(options.base_url), "--base-url")
    if options.user not in (None, "scripted", HUMAN):
        named["user"] = (str(options.user), options.user_base_url or "", "--user-base-url")
    return named


def _open_models(
    options: ShopOptions, known: Mapping[str, PlannerCard], budget: Budget, progress: Progress, *, dry: bool
) -> tuple[dict[str, PlannerCard], dict[str, ChatModel]]:
    cards: dict[str, PlannerCard] = {}
    models: dict[str, ChatModel] = {}
    for role, (name, url, flag) in _endpoints(options).items():
        card = cards[role] = known.get(role) or find_card(
            name, url or None, model=None, cost_limit=options.cost_limit, option=f"--{role}", flag=flag
        )
        most, temperature = card.parameters.get("max_tokens"), options.temperature
        if role == "user":
            temperature = None
            if (most is None or isinstance(most, int)) and "max_completion_tokens" not in card.parameters:
                parameters = {**card.parameters, "max_tokens": min(most or USER_MAX_TOKENS, USER_MAX_TOKENS)}
                card = msgspec.structs.replace(card, parameters=parameters)
        if temperature is not None and "temperature" not in card.takes:
            raise UserError(f"--temperature: {options.model} takes no temperature; leave it out")
        if temperature is None and "temperature" not in card.parameters:
            temperature = TEMPERATURES[role]
        chat = msgspec.structs.replace(chat_options(options, url), temperature=temperature, dry=dry)
        models[role] = open_chat(card, chat, flag=flag, budget=budget, on_retry=progress.retried).model
    return cards, models


async def in_workers(own: EpisodeStage, prepared: PreparedShop, workers: Workers) -> RemoteStage:
    """The stage of a run with its agent, its user and its web in workers."""
    options, cards = prepared.options, prepared.cards
    work = StageWork(
        opener=open_episodes,
        options=options,
        identity=own.identity,
        given=(cards, url_behind(options.data_dir)),
        models=[ModelAddress(cards[role], url, flag) for role, (_, url, flag) in _endpoints(options).items()],
        in_process=options.model_path is not None,
    )
    return await workers.stage(own, work)


def open_episodes(work: StageWork, budget: Budget, told: Any) -> OpenedStage:
    """The stage in a worker. Raises UserError where something that it needs is missing here; says what."""
    options: ShopOptions = work.options
    cards, url = work.given
    folder = local_folder(url) if url else options.data_dir
    connections = work.connections or options.max_connections
    options = msgspec.structs.replace(options, data_dir=folder, max_connections=connections)
    prepared = BENCHMARK.prepare(options, budget, told, Shared(), cards=cards)
    stage = prepared.stage(told)
    return OpenedStage(stage.identity, stage.max_concurrency, stage.run, prepared.check, prepared.aclose)


BENCHMARK = PersonalWab()
