"""A tiny Llama of random weights, with a tokenizer made of the sample shop's own words: a model small enough for a CPU.

``python -m tools.training_proof.tinyllama FOLDER`` makes one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grounding.benchmarks.personalwab.loader import load_shop
from grounding.benchmarks.personalwab.prompts import FUNCTION_OF, behaviour_text, puma_prompts, shop_prompts
from grounding.records import Record

MARKS = ("<unk>", "<s>", "</s>", "<pad>")


class Shape(Record, frozen=True, kw_only=True):
    """How large the model is. ``vocabulary`` is the most tokens that its tokenizer may have."""

    vocabulary: int = 1024
    hidden: int = 64
    intermediate: int = 128
    layers: int = 2
    heads: int = 4
    positions: int = 1024


def make_tiny_llama(folder: Path, *, seed: int = 0, shape: Shape | None = None, dataset: str = "sample-shop") -> int:
    """Write a model and its tokenizer into a folder; returns how many weights it has.

    The tokenizer (bytes and merged pairs of them) is trained on what the shop has in its history and its training
    instructions: the instructions of the test are never read.
    """
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    shape = shape or Shape()
    text: Any = Tokenizer(models.BPE(unk_token=None))
    # Words and the ids of products stay whole, with the blank before them: what is seen often is one token.
    words = pre_tokenizers.Split(Regex(r"[ ]?[\p{L}\p{N}'_-]+|[ ]?[^\s\p{L}\p{N}]|\s+"), "isolated")
    text.pre_tokenizer = pre_tokenizers.Sequence(
        [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    text.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=shape.vocabulary,
        special_tokens=list(MARKS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text.train_from_iterator(shop_texts(dataset), trainer)
    start = text.token_to_id("<s>")
    text.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", start)])
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=text, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    torch.manual_seed(seed)
    model: Any = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.hidden,
            intermediate_size=shape.intermediate,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.heads,
            max_position_embeddings=shape.positions,
            tie_word_embeddings=False,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return int(model.num_parameters())


def shop_texts(dataset: str) -> Iterator[str]:
    """What there is to read in a shop without its test: products, reviews, training instructions, the prompts."""
    shop = load_shop(dataset, splits=("train",))
    prompts = shop_prompts()
    for user in shop.users.values():
        for number, one in enumerate(user.behaviours):
            if one.split != "test":
                for template in (prompts.entry_search, prompts.entry_recommend, prompts.entry_review):
                    yield behaviour_text(template, number, one, shop.products[one.asin])
    for task in shop.tasks:
        yield task.instruction
        yield puma_prompts().function + FUNCTION_OF[task.type]
        yield prompts.puma_parameter


if __name__ == "__main__":
    print(f"{make_tiny_llama(Path(sys.argv[1])):,} weights")
