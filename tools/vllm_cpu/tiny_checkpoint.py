"""Write a checkpoint of the Qwen2.5-VL architecture with a million random weights; vLLM serves it in under a minute.

    DIR/bin/python tools/vllm_cpu/tiny_checkpoint.py OUT       # DIR: the environment that install.py made

Processor, picture tokens and chat layout are those of the 7B model, so prompts, picture sizes and structured output
behave as with the real one. The weights come from a seed: answers are noise, though the same noise every time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>")
MARKS += ("<|image_pad|>", "<|video_pad|>", "<|box_start|>", "<|box_end|>")

# The layout of Qwen's own template: a default system text, and each picture as one pad between two vision marks.
TEMPLATE = """\
{%- if messages[0].role != 'system' %}<|im_start|>system
You are a helpful assistant.<|im_end|>
{% endif -%}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}
{%- for part in message.content -%}
{%- if part.type in ('image', 'image_url') -%}<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.text is defined -%}{{ part.text }}{%- endif -%}
{%- endfor -%}
{% endif %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif -%}
"""

# The usual initial weights are so small that the answer is the same whatever the picture and the words.
STRENGTH = 8.0

SIZES_TEXT = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,  # 64 wide each: the CPU attention kernels begin at 32.
    "num_key_value_heads": 1,
    "max_position_embeddings": 32768,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [8, 12, 12]},
}
SIZES_VISION = {
    "depth": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_heads": 4,
    "out_hidden_size": 128,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "window_size": 112,
    "fullatt_block_indexes": [1],
}


def write(out: Path, seed: int, *, windows_only: bool = False, strength: float = STRENGTH) -> None:
    """Write weights, tokenizer and processor into a folder.

    ``strength`` multiplies the usual initial weights; to be trained, a model wants less of it than to be asked.
    """
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    bytes_to_pieces = Tokenizer(models.BPE())
    bytes_to_pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_to_pieces.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=list(MARKS), initial_alphabet=alphabet)
    bytes_to_pieces.train_from_iterator(["open the second result and press the button (640, 360)"], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bytes_to_pieces,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(MARKS[1:]),
        chat_template=TEMPLATE,
    )
    number = tokenizer.convert_tokens_to_ids
    config = transformers.Qwen2_5_VLConfig(
        text_config={
            **SIZES_TEXT,
            "vocab_size": len(tokenizer),
            "bos_token_id": number("<|endoftext|>"),
            "eos_token_id": number("<|im_end|>"),
        },
        vision_config=SIZES_VISION | ({"fullatt_block_indexes": []} if windows_only else {}),
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
    )
    torch.manual_seed(seed)
    model = transformers.Qwen2_5_VLForConditionalGeneration(config)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.mul_(strength)
    model.to(torch.bfloat16).save_pretrained(out)
    transformers.Qwen2_5_VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(min_pixels=3136, max_pixels=12845056),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE,
    ).save_pretrained(out)


def main() -> None:
    """Read the options and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--windows-only",
        action="store_true",
        help="no attention over the whole picture, which takes most of the time: a 2560x1440 picture in a tenth of it",
    )
    given = parser.parse_args()
    write(given.out, given.seed, windows_only=given.windows_only)


if __name__ == "__main__":
    main()
