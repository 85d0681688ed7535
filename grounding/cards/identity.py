"""What of a card can change an answer, as canonical text: its hash keys stored answers and names runs."""

import re
from collections.abc import Collection
from pathlib import Path

import msgspec

from grounding.cards import ChatCard, Json
from grounding.records import Record

_NEVER_CHANGES_AN_ANSWER = frozenset(
    {
        *("title", "aliases", "extends", "family", "published", "disagreements", "source", "verified", "notes"),
        *("serving", "endpoint", "price", "max_connections", "timeout_s", "takes", "refuses", "retires", "successor"),
        *("image_tokens", "output_tokens", "requests_per_minute", "tokens_per_minute", "action", "writes", "zoom"),
    }
)


def card_identity(card: ChatCard, *, leave_out: Collection[str] = (), **more: Json) -> str:
    """The card's model, prompt, image rule and reading rule as JSON with sorted names. ``more`` is what else counts,
    such as the parameters that are really sent; it wins over the card's fields, and ``leave_out`` are fields that it
    says better.
    """
    unwanted = _NEVER_CHANGES_AN_ANSWER.union(leave_out)
    fields = {name: value for name, value in msgspec.to_builtins(card).items() if name not in unwanted}
    # A tuned model is what its weights are, wherever they lie.
    if card.adapter is not None:
        adapter = card.adapter
        fields["adapter"] = {"base": adapter.base, "base_sha256": adapter.base_sha256, "sha256": adapter.sha256}
        fields["adapter"]["revision"] = adapter.revision
    if card.weights is not None:
        fields["weights"] = card.weights.sha256
    return msgspec.json.encode({**fields, **more}, order="sorted").decode()


_HUB_REPOSITORY = re.compile(r"(?:datasets|models|spaces)--.+")


class HubFolder(Record, frozen=True, kw_only=True):
    """A folder inside a repository that holds several models; no server fetches it by a name of its own."""

    repository: str
    folder: str

    @property
    def download(self) -> str:
        return f"hf download {self.repository} --include '{self.folder}/*' --local-dir {self.local.split('/')[0]}"

    @property
    def local(self) -> str:
        return f"{self.repository.partition('/')[2]}/{self.folder}"


def hub_folder(model: str) -> HubFolder | None:
    """The folder that an id ``owner/repository/folder`` means; None for a plain id ``owner/repository`` and a path."""
    owner, _, rest = model.partition("/")
    repository, _, folder = rest.partition("/")
    if not owner or owner in (".", "..", "~") or not repository or not folder:
        return None
    return HubFolder(repository=f"{owner}/{repository}", folder=folder)


def hub_repository(folder: Path) -> Path | None:
    """The repository's folder in a Hugging Face hub client's cache that a folder is a snapshot of, or lies in one. A
    cache keeps each file once, in ``datasets--OWNER--NAME/blobs``; ``snapshots/REVISION`` beside it holds links.
    """
    real = folder.resolve()
    for above in real.parents:
        if above.name == "snapshots" and _HUB_REPOSITORY.fullmatch(above.parent.name):
            return above.parent
    return None
