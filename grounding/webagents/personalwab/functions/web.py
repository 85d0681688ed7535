"""The web that an agent acts on: calls in, observations out, never an exception for what an agent wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grounding.webagents.personalwab.functions.recommend import Recommender
from grounding.webagents.personalwab.functions.schemas import find_schema, named_arguments, read_arguments
from grounding.webagents.personalwab.functions.search import ProductSearch
from grounding.webagents.personalwab.functions.texts import product_text, result_text
from grounding.webagents.personalwab.records import FunctionCall, Observation, ObservationError, Product

REVIEW_POSTED = "The review has been added."
STOPPED = "The task has been ended."
NOTHING_FOUND = "[]"
"""An empty list of results, as the release prints it to the model."""

MAX_CALL_CHARS = 300


class WebFunctions:
    """The functions of one shop. ``identity`` is canonical text of all that can change an observation.

    Safe for use by many episodes at once: nothing that an agent does changes the shop.
    """

    def __init__(
        self, products: Mapping[str, Product], search: ProductSearch, recommender: Recommender, *, results: int = 10
    ) -> None:
        self._products = products
        self._search = search
        self._recommender = recommender
        self._results = results
        self.identity = f"{search.identity}|{recommender.identity}|{results}"

    def call(self, call: FunctionCall, *, allowed: Sequence[str]) -> Observation:
        """Carry out a call of the web; ``respond`` and ``stop`` change nothing here.

        Args:
            call: What the agent wrote.
            allowed: The functions that it was offered.
        """
        schema = find_schema(call.name)
        if schema is None:
            return _wrong("unknown-function", f"Unknown action {call.name[:MAX_CALL_CHARS]}")
        if schema.name not in allowed:
            return _wrong("not-allowed", f"Error: {schema.name} is not available in this task")
        arguments = read_arguments(schema.name, call.arguments)
        if not arguments.is_json:
            return _wrong("bad-json", f"Error: {arguments.problem}")
        carried_out = self._carry_out(schema.name, arguments.values)
        if carried_out is None:
            return _wrong("bad-arguments", f"Error: {schema.name}: {arguments.problem}")
        return Observation(
            text=carried_out.text,
            asins=carried_out.asins,
            error=carried_out.error,
            schema_valid=arguments.valid,
        )

    def _carry_out(self, name: str, values: Mapping[str, Any]) -> Observation | None:
        """What comes of it; None where an argument is missing, unknown or of another kind.

        As in the release, a sequence that is a string is one of no known product: carried out, and against the schema.
        """
        if set(values) - set(named_arguments(name)):
            return None
        match name:
            case "search_product_by_query":
                query = values.get("query")
                return self._listed(self._search.search(query, self._results)) if isinstance(query, str) else None
            case "get_recommendations_by_history":
                sequence = values.get("product_sequence")
                if not isinstance(sequence, list | str):
                    return None
                known = [asin for asin in sequence if isinstance(asin, str)]
                return self._listed(self._recommender.recommend(known, self._results))
            case "add_product_review":
                return Observation(text=REVIEW_POSTED) if isinstance(values.get("review"), str) else None
            case "get_product_details_by_asin":
                return self._details(values.get("asin"))
            case "stop":
                return Observation(text=STOPPED)
        return Observation(text="") if isinstance(values.get("content"), str) else None

    def _listed(self, asins: Sequence[str]) -> Observation:
        there = tuple(asin for asin in asins if asin in self._products)
        if not there:
            return Observation(text=NOTHING_FOUND)
        text = "".join(result_text(index, self._products[asin]) for index, asin in enumerate(there))
        return Observation(text=text, asins=there)

    def _details(self, asin: object) -> Observation | None:
        if not isinstance(asin, str):
            return None
        product = self._products.get(asin)
        if product is None:
            return _wrong("unknown-product", f"Error: there is no product {asin[:MAX_CALL_CHARS]}")
        return Observation(text=product_text(product), asins=(asin,))


def _wrong(error: ObservationError, text: str) -> Observation:
    return Observation(text=text, error=error, schema_valid=error == "unknown-product")
