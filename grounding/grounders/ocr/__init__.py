"""The built-in grounder that reads the screen: no network, no graphics card, no key."""

from grounding.grounders.ocr.grounder import OcrGrounder

__all__ = ["OcrGrounder"]
