"""A tiny Whisper of random weights in openai-whisper's own file format: a dict of dimensions and a dict of weights."""

from __future__ import annotations

from pathlib import Path

MULTILINGUAL = 51865  # large-v3 and turbo have 128 mels and one more language.


def write_checkpoint(
    path: Path, *, vocabulary: int = MULTILINGUAL, mels: int = 80, seed: int = 0, text_tokens: int = 24
) -> Path:
    """Two layers of each kind; the vocabulary and the windows have their true sizes, as the package insists on.

    Half of ``text_tokens`` is the longest text of one window (448 in the published models): the noise that such a model
    says seldom ends by itself.
    """
    import torch
    from whisper.model import ModelDimensions, Whisper

    dimensions = ModelDimensions(
        n_mels=mels,
        n_audio_ctx=1500,
        n_audio_state=32,
        n_audio_head=2,
        n_audio_layer=2,
        n_vocab=vocabulary,
        n_text_ctx=text_tokens,
        n_text_state=32,
        n_text_head=2,
        n_text_layer=2,
    )
    torch.manual_seed(seed)
    model = Whisper(dimensions)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim > 1:
                # The usual beginning says the same whatever it hears, and goes on until the text is full.
                weights.normal_(0.0, 1.2 if "token_embedding" in name else 0.35)
            elif "positional" in name or weights.isnan().any():
                weights.zero_()
        model.decoder.positional_embedding.normal_(0.0, 0.3)
    torch.save({"dims": dimensions.__dict__, "model_state_dict": model.state_dict()}, path)
    return path
