"""grounding: from a screenshot and a spoken instruction to a scored click."""

__version__ = "0.1.0"
