"""Options in, everything that a training needs out: checked before anything is trained or written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from grounding import __version__
from grounding.cards import GrounderCard, find_card
from grounding.errors import UserError
from grounding.grounders import BUILTIN
from grounding.grounders.hf.checkpoints import fetch, local_folder
from grounding.grounders.hf.options import HfOptions
from grounding.identity import card_identity
from grounding.places import models_dir
from grounding.records import Dataset, Record
from grounding.runfolder import utc_now
from grounding.runid import library_versions, run_id
from grounding.training.adapters.cards import slug
from grounding.training.extras import training_libraries
from grounding.training.folder import TrainingAsked, TrainingInfo
from grounding.training.grounder.asked import GrounderTraining
from grounding.training.grounder.examples import prepare, trained_card
from grounding.training.grounder.recipe import stage_methods
from grounding.training.grounder.records import GrounderRecipe, Prepared
from grounding.training.grounder.split import HeldOut, Split, leave_one_out, make_split
from grounding.training.grounder.stages import check_card
from grounding.training.recipes import read_recipe
from grounding.training.records import StageInfo
from grounding.training.signature import training_signature
from grounding.tuned import checkpoint_sha256

LEAVE_ONE_OUT = "leave-one-out"
FOLDS = "folds"


class OpenedFold(Record, frozen=True, kw_only=True):
    """One split with its examples, and how its folder describes it; ``path`` is that folder."""

    name: str
    path: Path
    split: Split
    train: Prepared
    test: Prepared
    info: TrainingInfo


class OpenedTraining(Record, frozen=True, kw_only=True):
    """What is trained, on what, and how.

    ``card`` is the asked card and ``trained`` the one whose prompt is trained, with a place for the history.
    ``checkpoint`` is the folder of the weights, ``checkpoint_named`` where a tuned card finds them again.
    ``recipe_text`` is what the run keeps of the recipe. A training that leaves one out has ``info`` and a folder of its
    own above those of its folds, any other is its only fold.
    """

    asked: GrounderTraining
    card: GrounderCard
    trained: GrounderCard
    checkpoint: Path
    checkpoint_named: str
    base_sha256: str
    recipe: GrounderRecipe
    recipe_text: str
    dataset: Dataset
    path: Path
    info: TrainingInfo
    folds: tuple[OpenedFold, ...]

    @property
    def is_many(self) -> bool:
        """Whether the folds lie in folders below the run's own."""
        return self.asked.leave_one_out is not None


def open_training(asked: GrounderTraining, load: Callable[..., Dataset], *, weights: bool = True) -> OpenedTraining:
    """Find and check everything. Downloads weights where they are not on this disk; writes nothing.

    Args:
        asked: What is asked for.
        load: Reads the data set: ``grounding.loaders.load_dataset``.
        weights: Whether the weights must be there; without them the run's name is another.

    Raises:
        UserError: something is missing or wrong, or a split shares something; says what.
    """
    card = find_card(asked.card, models_dir() / "grounders", GrounderCard, builtin=tuple(BUILTIN), kind="grounder")
    check_card(card)
    read = read_recipe(asked.recipe, GrounderRecipe, asked.overrides)
    recipe = read.recipe
    methods = stage_methods(recipe)
    if asked.backend == "server" and card.adapter is not None:
        raise UserError(
            f"--backend server: {asked.card} is an adapter that is tuned on, and its server has no place for both: "
            "leave it out"
        )
    dataset = load(
        asked.dataset,
        asked.data_dir,
        questions=asked.questions,
        history=(asked.history_file or "auto") if recipe.history else None,
    )
    splits = _splits(asked, dataset)
    checkpoint = _fetched(card, asked.model, weights=weights)
    wanted = asked.model or card.checkpoint
    named = wanted if local_folder(wanted) is None else str(checkpoint.resolve())
    base_sha256 = checkpoint_sha256(checkpoint)
    trained = trained_card(card, history=recipe.history, form=recipe.history_form)
    common = TrainingAsked(
        kind="grounder",
        card=card.name,
        identity=card_identity(trained, checkpoint=base_sha256),
        # The identity says which weights they are; where they lie makes no other run.
        model=card.model if asked.model is None or local_folder(asked.model) is not None else asked.model,
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        select=_select(asked),
        split=LEAVE_ONE_OUT,
        recipe_name=recipe.name,
        recipe=msgspec.json.encode(recipe, order="sorted").decode(),
        seed=asked.seed,
        launch=asked.launch,
        version=__version__,
    )
    stages = tuple(StageInfo(name=method, method=method) for method in methods)
    many = asked.leave_one_out is not None
    what = LEAVE_ONE_OUT if many else f"without-{splits[0][0]}"
    whole = msgspec.structs.replace(common, split=f"{LEAVE_ONE_OUT} participant" if many else splits[0][1].text)
    whole_id = run_id(whole, (f"train-{slug(card.name)}", slug(dataset.name), what))
    path = asked.log_dir / whole_id
    info = _info(asked, whole, whole_id, () if many else stages)
    folds = []
    for name, split in splits:
        if many:
            of_fold = msgspec.structs.replace(common, split=split.text)
            fold_info = _info(asked, of_fold, f"{whole_id}/{FOLDS}/{name}", stages)
        else:
            fold_info = info
        folds.append(
            OpenedFold(
                name=name,
                path=path / FOLDS / name if many else path,
                split=split,
                train=prepare(dataset.sessions, split.train.step_ids, trained, recipe),
                test=prepare(dataset.sessions, split.test.step_ids, trained, recipe),
                info=fold_info,
            )
        )
    return OpenedTraining(
        asked=asked,
        card=card,
        trained=trained,
        checkpoint=checkpoint,
        checkpoint_named=named,
        base_sha256=base_sha256,
        recipe=recipe,
        recipe_text=read.text,
        dataset=dataset,
        path=path,
        info=info,
        folds=tuple(folds),
    )


def _fetched(card: GrounderCard, model: str | None, *, weights: bool) -> Path:
    try:
        if model is not None:
            local_folder(model)
        return fetch(card, HfOptions(model_path=model or ""), weights=weights)
    except UserError as error:
        raise UserError(str(error).replace("--model-path", "--model")) from error


def _splits(asked: GrounderTraining, dataset: Dataset) -> tuple[tuple[str, Split], ...]:
    """Every split with a name of its own that may be a folder's."""
    found: dict[str, Split] = {}
    for held_out in _wanted(asked, dataset):
        name = words = slug("_".join(f"{held.kind}-{held.name}" for held in held_out))
        number = 1
        while name in found:
            number += 1
            name = f"{words}.{number}"
        found[name] = _split(asked, dataset, held_out)
    return tuple(found.items())


def _wanted(asked: GrounderTraining, dataset: Dataset) -> tuple[tuple[HeldOut, ...], ...]:
    if asked.leave_one_out is not None:
        if asked.held_out:
            raise UserError("--hold-out names one split and --leave-one-out makes them all: give one of them")
        return leave_one_out(dataset.sessions)
    return (asked.held_out,)


def _split(asked: GrounderTraining, dataset: Dataset, held_out: tuple[HeldOut, ...]) -> Split:
    return make_split(
        dataset.sessions,
        held_out,
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        shared_screenshots=asked.shared_screenshots,
        shared_tasks=asked.shared_tasks,
        limit=asked.limit,
        test_limit=asked.test_limit,
    )


def _select(asked: GrounderTraining) -> str:
    """Which part of the data is used, besides what is held out: all that the user said of it."""
    words = [
        f"questions={asked.questions}" if asked.questions else "",
        f"history-file={asked.history_file}" if asked.history_file else "",
        f"limit={asked.limit}" if asked.limit is not None else "",
        f"test-limit={asked.test_limit}" if asked.test_limit is not None else "",
        "shared-tasks=drop" if asked.shared_tasks == "drop" else "",
        "shared-screenshots=drop" if asked.shared_screenshots == "drop" else "",
    ]
    return ";".join(word for word in words if word) or "all"


def _info(asked: GrounderTraining, told: TrainingAsked, identifier: str, stages: tuple[StageInfo, ...]) -> TrainingInfo:
    return TrainingInfo(
        run_id=identifier,
        status="started",
        signature=training_signature(told),
        asked=told,
        stages=stages,
        data_dir=str(asked.data_dir or ""),
        command=asked.command,
        versions=library_versions(training_libraries()),
        started_at=utc_now(),
    )
