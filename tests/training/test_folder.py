from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grounding.errors import UserError
from grounding.training.extras import needs_training, training_libraries
from grounding.training.folder import TrainingAsked, TrainingFolder, TrainingInfo, is_training_run
from grounding.training.loop.records import Launch, StageResult
from grounding.training.records import StageInfo
from grounding.training.signature import training_signature

ASKED = TrainingAsked(
    kind="grounder",
    card="gta1-7b-2507",
    identity="card and weights",
    model="HelloKKMe/GTA1-7B",
    dataset="sample|web",
    fingerprint="0123456789abcdef",
    select="all",
    split="participant 3",
    recipe_name="grpo-gta1",
    recipe="{}",
    seed=7,
    launch=Launch(),
    version="1.0",
)


def _info() -> TrainingInfo:
    return TrainingInfo(
        run_id="train-a_b_c",
        status="started",
        signature=training_signature(ASKED),
        asked=ASKED,
        stages=(StageInfo(name="sft", method="sft"), StageInfo(name="grpo", method="grpo")),
        data_dir="",
        command="grounding train grounder",
        versions={},
        started_at="2026-01-01T00:00:00Z",
    )


def test_a_folder_notes_how_far_its_stages_are(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path)
    folder.write_info(_info())
    assert is_training_run(tmp_path)
    result = StageResult(status="partial", step=3, steps=9, epoch=0.3, wall_s=12.5, output=None)
    noted = folder.note_stage("grpo", result)
    assert noted == folder.read_info()
    assert noted.stages == (
        StageInfo(name="sft", method="sft"),
        StageInfo(name="grpo", method="grpo", status="partial", step=3, steps=9, wall_s=12.5),
    )
    assert folder.stage_folder("grpo") == tmp_path / "stages" / "grpo"
    with pytest.raises(UserError, match="no stage dpo \\(it has sft, grpo\\)"):
        folder.note_stage("dpo", result)


def test_other_folders_are_no_training(tmp_path: Path) -> None:
    assert not is_training_run(tmp_path)
    (tmp_path / "run.json").write_text('{"benchmark": "personalwab"}')
    assert not is_training_run(tmp_path)
    with pytest.raises(UserError, match="not a description of a training run"):
        TrainingFolder(tmp_path).read_info()


def test_a_signature_tells_apart_what_trains_other_weights() -> None:
    signature = training_signature(ASKED)
    assert signature.startswith("training:training.1/grounder|dataset:sample/web@0123456789ab|base:gta1-7b-2507@")
    assert "|recipe:grpo-gta1@" in signature
    assert "|split:participant 3|select:all|devices:1|seed:7|version:1.0" in signature
    changed = {
        "kind": "puma",
        "card": "b",
        "identity": "other weights",
        "dataset": "b",
        "fingerprint": "f" * 16,
        "select": "limit=4",
        "split": "participant 4",
        "recipe_name": "b",
        "recipe": '{"beta": 1}',
        "seed": 8,
        "launch": Launch(processes=2),
        "version": "1.1",
    }
    assert set(changed) == set(TrainingAsked.__struct_fields__) - {"model"}
    signatures = {
        training_signature(msgspec.structs.replace(ASKED, **{name: value})) for name, value in changed.items()
    }
    assert len(signatures | {signature}) == len(changed) + 1
    spread = Launch(accelerate_config="/a/fsdp.yaml", accelerate_sha256="ab" * 32)
    moved = Launch(accelerate_config="/b/fsdp.yaml", accelerate_sha256="ab" * 32)
    assert "devices:config@abababab" in training_signature(msgspec.structs.replace(ASKED, launch=spread))
    assert training_signature(msgspec.structs.replace(ASKED, launch=spread)) == training_signature(
        msgspec.structs.replace(ASKED, launch=moved)
    )


def test_what_is_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    versions = {
        "torch": "2.13.0+cpu",
        "transformers": "5.19.0",
        "trl": "1.2.9",
        "datasets": "5.2.0",
        "peft": "0.21.2rc1",
    }

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr("grounding.training.extras.importlib.metadata.version", version)
    with pytest.raises(UserError) as caught:
        needs_training()
    text = str(caught.value)
    assert "trl is 1.2.9, 1.16 or later is needed" in text
    assert "accelerate is not installed" in text
    assert "pip install 'grounding[train]'" in text
    assert all(f"{name} " not in text for name in ("torch", "transformers", "peft", "datasets"))
    versions |= {name: "99.0" for name in training_libraries()}
    needs_training()
