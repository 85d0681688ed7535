"""The web functions of PersonalWAB: their schemas, the search, the recommender, and the web that carries calls out."""

from grounding.webagents.personalwab.functions.schemas import (
    Arguments,
    FunctionSchema,
    describe,
    read_arguments,
    schemas,
)
from grounding.webagents.personalwab.functions.web import WebFunctions

__all__ = ["Arguments", "FunctionSchema", "WebFunctions", "describe", "read_arguments", "schemas"]
