"""Tuning a grounder on the clicks of other participants: examples, rewards and the two stages (SFT, GRPO)."""
