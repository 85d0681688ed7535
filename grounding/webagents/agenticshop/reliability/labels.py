"""Files of people's labels: what the labelling page of a run saves. The format is fixed here.

One JSON file a person and run::

    {"format": "grounding-curation-labels.1", "annotator": "ann", "run_id": "…", "signature": "…",
     "seed": 0, "sample": 50, "pages": "product",
     "products": [{"product": "explicit_title/U1/0", "url": "https://…", "blind": true, "seconds": 81.5,
                   "labels": [{"item": "price_sensitivity/0", "text": "Costs at most 40", "label": "satisfied"}]}]}

==============  ======================================================================================================
``annotator``   who labels: 1 to 64 letters, digits, blanks, ``.``, ``_``, ``-`` or ``@``
``run_id``      the run whose page it was; ``signature`` is that run's
``seed``        the products are the first ``sample`` by `label_rank` of this seed and their id, out of ``pages``:
                ``product`` pages, pages that were ``fetched``, or ``all`` counted products
``url``         the address that was looked at: labels for another address than a run's are left out
``blind``       false where a verdict of a judge was on the screen while the product was labelled
``seconds``     time spent on the product; a pause longer than two minutes counts as two minutes
``text``        the item's words: labels for other words than the run's are left out
``label``       ``satisfied``, ``not-satisfied`` or ``cant-tell`` (the page does not say enough)
==============  ======================================================================================================
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from grounding.errors import UserError
from grounding.records import Record

FORMAT: Literal["grounding-curation-labels.1"] = "grounding-curation-labels.1"
LabelName = Literal["satisfied", "not-satisfied", "cant-tell"]
_ANNOTATOR = re.compile(r"[^\W]([\w .@-]{0,62}[\w.@-])?")
_MOST_BYTES = 64 << 20


class ItemLabel(Record, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """What a person says of one item."""

    item: str
    text: str
    label: LabelName


class ProductLabels(Record, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """What a person says of one product."""

    product: str
    url: str
    labels: tuple[ItemLabel, ...]
    blind: bool = True
    seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class LabelFile(Record, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """Everything that one person says of one run."""

    format: Literal["grounding-curation-labels.1"]
    annotator: str
    run_id: str
    signature: str
    seed: Annotated[int, msgspec.Meta(ge=0)]
    sample: Annotated[int, msgspec.Meta(ge=1)]
    pages: Literal["product", "fetched", "all"]
    products: tuple[ProductLabels, ...]


def read_label_file(path: Path) -> LabelFile:
    """Read one file.

    Raises:
        UserError: it can't be read, is none of labels, or says something twice; says the file and the field.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"--labels {path}: can't be read: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise UserError(f"--labels {path}: {len(content):,} bytes are too many for a file of labels")
    try:
        found = msgspec.json.decode(content, type=LabelFile)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `$.")
        field = f", field {where.rstrip('`')}" if where else ""
        raise UserError(f"--labels {path}{field}: {text}; expected what the page's `Save file` writes") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"--labels {path}: not JSON ({error}); expected what the page's `Save file` writes") from error
    if _ANNOTATOR.fullmatch(found.annotator) is None:
        raise UserError(
            f"--labels {path}, field annotator: {found.annotator[:80]!r}; expected 1 to 64 letters, digits, blanks, "
            "'.', '_', '-' or '@'"
        )
    seen: set[tuple[str, str]] = set()
    for product in found.products:
        for label in product.labels:
            if (product.product, label.item) in seen:
                raise UserError(f"--labels {path}: {product.product}, item {label.item} is labelled twice")
            seen.add((product.product, label.item))
    if not seen:
        raise UserError(f"--labels {path}: holds no label")
    return found


def label_rank(seed: int, product: str) -> int:
    """The place of a product in the order in which a seed draws: the smaller, the earlier; 32 bits.

    FNV-1a over the UTF-8 of ``SEED/PRODUCT``, then the last steps of MurmurHash3, as the page does it. Equal ranks
    (one in four thousand millions) stand by the product's id.

    >>> label_rank(0, "explicit_title/U1/0")
    3995802198
    """
    value = 0x811C9DC5
    for byte in f"{seed}/{product}".encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return value ^ value >> 16
