"""A run of PUMA: the shop divided, labels, SFT, candidates, pairs, DPO and the evaluations, one after the other.

Every step leaves its result in the run's folder and is passed over where it stands there already.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console

from grounding.atomic import flush_tree
from grounding.benchmarks.personalwab.agents.puma import FILE, Tokens, TrainedAs, folder_hash
from grounding.benchmarks.personalwab.benchmark import BENCHMARK, dataset_of, web_of
from grounding.benchmarks.personalwab.embeddings import cached_embeddings, needs
from grounding.benchmarks.personalwab.loader import TESTED, load_shop
from grounding.benchmarks.personalwab.options import ShopOptions
from grounding.benchmarks.personalwab.prompts import puma_prompts, shop_prompts
from grounding.benchmarks.personalwab.records import ShopDataset, ShopTask
from grounding.benchmarks.personalwab.rows import print_published_training
from grounding.benchmarks.personalwab.scoring import ShopScored
from grounding.benchmarks.personalwab.web import WebFunctions
from grounding.cards.tuned import checkpoint_sha256
from grounding.console import say
from grounding.errors import UserError
from grounding.grounders.hf.loading import from_hub, local_folder
from grounding.llm.chat import ChatOptions
from grounding.records import Record
from grounding.run.benchmark import Shared
from grounding.run.runner import INTERRUPTED, terminated_like_interrupted
from grounding.run.session import evaluate
from grounding.training.grounder import link, slug
from grounding.training.loop import free_memory
from grounding.training.options import PumaOptions
from grounding.training.preflight import stage_fits
from grounding.training.puma.data import Inputs, Labelled, PumaSplit, label_of, sft_examples, split_tasks, write_queries
from grounding.training.puma.pairs import Drawer, ResultScorer, candidate_batches, draw_candidates, make_pairs
from grounding.training.recipes import DpoStageRule, Precision, PumaRecipe, SftStageRule, read_recipe
from grounding.training.records import (
    METRICS,
    OUTPUT,
    AskedRun,
    TextExample,
    Trained,
    TrainingFolder,
    TrainStage,
    asked_run,
    common,
    devices_of,
    read_lines,
    write_record,
)
from grounding.training.results import BASE, TUNED, PumaSummary, print_run, write_page
from grounding.training.split import parse_hold_out
from grounding.training.stage import run_stage, spread_out
from grounding.training.trainers import load_model, load_tokenizer


@dataclass(frozen=True, kw_only=True)
class OpenedPuma:
    """What is trained, on what, and how. ``base`` is the folder of the base model, ``web`` the shop's functions. The
    ``shop`` holds the list ``train`` alone, and the web no product that only the test knows of.
    """

    options: PumaOptions
    recipe: PumaRecipe
    base: Path
    shop: ShopDataset
    web: WebFunctions
    split: PumaSplit
    run: AskedRun

    def tasks(self, ids: Sequence[str]) -> list[ShopTask]:
        by_id = {task.id: task for task in self.shop.tasks}
        return [by_id[id_] for id_ in ids]


def open_puma(model: str, options: PumaOptions, *, command: str = "") -> OpenedPuma:
    """Find and check everything. Downloads a base model that is not on this disk; writes nothing. Raises UserError:
    something is missing or wrong, or a split shares something; says what.
    """
    recipe, text = read_recipe(options.recipe, PumaRecipe, options.overrides)
    try:
        base = (local_folder(model) or from_hub(model)).resolve()
    except UserError as error:
        raise UserError(str(error).replace("--model-path", "--model")) from error
    asked_shop, shared = _shop(options, recipe, split="train", agent="rules"), Shared()
    shop = dataset_of(asked_shop, shared)
    test = load_shop(options.dataset, options.data_dir, splits=TESTED).tasks
    with needs("jsonschema"):
        web = web_of(asked_shop, shop, shared)
    split = split_tasks(
        shop.tasks,
        test,
        shop.users,
        share=recipe.held_out_users,
        seed=options.seed,
        test_users=[name for _, name in parse_hold_out(options.hold_out, ("user",))],
    )
    name = base.name if Path(model).is_dir() else model
    kept = f"; kept for the test: {', '.join(split.test_users)}" if split.test_users else ""
    users = len(split.held_out_users) + len(split.train_users)
    run = asked_run(
        (f"train-{slug(name)}", slug(shop.name), "puma"),
        recipe,
        text,
        options,
        command,
        kind="puma",
        devices=devices_of(options),
        card=name,
        identity=f"{checkpoint_sha256(base)}|{shop_prompts().label}|{puma_prompts().label}|{web.identity}",
        model=str(base) if Path(model).is_dir() else model,
        dataset=shop.name,
        fingerprint=shop.fingerprint,
        select=f"labels-model={options.labels_model}" if options.labels_model else "all",
        split=f"held out: {len(split.held_out_users)} of {users} users{kept}",
    )
    return OpenedPuma(options=options, recipe=recipe, base=base, shop=shop, web=web, split=split, run=run)


def stage_of(opened: OpenedPuma, recipe: PumaRecipe, method: Literal["sft", "dpo"], model: Path) -> TrainStage:
    rule = recipe.sft if method == "sft" else recipe.dpo
    assert rule is not None, "a recipe without DPO has no such stage"
    return TrainStage(
        **common(recipe, opened.options),
        name=method,
        method=method,
        model=str(model),
        optimisation=rule.optimisation,
        max_tokens=rule.max_tokens,
        beta=None if isinstance(rule, SftStageRule) else rule.beta,
    )


def evaluation_options(opened: OpenedPuma, name: str, model: Path) -> ShopOptions:
    """What ``grounding eval`` is asked for the base or the tuned model.

    Both are told what the recipe tells, and asked for the function too where the tuned one has learnt it; reviews are
    scored by the reading that candidates were scored by.
    """
    options, recipe = opened.options, opened.recipe
    return _shop(
        options,
        recipe,
        split="test",
        agent="puma-local",
        model_path=model,
        functions=None if name == TUNED and recipe.sft.train_on == "param" else Path("model"),
        memory_length=recipe.memory.length if recipe.memory.told else 0,
        memory_tokens=recipe.memory.tokens,
        participant=opened.split.test_users,
        limit=options.test_limit,
        seed=options.seed,
        log_dir=opened.run.path / "evaluation" / name,
        display=options.display,
        command=opened.run.info.command,
    )


def _shop(options: PumaOptions, recipe: PumaRecipe, **more: Any) -> ShopOptions:
    where = {name: getattr(options, name) for name in ("dataset", "data_dir", "search")}
    return ShopOptions(**where, preset=recipe.candidates.scoring, **more)


def print_opened(console: Console, opened: OpenedPuma) -> None:
    split = opened.split
    tested = "all its users" if not split.test_users else f"{len(split.test_users)} users that never train"
    lines = [
        f"{opened.run.info.asked.card} · {opened.shop.name} · recipe {opened.recipe.name}",
        f"train     {len(split.train)} instructions of {len(split.train_users)} users",
        f"held out  {len(split.held_out)} instructions of {len(split.held_out_users)} other users, for the preference",
        f"test      {split.tested} later instructions of {tested}",
    ]
    lines += [f"left out  {len(ids)} instructions that {why}" for why, ids in split.left_out.items() if ids]
    for words in lines:
        say(console, words)


def puma_fits(console: Console, opened: OpenedPuma) -> bool:
    def fits(method: Literal["sft", "dpo"]) -> bool:
        def make(overrides: Sequence[str]) -> TrainStage:
            recipe, _ = read_recipe(opened.options.recipe, PumaRecipe, overrides)
            return stage_of(opened, recipe, method, opened.base)

        most = make(opened.options.overrides).max_tokens or 0
        text = "b " * most
        longest = TextExample(prompt="a " * (most * 3 // 4), chosen=text, rejected=f"c{text}")
        examples = len(opened.split.train) * (2 if method == "sft" else 1)
        return stage_fits(console, make, longest, opened.options.overrides, examples)

    # Both are measured, whatever comes of the first.
    return all([fits("sft"), opened.recipe.dpo is None or fits("dpo")])


def count_cut(examples: Sequence[TextExample], count: Callable[[str], int], rule: SftStageRule) -> int:
    """How many examples lose the end of their label, with the token that ends it. Raises UserError: more than the
    recipe allows.
    """
    cut = sum(count(one.prompt + one.chosen) + 1 > rule.max_tokens for one in examples)
    if cut > rule.most_cut * len(examples):
        raise UserError(
            f"stage sft: {cut} of {len(examples)} examples are longer than sft.max_tokens ({rule.max_tokens}) "
            "and would lose the end of their label: raise it, or shorten memory.tokens, or allow a larger share "
            "with sft.most_cut"
        )
    return cut


def merge(base: str, output: Path, target: Path) -> Path:
    """Make a whole model of a stage's output, which may be one already; returns its folder.

    In float32, as the release's merge_save.py: in bfloat16 what norms and embeddings have learned would be lost.
    A merge that was broken off is made again; a finished one of the same parts is left as it is.
    """
    wanted = msgspec.json.encode({"base": base, "adapter": str(output)})
    done = target / "merged.json"
    if not (output / "adapter_config.json").is_file():
        return output
    if not done.is_file() or done.read_bytes() != wanted:
        from peft import PeftModel

        shutil.rmtree(target, ignore_errors=True)
        model: Any = PeftModel.from_pretrained(load_model(base, Precision(dtype="float32")), str(output))
        model.merge_and_unload().save_pretrained(target)
        load_tokenizer(base).save_pretrained(target)
        done.write_bytes(wanted)
    return target


def run_puma(opened: OpenedPuma) -> Trained[PumaSummary]:
    """Train and evaluate, or go on where it stopped; ``summary.json`` is written after every step of it. Raises
    UserError: another process is at work there, or something can't go on; what was done is kept.
    """
    with opened.run.begun({".": opened.split}) as folder:
        run = _Run(folder, opened)
        try:
            with terminated_like_interrupted():
                run.everything()
        except KeyboardInterrupt:
            run.note(stopped=INTERRUPTED)
        folder.change(status=run.summary.status, stopped=run.summary.stopped)
    write_page(folder.path)
    return Trained(folder=folder.path, info=folder.read_info(), summary=run.summary, evaluated=tuple(run.evaluated))


class _Run:
    def __init__(self, folder: TrainingFolder, opened: OpenedPuma) -> None:
        self._folder, self._opened, self._recipe = folder, opened, opened.recipe
        self._path, self._shared = folder.path.resolve(), Shared()
        self._train, self._held_out = opened.tasks(opened.split.train), opened.tasks(opened.split.held_out)
        self.evaluated: list[ShopScored] = []
        reading, signature = opened.recipe.candidates.scoring, opened.run.info.signature
        self.summary = PumaSummary(status="partial", signature=signature, reading=reading)

    def note(self, **fields: Any) -> None:
        self.summary = msgspec.structs.replace(self.summary, **fields)
        self._folder.write_summary(self.summary)

    def everything(self) -> None:
        """Labels, SFT, candidates, DPO, and the evaluation before and after."""
        opened, options, memory = self._opened, self._opened.options, self._recipe.memory
        inputs = Inputs(
            dataset=opened.shop,
            tokenizer=Tokens(load_tokenizer(str(opened.base))),
            embed=cached_embeddings(),
            length=memory.length,
            tokens=memory.tokens,
            told=memory.told,
        )
        labelled = Labelled(queries=None)
        if options.labels_model is not None:
            labelled = write_queries(
                self._path,
                options.labels_model,
                [*self._train, *self._held_out],
                inputs,
                chat=ChatOptions(base_url=" ".join(options.labels_base_url) or None, temperature=None),
                cost_limit=options.cost_limit,
                display=options.display,
            )
        self.note(labels_without=labelled.without, labels_cost_usd=labelled.cost_usd, stopped=labelled.stopped)
        products, rule = opened.shop.products, self._recipe.labels
        label = partial(label_of, inputs=inputs, products=products, rule=rule, queries=labelled.queries)
        if not options.no_evaluate and not self.summary.stopped:
            self._measure(BASE, opened.base)
        model = None if self.summary.stopped else self._trained(inputs, label)
        if model is None:
            return
        if not options.no_evaluate:
            self._measure(TUNED, model)
        if not self.summary.stopped and all(one.summary.status == "complete" for one in self.evaluated):
            self.note(status="complete")

    def _tell(self, words: str) -> None:
        if self._opened.options.display != "none":
            print(words, file=sys.stderr, flush=True)

    def _stage(
        self, method: Literal["sft", "dpo"], model: Path, rows: Sequence[Record], held_out: Sequence[Record]
    ) -> Path | None:
        folder, stage = self._path / "stages" / method, stage_of(self._opened, self._recipe, method, model)
        result = run_stage(folder, stage, rows, held_out, display=self._opened.options.display)
        self.note(stopped=result.stopped)
        return folder / OUTPUT if result.status == "complete" else None

    def _trained(self, inputs: Inputs, label: Callable[[ShopTask], str]) -> Path | None:
        """Take the model through its stages; without a pair to prefer it stays what the SFT made of it."""
        rule, base = self._recipe.sft, self._opened.base
        examples, held = (sft_examples(side, inputs, label, rule.train_on) for side in (self._train, self._held_out))
        self.note(examples=len(examples), cut=count_cut(examples, inputs.tokenizer.count, rule))
        output = self._stage("sft", base, examples, held)
        if output is None:
            return None
        tuned, output = merge(str(base), output, self._path / "stages" / "sft" / "merged"), None
        if self._recipe.dpo is not None:
            train, held_pairs, counts = self._paired(self._recipe.dpo, tuned, inputs, label)
            self.note(pairs=counts, held_out_pairs=len(held_pairs))
            if train:
                output = self._stage("dpo", tuned, train, held_pairs)
                if output is None:
                    return None
                metrics = read_lines(output.parent / METRICS, dict[str, Any])
                preferred = [one["rewards/accuracies"] for one in metrics if one["kind"] == "held_out"]
                self.note(preferred=preferred[-1] if preferred else None)
            else:
                self._tell("dpo: no pair has a better and a worse parameter; the model stays as it is")
        return self._finished(tuned, output)

    def _paired(
        self, dpo: DpoStageRule, tuned: Path, inputs: Inputs, label: Callable[[ShopTask], str]
    ) -> tuple[list[TextExample], tuple[Record, ...], dict[str, int]]:
        """Draw and score candidates of a tuned model: the pairs that train, those measured, and the counts of training.
        So many held-out pairs are measured as make whole batches: the trainer's share counts every batch alike.
        """
        rule, folder = self._recipe.candidates, self._path / "stages" / "dpo"
        folder.mkdir(parents=True, exist_ok=True)
        tasks = [*self._train, *self._held_out]
        prompts = [(task, prompt) for task in tasks if (prompt := inputs.parameter(task)) is not None]
        self._tell(f"drawing {rule.count} candidates of each of {len(prompts)} tasks")
        free_memory()
        drawn = draw_candidates(
            folder / "candidates.jsonl",
            candidate_batches(prompts, inputs.tokenizer.count, rule),
            lambda: Drawer(str(tuned), rule, self._recipe.precision),
            ResultScorer(self._opened.web, self._opened.shop.products, rule.scoring),
            rule,
            identity=folder_hash(tuned),
            seed=self._opened.options.seed,
            labels={task.id: label(task) for task in tasks} if rule.with_label else {},
            told=lambda done: self._tell(f"{done} of {len(prompts)} tasks have candidates"),
        )

        def prompt_of(task: ShopTask) -> str | None:
            return inputs.parameter(task, most_tokens=min(dpo.prompt_tokens, dpo.max_tokens - 1))

        (train, counts), (held, _) = (
            make_pairs([task for task in side if task.id in drawn], drawn, prompt_of)
            for side in (self._train, self._held_out)
        )
        most, batch = min(len(held), self._recipe.held_out.examples), self._recipe.held_out.batch
        return train, spread_out(held, most - most % batch if most > batch else most), counts

    def _finished(self, tuned: Path, output: Path | None) -> Path:
        """Write the model's folder; one that is there already is left as it is."""
        target, recipe = self._path / "model", self._recipe
        if (target / FILE).is_file():
            return target
        new = target.with_name(f".{target.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        whole = tuned if output is None else merge(str(tuned), output, new)
        if whole != new:
            new.mkdir(parents=True)
            for file in sorted(path for path in whole.iterdir() if path.is_file()):
                link(file, new / file.name)
            load_tokenizer(str(tuned)).save_pretrained(new)
        said = TrainedAs(
            variant=variant_of(recipe),
            memory_length=recipe.memory.length if recipe.memory.told else 0,
            memory_tokens=recipe.memory.tokens,
            predicts_functions=recipe.sft.train_on != "param",
            stages=("sft",) if output is None else ("sft", "dpo"),
            dataset=self._opened.shop.name,
            base=self._opened.run.info.asked.model,
            parameter_prompt="training",
        )
        write_record(new / FILE, said)
        flush_tree(new)
        shutil.rmtree(target, ignore_errors=True)
        new.replace(target)
        return target

    def _measure(self, name: str, model: Path) -> None:
        scored = evaluate(BENCHMARK, evaluation_options(self._opened, name, model), self._shared)
        self.evaluated.append(scored)
        figures = {**self.summary.figures, name: scored.summary.scores[self.summary.reading]}
        runs = {**self.summary.runs, name: scored.folder.resolve().relative_to(self._path).as_posix()}
        self.note(figures=figures, runs=runs, stopped=scored.info.stopped)


def variant_of(recipe: PumaRecipe) -> str:
    """The row of the paper's table 5 that a recipe makes."""
    if not recipe.memory.told:
        return "w/o Task-specific Memory"
    if recipe.sft.train_on == "function":
        return "w/o SFT"
    return "w/o DPO" if recipe.dpo is None else "PUMA"


def print_trained(console: Console, opened: OpenedPuma, trained: Trained[PumaSummary]) -> None:
    print_run(console, trained.folder)
    variant, own = variant_of(opened.recipe), trained.evaluated[1:]
    print_published_training(
        console,
        ablations=[(variant, one) for one in own],
        lengths=[(f"{opened.recipe.memory.tokens} tokens", one) for one in own if variant == "PUMA"],
    )
