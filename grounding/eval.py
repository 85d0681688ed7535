"""``python -m grounding.eval``: options to a run to the printed table. No logic of its own."""

from __future__ import annotations

import inspect
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from grounding.combinations import combine
from grounding.desktop.refusals import point_scoring
from grounding.errors import UserError
from grounding.history import HistoryScope
from grounding.options import (
    Backend,
    ClusterChoice,
    CurationAgentName,
    DesktopScoringName,
    Display,
    Dtype,
    ExecutorName,
    ImageSend,
    JudgeMode,
    MemoryKind,
    PromptStyle,
    ScoringName,
    ShopAgentName,
    ShopAttempt,
    ShopKind,
    ShopMemory,
    ShopSearch,
    ShopTrack,
    TaskKind,
)
from grounding.sources.option import DataDir, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from grounding.budget import Budget
    from grounding.chat import ChatOptions
    from grounding.webagents.agenticshop.agents.browsing.pointing import PointFinder

_Several = Parameter(consume_multiple=True, negative="", show_default=False)

EACH = "each value is a run"
"""Marks an option whose every value is a run of its own."""

_CLUSTER = Parameter(group=Group("Past one process", sort_key=0))
_WEB = Parameter(group=Group("Web agents (personalwab, agenticshop)", sort_key=1))
_SHOP = Parameter(group=Group("Web functions (personalwab)", sort_key=2))
_MALL = Parameter(group=Group("Curated products (agenticshop)", sort_key=3))

SHOP_NAMES = (
    *("track", "memory_length", "memory_tokens", "user", "user_base_url"),
    *("functions", "search", "search_index", "preset", "attempt", "split"),
)
"""The options of ``evaluate_command`` that are for web functions alone."""

MALL_NAMES = (
    *("scenario", "curations", "extractor", "extractor_base_url", "extractions", "judge", "judge_base_url"),
    *("judge_mode", "judge_prompt", "judgements", "pages", "max_seconds"),
)
"""The options of ``evaluate_command`` that are for curated products alone."""

WEB_NAMES = ("agent", "model", "max_steps", *SHOP_NAMES, *MALL_NAMES)
"""The options of ``evaluate_command`` that are for web agents."""

EACH_NAMES = ("grounder", "planner", "plans", "memory")
"""The options of ``evaluate_command`` marked so; the last changes fastest: a block of rows for each grounder."""


def evaluate_command(
    *,
    dataset: str = "sample-web",
    data_dir: DataDir | None = None,
    planner: Annotated[tuple[str, ...], _Several, EACH] = ("none",),
    planner_prompt: str | None = None,
    planner_model: str | None = None,
    plan_ahead: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    grounder: Annotated[tuple[str, ...], _Several, EACH] = (),
    plans: Annotated[tuple[Path, ...], _Several, EACH] = (),
    plan_store: Path | None = None,
    no_plan_store: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    predictions: Path | None = None,
    base_url: Annotated[tuple[str, ...], _Several] = (),
    replicas: int = 1,
    server_command: str | None = None,
    send: ImageSend | None = None,
    backend: Backend | None = None,
    model_path: str | None = None,
    dtype: Dtype | None = None,
    device: str | None = None,
    batch_size: int | None = None,
    planner_base_url: Annotated[tuple[str, ...], _Several] = (),
    history: int | None = None,
    history_scope: HistoryScope = "session",
    history_file: str | None = None,
    questions: str | None = None,
    transcript: str | None = None,
    asr: str | None = None,
    asr_base_url: str | None = None,
    noise_dir: Path | None = None,
    participant: Annotated[tuple[str, ...], _Several] = (),
    kind: TaskKind | ShopKind | None = None,
    memory: Annotated[tuple[MemoryKind | ShopMemory, ...], _Several, EACH] = ("thought",),
    style: PromptStyle = "percu",
    attempts: int | None = None,
    agent: Annotated[tuple[ShopAgentName | CurationAgentName, ...], _Several, _WEB] = (),
    model: Annotated[str | None, _WEB] = None,
    track: Annotated[ShopTrack, _SHOP] = "single",
    memory_length: Annotated[int | None, _SHOP] = None,
    memory_tokens: Annotated[int | None, _SHOP] = None,
    max_steps: Annotated[int | None, _WEB] = None,
    user: Annotated[str | None, _SHOP] = None,
    user_base_url: Annotated[str | None, _SHOP] = None,
    functions: Annotated[Path | None, _SHOP] = None,
    search: Annotated[ShopSearch, _SHOP] = "bm25",
    search_index: Annotated[Path | None, _SHOP] = None,
    preset: Annotated[ScoringName, _SHOP] = "paper",
    attempt: Annotated[ShopAttempt | None, _SHOP] = None,
    split: Annotated[Literal["train", "test"], _SHOP] = "test",
    scenario: Annotated[tuple[str, ...], _Several, _MALL] = (),
    curations: Annotated[Path | None, _MALL] = None,
    extractor: Annotated[str, _MALL] = "structural",
    extractor_base_url: Annotated[str | None, _MALL] = None,
    extractions: Annotated[Path | None, _MALL] = None,
    judge: Annotated[tuple[str, ...], _Several, _MALL] = (),
    judge_base_url: Annotated[str | None, _MALL] = None,
    judge_mode: Annotated[JudgeMode, _MALL] = "all",
    judge_prompt: Annotated[str | None, _MALL] = None,
    judgements: Annotated[Path | None, _MALL] = None,
    pages: Annotated[int | None, _MALL] = None,
    max_seconds: Annotated[float | None, _MALL] = None,
    sample_id: Annotated[tuple[str, ...], _Several] = (),
    limit: int | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    max_connections: int | None = None,
    timeout: float | None = None,
    max_retries: int = 5,
    cost_limit: float | None = None,
    executor: Annotated[ExecutorName, _CLUSTER] = "local",
    workers: Annotated[int | None, _CLUSTER] = None,
    ray_address: Annotated[str | None, _CLUSTER] = None,
    no_probe: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    no_report: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    scoring: DesktopScoringName = "paper",
    tolerance: float | None = None,
    published: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    clusters: ClusterChoice = "task",
    epochs: int = 1,
    baseline: str | None = None,
    log_dir: Path = Path("results"),
    fresh: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    display: Display | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Run a planner and a grounder over a data set and score every click.

    The same command again continues a run that stopped and asks nothing twice. Exit code 0: everything was
    answered; 1: errors or unanswered steps are left; 2: something about the command or the data is wrong.

    Args:
        dataset: Which data set; `grounding list datasets` shows them.
        data_dir: Where the data lie, for a data set that is not bundled: a folder, an archive (.zip, .tar.gz), or the
            URL of either (s3://, gs://, https://, zip::URL), which is fetched into the cache folder.
        planner: Who rewrites the instruction: `none` (default), `replay`, a card's name or a path to a card (.yaml).
            Several planners are run with every grounder, and each is asked once.
        planner_prompt: What a chat model is asked with: `official` (the released scripts' wording), `explicit` (one
            instruction made for grounders), or a path to a prompt (.yaml) [default: the card's own, else official].
        planner_model: The model's name at the planner's endpoint, instead of the card's; for `--planner any` where the
            endpoint serves several.
        plan_ahead: Ask the planner once for each instruction, at its first step, for a list of all its actions.
        grounder: Who finds the place: `ocr` (default), `replay`, `center`, `random`, `oracle`, a card's name or a path,
            or the folder of a model that `grounding train` tuned. Several are run with every planner, one after the
            other. On desktop tasks an agent: `ocr-agent` (default), `replay`, `always-click-center`, `repeat-last`,
            `oracle`, a card's name or a path; see `grounding list agents`.
        plans: Saved plans to replay, `{participant: {image number: text}}` (means --planner replay). Several files are
            several planners.
        plan_store: Where plans of chat models are kept for other runs, which then don't ask again
            [default: plans in the user's cache folder for grounding].
        no_plan_store: Ask for every plan anew, and keep none for other runs.
        predictions: Recorded answers to replay, JSON lines (means --grounder replay). On desktop tasks
            `{"step": id, "reply": text}`.
        base_url: The grounder's server, such as http://127.0.0.1:8000/v1, or several that share the work. Without one,
            a card that vLLM serves gets a server of its own for the run, where there is a GPU. With several grounders,
            NAME=URL is the address of one of them.
        replicas: How many servers to start, where this command starts them.
        server_command: What starts a server, instead of `vllm serve`; asked for, it is used without a GPU as well.
        send: How screenshots are sent: `base64` in the request, or `file` for a server that reads the same disk
            [default: the card's].
        backend: Who runs the model of a card: a `server`, or transformers in this process (`hf`)
            [default: a server, or what the card needs].
        model_path: Weights for --backend hf: a folder or an id on the hub [default: the card's].
        dtype: Their precision [default: bfloat16].
        device: Where they run, such as cuda:0 or cpu [default: the GPU where there is one].
        batch_size: How many steps at once [default: 8].
        planner_base_url: The planner's server, instead of the one in its card; NAME=URL with several planners.
        history: How many earlier steps models are told of [default: 10 where a prompt has a place for them].
        history_scope: Whether the history reaches over the whole `session`, as in the released evaluator, or no further
            back than the step's own `task`.
        history_file: Which history file: a name in every participant's folder, whatever its case, or the path of a file
            that `grounding caption` wrote.
        questions: Which questions file, such as questions_Wlarge.json, or which instructions, as the data set's card
            says (cn of screenspot-pro, action of multimodal-mind2web).
        transcript: Where the words come from, instead of the true transcripts (`truth`): a recogniser that hears the
            data set's recordings, with noise or without (`pocketsphinx`, `whisper:turbo`, `whisper-api:MODEL`,
            `pocketsphinx@babble:10dB`), recorded transcripts (`file:transcriptions_Wturbo.json`), or another questions
            file (`questions:questions_Wlarge.json`). `python -m grounding.asr --help` has more.
        asr: The recogniser that `asr` in --transcript stands for, with its options, such as
            whisper:turbo,language=en; alone, it is the --transcript [default: pocketsphinx].
        asr_base_url: The endpoint that whisper-api asks, such as http://127.0.0.1:8000/v1.
        noise_dir: Noises of your own, named as in MS-SNSD (Babble_1.wav, Typing_2.wav); beside the built-in ones.
        participant: Only these participants.
        kind: Only tasks of this kind: preference or routine on a desktop; search, recommend or review in a shop.
        memory: What an agent on a desktop is told that it remembers: the `thought` recorded at the step, as PERCU has
            it (default); `none`; that of an `other-step` of the task, drawn; or all thoughts of the data set
            `shuffled`, so that no step gets its own. In a shop, which purchases an agent is told of: `none`, `random`,
            `last` (default) or the `relevant` ones. Several are run one after the other and compared.
        style: How an agent on a desktop is asked: in the benchmark's one prompt, coordinates taken as written
            (`percu`), or in the model's own words and space (`native`), which its card must have.
        attempts: How often an agent is asked again where its reply holds no action, 1 to 3 times in all, with a note
            on the format [default: 3 in the style percu, as released, else 1].
        agent: Who calls web functions: `rules` (default), `function-calling`, `react`, `reflexion`, `recmind`,
            `interecagent`, `puma`, `puma-local`, `oracle`; who curates products: `site-search` (default), `browsing`,
            `search`, `replay`, `agent-e`, `seeact`, `webvoyager`, `browser-use`; see `grounding list agents`. Several
            are run one after the other.
        model: The chat model of the agent: a card's name or path, as for --planner; --base-url is its server. With
            --agent browsing and a --grounder, NAME=URL is the address of the grounder.
        track: One call (`single`), or a conversation with a user (`multi`).
        memory_length: How many purchases an agent is told of [default: 50, in a conversation 20, RecMind 400].
        memory_tokens: How long the text of them may be [default: any length].
        max_steps: How many moves an agent has [default: 10; browsing 30].
        user: Who plays the user: `scripted` (default), or the card of a chat model.
        user_base_url: Its server, instead of the one in its card.
        functions: The functions that PUMA takes the instructions for, predicted elsewhere: a file as its
            function_res.json; for puma-local also `model` or `words` [default: puma asks its model, puma-local its own
            where it was trained to name functions, else it goes by the words].
        search: How products are found: `bm25` as Lucene reckons it, by meaning (`dense`), or `pyserini` with an index.
        search_index: The folder of that Lucene index.
        preset: As the paper describes the benchmark, or as its release behaves (`official`): 10 purchases, bought
            products recommended again, its evaluator.
        attempt: Which of several calls counts [default: the last in the paper's reading, the best in the release's].
        split: Whose instructions are run.
        scenario: Only users of these scenarios, such as explicit_title or home.
        curations: What an agent that is not run here found: a search_output.json, a CSV or JSON lines of task and url,
            an earlier run's curations.jsonl, or the folder of logs of --agent agent-e, seeact, webvoyager, browser-use.
        extractor: Who reads the products' pages: `structural` (no model), or the card of a chat model.
        extractor_base_url: Its server, instead of the one in its card.
        extractions: The folder of an earlier run, whose pages are judged instead of being opened again.
        judge: Who says which items of a checklist a product satisfies: `rules` (default), or cards of chat models;
            @no-info and @url-only behind a name show it less. Of several besides the rules, the majority counts;
            the rules check each of them on what they can decide.
        judge_base_url: The judges' server, instead of the one in their cards.
        judge_mode: Ask about `all` items of a product at once, or about each `item`.
        judge_prompt: The name or path of another prompt for judges [default: evidence].
        judgements: Verdicts from elsewhere: an earlier run's folder, or the release's eval_results.
        pages: How many pages are open at once [default: 2].
        max_seconds: How long the agent browsing may take for a task [default: 600].
        sample_id: Only these steps, such as 3/42.
        limit: Only the first so many scored steps.
        temperature: Sampling temperature [default: the card's].
        seed: Seed of the bootstrap, the random grounder and models that take one [default: 0].
        max_connections: Requests open at once, for each model, over all its servers [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        cost_limit: US dollars that a run may cost in all, or all runs of this command together; it stops before and can
            go on with a higher limit.
        executor: Where models and agents work: in this process (`local`), or in workers on a Ray cluster (`ray`),
            which changes no answer. This process writes the run folder either way.
        workers: How many workers with --executor ray [default: one for each processor of the cluster, or for each
            server that is started].
        ray_address: A running cluster, such as 10.0.0.1:6379 or auto [default: RAY_ADDRESS, else one of this machine
            for the length of the command].
        no_probe: Don't ask a chat grounder about a dozen drawn screenshots first, to see that its card fits.
        no_report: Don't write report.html, the page that shows every step, into the run folder.
        dry_run: Ask nobody and start no server: show what would be asked, how many tokens, dollars and minutes it would
            take and what is there already, and write the first requests out in full for reading.
        scoring: Which definition the table shows; summary.json has them all. `strict` is for desktop tasks.
        tolerance: How many pixels an action on a desktop may be off [default: 50, as in PERCU].
        published: Show the tables of PERCU's paper, or of PersonalWAB's, too.
        log_dir: Where run folders are made.
        fresh: Start over; what an earlier run left is set aside, not deleted. Stored plans are used again all the same.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
        clusters: What the intervals are drawn over: whole tasks, or everything of each participant; in the signature.
        epochs: Run the same this often, each time with another seed and in a folder of its own, and report how far the
            results lie apart.
        baseline: Which of several runs the others are compared with: a name in the table's first column, such as
            none+ocr [default: the first].
        json: Print summary.json instead of the table; with several runs a list of names and summaries.
    """
    # Every parameter goes to the option of its name, so that a new one needs no line here.
    given, command = dict(locals()), shlex.join(["grounding", "eval", *without_secrets(_arguments())])
    usual = {name: parameter.default for name, parameter in inspect.signature(evaluate_command).parameters.items()}
    from grounding.loaders.registry import layout_of

    layout = layout_of(dataset)
    if layout == "personalwab":
        from grounding.webagents.personalwab.entry import shop_from_eval

        return shop_from_eval(given, usual, command=command)
    if layout == "agenticshop":
        from grounding.webagents.agenticshop.entry import curation_from_eval

        return curation_from_eval(given, usual, command=command, open_finder=_finder)
    web = [name for name in WEB_NAMES if given[name] != usual[name]]
    runs = combine(given, EACH_NAMES, command=command)
    if web:
        what = "curated products, as in sample-mall" if web[0] in MALL_NAMES else "web agents, as in sample-shop"
        raise UserError(f"--{web[0].replace('_', '-')} is for {what}: leave it out for {dataset}")
    from grounding.loaders import is_desktop

    if is_desktop(dataset):
        from grounding.desktop.command import desktop_command

        if epochs != 1:
            raise UserError("--epochs repeats runs that answer with points, and this data set asks for actions")
        return desktop_command(runs, scoring=scoring, as_json=json, baseline=baseline, published=published)
    scoring = point_scoring(runs[0], scoring, published=published)
    if dry_run:
        from grounding.dryrun import dry_run_command
        from grounding.manyruns import fit_all

        if epochs != 1:
            from grounding.epochs import expand

            runs = expand(runs, epochs)
        return dry_run_command(fit_all(runs), as_json=json)
    if epochs != 1:
        from grounding.epochs import evaluate_epochs

        if baseline is not None:
            raise UserError("--baseline compares runs and --epochs repeats them: compare the folders afterwards")
        return evaluate_epochs(runs, epochs, as_json=json)
    if len(runs) > 1:
        from grounding.matrix import evaluate_matrix

        return evaluate_matrix(runs, scoring=scoring, as_json=json, baseline=baseline)
    if baseline is not None:
        raise UserError("--baseline compares runs, and this is one: give --planner, --plans or --grounder more values")
    from grounding.attended import INTERRUPTED
    from grounding.display import Progress
    from grounding.evaluation import evaluate
    from grounding.report.show import show_result

    result = evaluate(runs[0], Progress(display))
    return show_result(result, scoring=scoring, as_json=json, interrupted=result.info.stopped == INTERRUPTED)


def _finder(name: str, chat: ChatOptions, budget: Budget, on_retry: Callable[[], None]) -> PointFinder:
    from grounding.preparation import open_grounder

    return open_grounder(name, chat, budget, on_retry).grounder


def _arguments() -> list[str]:
    given = sys.argv[1:]
    return given[1:] if given[:1] == ["eval"] else given


def main() -> None:
    """Entry point of ``python -m grounding.eval``."""
    from grounding.cli import run

    run(["eval", *sys.argv[1:]])


if __name__ == "__main__":
    main()
