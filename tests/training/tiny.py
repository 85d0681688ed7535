"""The smallest shop and model that a training of PUMA can be made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.personalwab.shops import PRODUCTS, product_info, write_shop

from grounding.benchmarks.personalwab.prompts import product_text

WORDS = ("a kettle of steel", "boots for the rain", "a lamp", "tea that is green", "a quiet fan", "wool")


def write_training_shop(folder: Path) -> Path:
    """The small shop with a list ``train`` of three users, and their tasks of the test."""
    write_shop(folder)
    path = folder / "user_instructions.json"
    lists: dict[str, list[dict[str, Any]]] = json.loads(path.read_text())
    for user in ("u", "v", "w"):
        for place, words in enumerate(WORDS):
            kind = ("search", "recommend", "review")[place % 3]
            asin = f"B00{place}"
            lists["train"].append(
                {
                    "user_id": user,
                    "task": f"{kind} {words} for {user}",
                    "type": kind,
                    "timestamp": 5_000,
                    "target": {
                        "product_info": product_info(asin),
                        "review": {"rating": 5.0, "text": f"{user} likes {words}.", "timestamp": 5_000},
                    },
                }
            )
    path.write_text(json.dumps(lists))
    return folder


def write_model(folder: Path, *, seed: int = 0) -> Path:
    """A Llama of some ten thousand weights, with a tokenizer of bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    text: Any = Tokenizer(models.BPE())
    text.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    text.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "</s>", "<pad>"], initial_alphabet=alphabet, show_progress=False
    )
    text.train_from_iterator([product_text(one) for one in PRODUCTS.values()] + list(WORDS), trainer)
    text.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=text, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    torch.manual_seed(seed)
    model: Any = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=1024,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=2,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
