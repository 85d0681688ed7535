"""What of a card can change an answer, as canonical text: its hash keys stored answers and names runs."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from grounding.cards import ChatCard, Json

_NEVER_CHANGES_AN_ANSWER = frozenset(
    {
        "title",
        "aliases",
        "family",
        "serving",
        "endpoint",
        "price",
        "max_connections",
        "timeout_s",
        "takes",
        "refuses",
        "image_tokens",
        "output_tokens",
        "requests_per_minute",
        "tokens_per_minute",
        "retires",
        "successor",
        "published",
        "disagreements",
        "source",
        "notes",
        "action",
        "writes",
    }
)


def card_identity(card: ChatCard, *, leave_out: Collection[str] = (), **more: Json) -> str:
    """The card's model, prompt, image rule and reading rule as JSON with sorted names.

    Args:
        card: The card.
        leave_out: Fields that something in ``more`` says better.
        more: What else counts, such as the parameters that are really sent; it wins over the card's fields.
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
