"""Tiny checkpoints of random weights in the layouts that are found on the hub; and pictures to show them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from fakes.make import REPOSITORY
from PIL import Image

POINTER_MARKS = ("<|recipient|>", "<|diff_marker|>", "<|pointer_start|>", "<|pointer_end|>", "<|pointer_pad|>")
WIDTH = 128


def tool() -> ModuleType:
    """The maintainer's script that writes a tiny Qwen2.5-VL checkpoint."""
    path = REPOSITORY / "tools" / "vllm_cpu" / "tiny_checkpoint.py"
    spec = importlib.util.spec_from_file_location("tiny_checkpoint", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_plain(folder: Path, seed: int = 0) -> Path:
    """A plain Qwen2.5-VL checkpoint, as transformers 5 saves it."""
    tool().write(folder, seed)
    return folder


def write_family(folder: Path, family: str, seed: int = 0) -> Path:
    """A plain checkpoint of a family: ``qwen2_vl``, ``qwen2_5_vl`` or ``qwen3_vl``, as transformers saves it."""
    import torch
    import transformers

    made = tool()
    tokenizer = _tokenizer(made)
    torch.manual_seed(seed)
    pictures: dict[str, Any] = {"min_pixels": 3136, "max_pixels": 12845056}
    if family == "qwen3_vl":
        pictures["patch_size"] = 16
        processor, model = transformers.Qwen3VLProcessor, transformers.Qwen3VLForConditionalGeneration
        videos = transformers.Qwen3VLVideoProcessor()
    else:
        names = {"qwen2_vl": "Qwen2VL", "qwen2_5_vl": "Qwen2_5_VL"}
        processor = getattr(transformers, f"{names[family]}Processor")
        model = getattr(transformers, f"{names[family]}ForConditionalGeneration")
        videos = transformers.Qwen2VLVideoProcessor()
    built = model(_config(made, family, tokenizer))
    with torch.no_grad():
        for weights in built.parameters():
            if weights.ndim > 1:
                weights.mul_(made.STRENGTH)
    built.save_pretrained(folder)
    processor(
        image_processor=transformers.Qwen2VLImageProcessor(**pictures),
        tokenizer=tokenizer,
        video_processor=videos,
        chat_template=made.TEMPLATE,
    ).save_pretrained(folder)
    return folder


def write_actor(folder: Path, base: str, head: dict[str, Any], seed: int = 0) -> Path:
    """A GUI-Actor checkpoint on ``qwen2_vl`` or ``qwen2_5_vl``, in the layout of the published ones.

    That is: two shards with an index, the head's weights beside Qwen's under the names of transformers 4.51, a flat
    config.json with the name of the authors' class, and the processor's settings in files of their own.
    """
    import torch
    import transformers
    from safetensors.torch import save_file

    made = tool()
    tokenizer = _tokenizer(made)
    torch.manual_seed(seed)
    config = _config(made, base, tokenizer)
    kinds = {
        "qwen2_vl": transformers.Qwen2VLForConditionalGeneration,
        "qwen2_5_vl": transformers.Qwen2_5_VLForConditionalGeneration,
    }
    model = kinds[base](config)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.mul_(4.0)
    folder.mkdir()
    model.save_pretrained(folder)
    (saved,) = folder.glob("*.safetensors")
    from safetensors.torch import load_file

    tensors = load_file(saved)
    assert any(name.startswith("visual.") for name in tensors), "the names of the hub's files"
    saved.unlink()
    tensors.update({f"multi_patch_pointer_head.{name}": tensor.contiguous() for name, tensor in head.items()})
    names = sorted(tensors)
    # The cut is within the head, so that it has to be read from both shards.
    cut = names.index("multi_patch_pointer_head.projection_enc.0.bias")
    shards = {"model-00001-of-00002.safetensors": names[:cut], "model-00002-of-00002.safetensors": names[cut:]}
    for shard, held in shards.items():
        save_file({name: tensors[name] for name in held}, folder / shard, metadata={"format": "pt"})
    weight_map = {name: shard for shard, held in shards.items() for name in held}
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    _write_flat_config(folder, base, tokenizer)
    _write_processor(folder, base, tokenizer)
    return folder


def _tokenizer(made: ModuleType) -> Any:
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    marks = [*made.MARKS, *POINTER_MARKS]
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=marks, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    pieces.train_from_iterator(["pyautogui.click on the button"], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=marks[1:],
    )


def _config(made: ModuleType, base: str, tokenizer: Any) -> Any:
    import transformers

    number = tokenizer.convert_tokens_to_ids
    shared = {
        "text_config": {**made.SIZES_TEXT, "vocab_size": len(tokenizer), "eos_token_id": number("<|im_end|>")},
        "image_token_id": number("<|image_pad|>"),
        "video_token_id": number("<|video_pad|>"),
        "vision_start_token_id": number("<|vision_start|>"),
        "vision_end_token_id": number("<|vision_end|>"),
        "tie_word_embeddings": False,
    }
    if base == "qwen2_5_vl":
        return transformers.Qwen2_5_VLConfig(vision_config=made.SIZES_VISION, **shared)
    if base == "qwen3_vl":
        vision = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": WIDTH}
        vision.update(patch_size=16, num_position_embeddings=64, deepstack_visual_indexes=[0])
        shared["text_config"]["head_dim"] = 64
        return transformers.Qwen3VLConfig(vision_config=vision, **shared)
    vision = {"depth": 2, "embed_dim": 64, "hidden_size": WIDTH, "num_heads": 4, "patch_size": 14}
    return transformers.Qwen2VLConfig(vision_config=vision, **shared)


def _write_flat_config(folder: Path, base: str, tokenizer: Any) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    text = config.pop("text_config")
    rope = text.pop("rope_parameters")
    text.pop("model_type")
    name = {"qwen2_vl": "Qwen2VL", "qwen2_5_vl": "Qwen2_5_VL"}[base]
    config.update(
        text,
        model_type=base,
        architectures=[f"{name}ForConditionalGenerationWithPointer"],
        rope_theta=rope["rope_theta"],
        rope_scaling={"type": "mrope", "mrope_section": rope["mrope_section"]},
        pointer_start_token_id=tokenizer.convert_tokens_to_ids("<|pointer_start|>"),
        pointer_end_token_id=tokenizer.convert_tokens_to_ids("<|pointer_end|>"),
        pointer_pad_token_id=tokenizer.convert_tokens_to_ids("<|pointer_pad|>"),
        transformers_version="4.51.3",
    )
    path.write_text(json.dumps(config), encoding="utf-8")


def _write_processor(folder: Path, base: str, tokenizer: Any) -> None:
    template = (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
        "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}"
        "{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    )
    tokenizer.save_pretrained(folder)
    name = {"qwen2_vl": "Qwen2VLProcessor", "qwen2_5_vl": "Qwen2_5_VLProcessor"}[base]
    settings = {
        "image_processor_type": "Qwen2VLImageProcessor",
        "processor_class": name,
        "min_pixels": 3136,
        "max_pixels": 12845056,
        "patch_size": 14,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_std": [0.26862954, 0.26130258, 0.27577711],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": template}), encoding="utf-8")


def random_head(seed: int, scale: float = 0.3) -> dict[str, Any]:
    """A pointer head of random weights; the layer norm's too."""
    import torch

    torch.manual_seed(seed)
    linear = ("projection_enc.0", "projection_enc.2", "projection_dec.0", "projection_dec.2", "self_attention.out_proj")
    names = [f"{name}.{kind}" for name in (*linear, "layer_norm") for kind in ("weight", "bias")]
    head = {}
    for name in (*names, "self_attention.in_proj_weight", "self_attention.in_proj_bias"):
        rows = 3 * WIDTH if "in_proj" in name else WIDTH
        flat = name.endswith("bias") or name.startswith("layer_norm")
        head[name] = torch.randn((rows,) if flat else (rows, WIDTH)) * scale
    return head


def marked_picture(path: Path, size: tuple[int, int], box: tuple[int, int, int, int]) -> Path:
    """One colour all over, and a rectangle of another."""
    image = Image.new("RGB", size, (20, 40, 60))
    image.paste((250, 200, 30), box)
    image.save(path)
    return path
