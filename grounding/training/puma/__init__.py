"""PUMA (PersonalWAB, section 5): a causal language model aligned to a shop's users, by SFT and DPO."""
