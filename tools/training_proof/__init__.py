"""Proofs that training works, on models small enough for a processor; see ``grounder`` and ``puma``."""
