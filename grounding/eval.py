"""``python -m grounding.eval``: options to a run to the printed table. No logic of its own."""

from __future__ import annotations

import inspect
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from grounding.data.history import HistoryScope
from grounding.data.option import DataDir, without_secrets
from grounding.options import (
    Backend,
    ClusterChoice,
    DesktopScoringName,
    Display,
    Dtype,
    ExecutorName,
    ImageSend,
    MemoryKind,
    PromptStyle,
    ScoringName,
    ShopKind,
    ShopMemory,
    ShopSearch,
    ShopTrack,
    TaskKind,
)

EVAL_EXAMPLES = """
Examples:

```
# The bundled sample with the offline grounder, which needs no model
grounding eval

# A grounder on your own server, over your own data
grounding eval --dataset realwebassist --data-dir DATA \\
    --grounder gta1 --base-url http://127.0.0.1:8000/v1

# The pair of the paper, the planner at its vendor
grounding eval --planner o3 --grounder gta1 \\
    --base-url http://127.0.0.1:8000/v1

# Any models by their names and addresses, without cards of their own
grounding eval --planner my-org/vlm --planner-base-url https://HOST/v1 \\
    --grounder my-org/pointer@rel_1000 --base-url http://127.0.0.1:8000/v1

# Every planner with every grounder; each planner is asked once
grounding eval --planner o3 gpt-4o --grounder gta1 ui-tars

# What do plans change? The same grounder without and with them
grounding eval --planner none replay --plans plans.json

# Plans made earlier, answers recorded elsewhere
grounding eval --plans plans.json --predictions answers.jsonl

# What does speech recognition cost? The words as pocketsphinx hears them
grounding eval --transcript pocketsphinx@babble:10dB

# Desktop tasks: what is an agent's memory worth?
grounding eval --dataset sample-desktop --memory thought none

# Web functions called for one user: all plain memories, offline
grounding eval --dataset sample-shop --memory none random last relevant

# PUMA with a hosted model, in conversation with a simulated user
grounding eval --dataset personalwab --data-dir DATA --agent puma-chat \\
    --model gpt-4o --track multi --user gpt-4o --cost-limit 20

# Products for twenty users out of four made-up shops, offline
grounding eval --dataset sample-mall

# The same pages before other judges
grounding eval --dataset sample-mall --judge reference gpt-6.1-sol

# The models, prompts, extractor, judge and arithmetic of AgenticShop's release
grounding eval --dataset agenticshop --data-dir DIR --agent search --preset official --cost-limit 20
```
"""

_Several = Parameter(consume_multiple=True, negative="", show_default=False)

EACH = "each value is a run"  # Marks an option whose every value is a run of its own.
_CLUSTER = Parameter(group=Group("Past one process", sort_key=0))
_WEB = Parameter(group=Group("Web agents (personalwab, agenticshop)", sort_key=1))
_SHOP = Parameter(group=Group("Web functions (personalwab)", sort_key=2))
_MALL = Parameter(group=Group("Curated products (agenticshop)", sort_key=3))


def evaluate_command(
    *,
    dataset: str = "sample-web",
    data_dir: DataDir | None = None,
    planner: Annotated[tuple[str, ...], _Several, EACH] = ("none",),
    planner_prompt: str | None = None,
    planner_model: str | None = None,
    plan_ahead: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    grounder: Annotated[tuple[str, ...], _Several, EACH] = (),
    zoom: Annotated[tuple[str, ...], _Several, EACH] = ("none",),
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
    asr_base_url: str | None = None,
    noise_dir: Path | None = None,
    participant: Annotated[tuple[str, ...], _Several] = (),
    kind: TaskKind | ShopKind | None = None,
    memory: Annotated[tuple[MemoryKind | ShopMemory, ...], _Several, EACH] = ("thought",),
    style: PromptStyle = "percu",
    attempts: int | None = None,
    agent: Annotated[tuple[str, ...], _Several, EACH, _WEB] = (),
    model: Annotated[tuple[str, ...], _Several, EACH, _WEB] = (),
    track: Annotated[ShopTrack, _SHOP] = "single",
    memory_length: Annotated[int | None, _SHOP] = None,
    memory_tokens: Annotated[int | None, _SHOP] = None,
    max_steps: Annotated[int | None, _WEB] = None,
    user: Annotated[str | None, _SHOP] = None,
    user_base_url: Annotated[str | None, _SHOP] = None,
    functions: Annotated[Path | None, _SHOP] = None,
    search: Annotated[ShopSearch, _SHOP] = "bm25",
    preset: Annotated[ScoringName, _WEB] = "paper",
    split: Annotated[Literal["train", "test"], _SHOP] = "test",
    scenario: Annotated[tuple[str, ...], _Several, _MALL] = (),
    curations: Annotated[Path | None, _MALL] = None,
    extractor: Annotated[str, _MALL] = "structural",
    extractor_base_url: Annotated[str | None, _MALL] = None,
    extractions: Annotated[Path | None, _MALL] = None,
    judge: Annotated[tuple[str, ...], _Several, _MALL] = (),
    judge_base_url: Annotated[str | None, _MALL] = None,
    judge_prompt: Annotated[str | None, _MALL] = None,
    judgements: Annotated[Path | None, _MALL] = None,
    pages: Annotated[int | None, _MALL] = None,
    blocked_retries: Annotated[int, _MALL] = 0,
    browser_profile: Annotated[Path | None, _MALL] = None,
    max_seconds: Annotated[float | None, _MALL] = None,
    sample_id: Annotated[tuple[str, ...], _Several] = (),
    limit: int | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    max_connections: int | None = None,
    timeout: float | None = None,
    max_retries: int = 5,
    server_wait: float = 600.0,
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

    Below are the options for the data set that --dataset names beside --help: `sample-web` where none is named, or
    `sample-desktop` (actions), `sample-shop` (web functions), `sample-mall` (curated products).

    Args:
        dataset: Which data set; `grounding list datasets` shows them.
        data_dir: Where the data lie, for a data set that is not bundled: a folder, an archive (.zip, .tar.gz), or the
            URL of either (s3://, gs://, https://, zip::URL), or a data set of the Hugging Face hub (owner/name);
            what is elsewhere is fetched into the cache folder.
        planner: Who rewrites the instruction: `none` (default), `replay`, a card's name, a path to a card (.yaml), or
            any model by its name at --planner-base-url; `any` is the only one there. Several planners are run with
            every grounder, and each is asked once.
        planner_prompt: What a chat model is asked with: `official` (the released scripts' wording), `explicit` (one
            instruction made for grounders), or a path to a prompt (.yaml) [default: the card's own, else official].
        planner_model: The model's name at the planner's endpoint, instead of the card's.
        plan_ahead: Ask the planner once for each instruction, at its first step, for a list of all its actions.
        grounder: Who finds the place: `ocr` (default), `replay`, `center`, `random`, `oracle`, a card's name or a path,
            the folder of a model that `grounding train` tuned, or any model at --base-url as NAME@SPACE: `original_px`,
            `rel_1`, `rel_999` or `rel_1000` for what the numbers of its answers mean, which `grounding probe` tells.
            Several are run with every planner, one after the other. On desktop tasks an agent: `ocr-agent` (default),
            `replay`, `always-click-center`, `repeat-last`, `oracle`, a card's name or a path, or any model by its name
            at --base-url; see `grounding list agents`.
        zoom: Show the grounder a crop around its answer and ask again, as a recipe says: `half`, `gemini`, `seed`,
            `reground`, `iterative-narrowing`, `zoomclick`, a share of the screenshot (0.25), a size in pixels (1024,
            1280x720), or a path to a recipe (.yaml); without a value as the grounder's card says, else `half`. Several
            are several runs, of which `none` asks once.
        plans: Saved plans to replay, `{participant: {image number: text}}` (means --planner replay). Several files are
            several planners.
        plan_store: Where plans of chat models are kept for other runs, which then don't ask again; `none` to ask for
            every plan anew and keep none [default: plans in the user's cache folder for grounding].
        no_plan_store: The same as --plan-store none.
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
        history: How many earlier steps models are told of, where a prompt has a place for them [default: 10].
        history_scope: Whether the history reaches over the whole `session`, as in the released evaluator, or no further
            back than the step's own `task`.
        history_file: Which history file: a name in every participant's folder, whatever its case, or the path of a file
            that `grounding caption` wrote.
        questions: Which questions file, such as questions_Wlarge.json, or which instructions, as the data set's card
            says (cn of screenspot-pro, action of multimodal-mind2web).
        transcript: Where the words come from, instead of the true transcripts (`truth`): a recogniser that hears the
            recordings, with its options and in noise (`whisper:turbo,language=en`, `pocketsphinx@babble:10dB`), or
            recorded transcripts (`file:transcriptions_Wturbo.json`). `python -m grounding.asr --help` has more.
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
            `interecagent`, `puma`, `puma-chat`, `puma-local`, `oracle`; who curates products: `site-search` (default),
            `browsing`, `search`, `replay`, `agent-e`, `seeact`, `webvoyager`, `browser-use`, or your own as
            `FILE.py:NAME`; see `grounding list agents`. Several are run one after the other.
        model: The chat model of the agent: a card's name or path, as for --planner, or any model by its name at
            --base-url, which is its server. Beside `--grounder any@SPACE` the name of the grounder's. With --agent
            browsing and a --grounder, NAME=URL is the address of the grounder.
        track: One call (`single`), or a conversation with a user (`multi`).
        memory_length: How many purchases an agent is told of [default: 50, in a conversation 20, RecMind 400].
        memory_tokens: How long puma-local's text of them may be [default: any length].
        max_steps: How many moves an agent has [default: 10; browsing 30].
        user: Who plays the user: `scripted` (default), `human` for you at the terminal, or the card of a chat model.
        user_base_url: Its server, instead of the one in its card; any model is asked there by its name.
        functions: The functions that PUMA takes the instructions for, predicted elsewhere: a file as its
            function_res.json, which --agent puma needs (puma-chat asks its model instead); for puma-local also `model`
            or `words` [default: its own model where it was trained to name functions, else the words].
        search: How products are found: `bm25` as Lucene reckons it, or by meaning (`dense`).
        preset: As the paper describes the benchmark (for PersonalWAB with its prompts, figures 16 and 17), or as its
            release behaves (`official`): for PersonalWAB its prompts, 10 purchases told, its evaluator; for AgenticShop
            its models, extractor, judge and arithmetic.
        split: Whose instructions are run.
        scenario: Only users of these scenarios, such as explicit_title or home.
        curations: What an agent that is not run here found: a search_output.json, a CSV or JSON lines of task and url,
            an earlier run's curations.jsonl, or the folder of logs of --agent agent-e, seeact, webvoyager, browser-use.
        extractor: Who reads the products' pages: `structural` (no model), or the card of a chat model; NAME@official
            asks it as the release asks its own.
        extractor_base_url: Its server, instead of the one in its card; any model is asked there by its name.
        extractions: The folder of an earlier run, whose pages are judged instead of being opened again.
        judge: Who says which items of a checklist a product satisfies: `reference` (default), which needs no model and
            decides what can be read off a page, or cards of chat models; @no-info and @url-only behind a name show it
            less, @official asks it as the release asks its judge. Of several models shown the same, the majority
            counts; the reference checks each of them on what it can decide.
        judge_base_url: The judges' server, instead of the one in their cards; any models are asked there by name.
        judge_prompt: The name or path of another prompt for judges: `official` is the release's words for any chat
            model, without its web search [default: evidence].
        judgements: Verdicts from elsewhere: an earlier run's folder, or the release's eval_results.
        pages: How many pages are open at once [default: two for each processor, up to 8].
        blocked_retries: How often a page that asks whether we are human is asked for again, after a pause.
        browser_profile: Cookies and local storage of your own browser, which every page starts with: a file that
            `playwright open --save-storage=FILE URL` writes. It stays where it is; a run's folder has only its hash.
        max_seconds: How long the agent browsing may take for a task [default: 600].
        sample_id: Only these steps, such as 3/42.
        limit: Only the first so many scored steps.
        temperature: Sampling temperature [default: the card's].
        seed: Seed of the bootstrap, the random grounder and models that take one [default: 0].
        max_connections: Requests open at once at each address of a model [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        server_wait: Seconds to wait for a server that is away; then the run ends, and the same command goes on with it.
        cost_limit: US dollars that a run may cost in all, or all runs of this command together; it stops before and can
            go on with a higher limit.
        executor: Where models and agents work: in this process (`local`), or in workers on a Ray cluster (`ray`),
            which changes no answer. This process writes the run folder either way.
        workers: How many workers with --executor ray [default: one for each processor of the cluster, or for each
            server that is started].
        ray_address: A running cluster, such as 10.0.0.1:6379 or auto [default: RAY_ADDRESS, else one of this machine
            for each run].
        no_probe: Don't ask a chat grounder about a dozen drawn screenshots first, to see that its card fits.
        no_report: Don't write report.html, the page that shows every step, into the run folder.
        dry_run: Ask nobody and start no server: show what would be asked, how many tokens, dollars and minutes it would
            take and what is there already, and write the first requests out in full for reading.
        scoring: Which definition the table shows, paper, official, or strict for desktop tasks; summary.json has all.
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
    from grounding.report.html.written import write_runs_page
    from grounding.run.benchmark import benchmark_for
    from grounding.run.several import evaluate_command as run_command

    return run_command(benchmark_for(dataset), given, usual, command=command, write_page=write_runs_page)


def _arguments() -> list[str]:
    given = sys.argv[1:]
    return given[1:] if given[:1] == ["eval"] else given


def main() -> None:
    """Entry point of ``python -m grounding.eval``."""
    from grounding.cli import run

    run(["eval", *sys.argv[1:]])


if __name__ == "__main__":
    main()
