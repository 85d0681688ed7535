"""Agents that call web functions; :data:`grounding.benchmarks.personalwab.options.AGENTS` has them by name."""
