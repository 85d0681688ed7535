"""Write a checkpoint of the Whisper architecture with a few hundred thousand random weights, for a real vLLM server.

    DIR/bin/python tools/vllm_cpu/tiny_whisper.py OUT          # DIR: the environment that install.py made

Windows, mels and marks are those of the published models (99 languages, times of 0.02 s); the words are bytes. What it
says is noise, the same for the same seed. The layout is transformers'; openai-whisper has a format of its own.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

# The usual initial weights say the same whatever they hear.
STRENGTH = 8.0
WINDOW_S = 30.0
TIME_STEP_S = 0.02


def marks() -> list[str]:
    """The marks in the order in which the published vocabularies have them."""
    from transformers.models.whisper.tokenization_whisper import LANGUAGES

    tasks = ["<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    times = [f"<|{at * TIME_STEP_S:.2f}|>" for at in range(round(WINDOW_S / TIME_STEP_S) + 1)]
    languages = [f"<|{code}|>" for code in list(LANGUAGES)[:99]]
    return ["<|endoftext|>", "<|startoftranscript|>", *languages, *tasks, *times]


def write(out: Path, seed: int) -> None:
    """Write weights, tokenizer and feature extractor into a folder."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    pieces.train_from_iterator(["open the second result and press the button"], trainer)
    model = json.loads(pieces.to_str())["model"]
    vocabulary, special = dict(model["vocab"]), marks()
    for mark in special:
        vocabulary[mark] = len(vocabulary)
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in model["merges"]]
    tokenizer = transformers.WhisperTokenizer(vocab=vocabulary, merges=merges, language="english", task="transcribe")
    tokenizer.add_special_tokens({"additional_special_tokens": special[: special.index("<|0.00|>")]})
    tokenizer.add_tokens(special[special.index("<|0.00|>") :])
    end = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer),
        num_mel_bins=80,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,  # 32 wide each: the CPU attention kernels begin there.
        d_model=64,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        decoder_start_token_id=tokenizer.convert_tokens_to_ids("<|startoftranscript|>"),
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    torch.manual_seed(seed)
    whisper = transformers.WhisperForConditionalGeneration(config)
    with torch.no_grad():
        for name, weights in whisper.named_parameters():
            if weights.ndim > 1 and "positions" not in name:
                weights.mul_(STRENGTH)
    whisper.save_pretrained(out)
    transformers.WhisperProcessor(
        feature_extractor=transformers.WhisperFeatureExtractor(feature_size=80), tokenizer=tokenizer
    ).save_pretrained(out)


def main() -> None:
    """Read the options and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write(given.out, given.seed)


if __name__ == "__main__":
    main()
