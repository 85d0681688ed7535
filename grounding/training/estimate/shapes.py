"""The shape of a model as its ``config.json`` tells it: what every figure of an estimate is worked out from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Record

TowerKind = Literal["qwen2_vl", "qwen2_5_vl", "qwen3_vl"]

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Shape = TypeVar("_Shape", bound=Record)

_QWEN2_TEXT = ("qwen2", "qwen2_vl", "qwen2_5_vl")
_QWEN3_TEXT = ("qwen3", "qwen3_vl")
_LLAMA_TEXT = ("llama", "mistral")
_TOWERS: dict[str, TowerKind] = {"qwen2_vl": "qwen2_vl", "qwen2_5_vl": "qwen2_5_vl", "qwen3_vl": "qwen3_vl"}
KNOWN_TYPES = (*_LLAMA_TEXT, *_QWEN2_TEXT, *_QWEN3_TEXT)
"""The ``model_type`` of the configurations that can be read."""


class TextShape(Record, frozen=True, kw_only=True):
    """The language model. ``head_width`` is that of one head; ``kv_heads`` < ``heads`` is grouped-query attention.

    ``qkv_bias`` and ``out_bias`` say whether the attention's linear layers have a bias, ``mlp_bias`` the MLP's.
    ``qk_norm``: each head's query and key are normalised (Qwen3).
    """

    layers: _Positive
    width: _Positive
    inner: _Positive
    heads: _Positive
    kv_heads: _Positive
    head_width: _Positive
    vocabulary: _Positive
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False

    @property
    def query_width(self) -> int:
        """All heads' queries together."""
        return self.heads * self.head_width

    @property
    def key_width(self) -> int:
        """All heads' keys together, and the values' too."""
        return self.kv_heads * self.head_width


class VisionShape(Record, frozen=True, kw_only=True):
    """The vision tower. ``merge`` patches across and down become one token of ``out_width``.

    ``frames`` is how many copies of a picture make a patch (Qwen takes pictures as films of two). ``positions`` are
    learned ones (Qwen3-VL), ``deepstack`` the number of layers whose states go into the language model besides.
    ``whole_attention`` layers look at the whole picture, the others at windows of ``window_px`` (0: none do).
    """

    kind: TowerKind
    layers: _Positive
    width: _Positive
    inner: _Positive
    heads: _Positive
    out_width: _Positive
    patch_px: _Positive = 14
    merge: _Positive = 2
    frames: _Positive = 2
    channels: _Positive = 3
    positions: int = 0
    deepstack: int = 0
    whole_attention: int = 0
    window_px: int = 0

    @property
    def token_px(self) -> int:
        """Side of the square of pixels that becomes one token."""
        return self.patch_px * self.merge

    @property
    def patch_values(self) -> int:
        """Numbers of one patch as the processor hands it over."""
        return self.channels * self.frames * self.patch_px**2


class ModelShape(Record, frozen=True, kw_only=True):
    """A whole model. ``name`` is for showing only: a folder or an id."""

    name: str
    model_type: str
    text: TextShape
    vision: VisionShape | None = None


def read_shape(model: str | Path, *, name: str = "") -> ModelShape:
    """The shape of a checkpoint on this disk: ``model`` is its folder or its ``config.json``.

    Raises:
        UserError: there is no such file, or it isn't the configuration of a family that is known.
    """
    path = Path(model).expanduser()
    path = path / "config.json" if path.is_dir() else path
    try:
        config = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UserError(
            f"{path}: can't be read: {error.strerror}; give the folder of a checkpoint, which has a config.json"
        ) from error
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    return shape_from_config(config, name=name or str(path.parent), where=str(path))


def shape_from_config(config: Any, *, name: str, where: str = "config.json") -> ModelShape:
    """The shape that a parsed ``config.json`` describes, flat (as Qwen2-VL was published) or nested.

    Args:
        config: The parsed file.
        name: What the model is called.
        where: The file, for messages.

    Raises:
        UserError: the family is not known, or a size is missing or out of range.
    """
    kind = config.get("model_type") if isinstance(config, dict) else None
    if not isinstance(kind, str) or kind not in KNOWN_TYPES:
        raise UserError(
            f"{where}: the memory of a model of the type {kind!r} can't be worked out; known are "
            f"{', '.join(KNOWN_TYPES)}"
        )
    nested = config.get("text_config")
    text = nested if isinstance(nested, dict) else config
    try:
        tower = config.get("vision_config") if kind in _TOWERS else None
        return ModelShape(
            name=name,
            model_type=kind,
            text=_text(kind, text, tied=_tied(config, text)),
            vision=_vision(_TOWERS[kind], tower) if isinstance(tower, dict) else None,
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        what = f"lacks {error.args[0]}" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{where}: not a whole configuration of {kind}: {what}") from error


def _tied(config: dict[str, Any], text: dict[str, Any]) -> bool:
    """Whether the output layer is the embedding: said at the top, or (older files) with the language model."""
    return bool(config.get("tie_word_embeddings") or text.get("tie_word_embeddings"))


def _text(kind: str, text: dict[str, Any], *, tied: bool) -> TextShape:
    heads, width = int(text["num_attention_heads"]), int(text["hidden_size"])
    # Only some families read ``head_dim``; the default of Qwen3's is a number of its own.
    own_width = text.get("head_dim") if kind in (*_LLAMA_TEXT, *_QWEN3_TEXT) else None
    if own_width is None:
        own_width = 128 if kind in _QWEN3_TEXT else width // heads
    bias = kind in _QWEN2_TEXT or (kind != "mistral" and bool(text.get("attention_bias")))
    shape = TextShape(
        layers=int(text["num_hidden_layers"]),
        width=width,
        inner=int(text["intermediate_size"]),
        heads=heads,
        kv_heads=int(text.get("num_key_value_heads") or heads),
        head_width=int(own_width),
        vocabulary=int(text["vocab_size"]),
        tied=tied,
        qkv_bias=bias,
        out_bias=bias and kind not in _QWEN2_TEXT,
        mlp_bias=kind == "llama" and bool(text.get("mlp_bias")),
        qk_norm=kind in _QWEN3_TEXT,
    )
    return _checked(shape)


def _vision(kind: TowerKind, tower: dict[str, Any]) -> VisionShape:
    """The tower; what a file leaves out has the default of transformers' configuration class."""
    layers = int(tower.get("depth", 27 if kind == "qwen3_vl" else 32))
    shared: dict[str, Any] = {
        "kind": kind,
        "layers": layers,
        "heads": int(tower.get("num_heads", 16)),
        "patch_px": int(tower.get("patch_size", 16 if kind == "qwen3_vl" else 14)),
        "merge": int(tower.get("spatial_merge_size", 2)),
        "frames": int(tower.get("temporal_patch_size", 2)),
        "channels": int(tower.get("in_channels", 3)),
        "whole_attention": layers,
    }
    if kind == "qwen2_vl":
        width = int(tower.get("embed_dim", 1280))
        inner = int(width * float(tower.get("mlp_ratio", 4)))
        return _checked(VisionShape(**shared, width=width, inner=inner, out_width=int(tower.get("hidden_size", 3584))))
    out_width = int(tower.get("out_hidden_size", 3584))
    if kind == "qwen2_5_vl":
        listed = tower.get("fullatt_block_indexes", (7, 15, 23, 31))
        shared["whole_attention"] = len({int(index) for index in listed if int(index) < layers})
        return _checked(
            VisionShape(
                **shared,
                width=int(tower.get("hidden_size", 3584)),
                inner=int(tower.get("intermediate_size", 3420)),
                out_width=out_width,
                window_px=int(tower.get("window_size", 112)),
            )
        )
    return _checked(
        VisionShape(
            **shared,
            width=int(tower.get("hidden_size", 1152)),
            inner=int(tower.get("intermediate_size", 4304)),
            out_width=out_width,
            positions=int(tower.get("num_position_embeddings", 2304)),
            deepstack=len(tower.get("deepstack_visual_indexes", (8, 16, 24))),
        )
    )


def _checked(shape: _Shape) -> _Shape:
    """The same shape, held against the limits of its fields, which a constructor doesn't look at."""
    return msgspec.convert(msgspec.to_builtins(shape), type=type(shape))
