"""Scores of desktop benchmarks: an agent's actions beside recorded ones, by PERCU's matcher and by its paper."""
