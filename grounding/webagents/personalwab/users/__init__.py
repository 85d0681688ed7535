"""Simulated users of PersonalWAB's multi-turn track."""
