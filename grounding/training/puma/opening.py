"""Options in, everything that a training of PUMA needs out: checked before anything is trained or written."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding import __version__
from grounding.errors import UserError
from grounding.records import Record
from grounding.runfolder import utc_now
from grounding.runid import library_versions, run_id
from grounding.training.adapters.cards import slug
from grounding.training.extras import training_libraries
from grounding.training.folder import TrainingAsked, TrainingInfo
from grounding.training.puma.asked import PumaTraining
from grounding.training.puma.models import base_folder
from grounding.training.puma.plan import VariantPlan, plan_variants, stage_infos
from grounding.training.puma.records import PumaRecipe
from grounding.training.puma.shop import LearntShop, open_learnt_shop
from grounding.training.puma.split import PumaSplit, split_tasks
from grounding.training.recipes import read_recipe
from grounding.training.signature import training_signature
from grounding.tuned import checkpoint_sha256
from grounding.webagents.personalwab.prompts import shop_prompts
from grounding.webagents.personalwab.pumaprompts import puma_prompts


class OpenedPuma(Record, frozen=True, kw_only=True):
    """What is trained, on what, and how. ``base`` is the folder of the base model, ``path`` that of the run."""

    asked: PumaTraining
    recipe: PumaRecipe
    recipe_text: str
    base: Path
    shop: LearntShop
    split: PumaSplit
    plans: tuple[VariantPlan, ...]
    path: Path
    info: TrainingInfo


def open_puma(asked: PumaTraining) -> OpenedPuma:
    """Find and check everything. Downloads a base model that is not on this disk; writes nothing.

    Raises:
        UserError: something is missing or wrong, or a split shares something; says what.
    """
    read = read_recipe(asked.recipe, PumaRecipe, asked.overrides)
    recipe = _with_labels(read.recipe, asked)
    base = base_folder(asked.model)
    shop = open_learnt_shop(
        asked.dataset,
        asked.data_dir,
        search=asked.search,
        search_index=asked.search_index,
        scoring=recipe.candidates.scoring,
    )
    split = split_tasks(
        shop.dataset.tasks,
        shop.test,
        shop.dataset.users,
        share=recipe.held_out_users,
        seed=asked.seed,
        test_users=asked.test_users,
        shared=asked.shared,
    )
    plans = plan_variants(recipe)
    name = base.name if Path(asked.model).is_dir() else asked.model
    told = TrainingAsked(
        kind="puma",
        card=name,
        identity=f"{checkpoint_sha256(base)}|{shop_prompts().label}|{puma_prompts().label}|{shop.functions.identity}",
        model=asked.model if not Path(asked.model).is_dir() else str(base),
        dataset=shop.dataset.name,
        fingerprint=shop.dataset.fingerprint,
        select=f"labels-model={asked.labels_model}" if asked.labels_model else "all",
        split=split_words(split),
        recipe_name=recipe.name,
        recipe=msgspec.json.encode(recipe, order="sorted").decode(),
        seed=asked.seed,
        launch=asked.launch,
        version=__version__,
    )
    what = plans[0].name if len(plans) == 1 else f"{len(plans)}-models"
    identifier = run_id(told, (f"train-{slug(name)}", slug(shop.dataset.name), f"puma-{what}"))
    info = TrainingInfo(
        run_id=identifier,
        status="started",
        signature=training_signature(told),
        asked=told,
        stages=stage_infos(plans),
        data_dir=str(asked.data_dir or ""),
        command=asked.command,
        versions=library_versions((*training_libraries(), "bm25s", "sentence-transformers")),
        started_at=utc_now(),
    )
    return OpenedPuma(
        asked=asked,
        recipe=recipe,
        recipe_text=read.text,
        base=base,
        shop=shop,
        split=split,
        plans=plans,
        path=asked.log_dir / identifier,
        info=info,
    )


def split_words(split: PumaSplit) -> str:
    """The split in words, with what tells it from others."""
    kept = f"; kept for the test: {', '.join(split.test_users)}" if split.test_users else ""
    return f"held out: {len(split.held_out_users)} of {len(split.held_out_users) + len(split.train_users)} users{kept}"


def _with_labels(recipe: PumaRecipe, asked: PumaTraining) -> PumaRecipe:
    """The recipe with the labels that the options ask for."""
    if asked.labels_model is not None:
        return msgspec.structs.replace(recipe, labels=msgspec.structs.replace(recipe.labels, search="model"))
    if recipe.labels.search == "model":
        raise UserError(
            f"recipe {recipe.name}: a chat model writes its search labels: name one with --labels-model gpt-4o-mini, "
            "say, or make them of words with --set labels.search=words"
        )
    return recipe
