"""Transcripts from speech: recognisers, noise at a chosen level, word error rate."""
