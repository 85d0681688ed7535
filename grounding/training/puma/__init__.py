"""PUMA (PersonalWAB, section 5): a causal language model aligned to a shop's users, by SFT and DPO over web functions.

Three kinds of data are made of a shop's training instructions: instruction and function; instruction, memory, function
and a heuristic parameter; and pairs of sampled parameters, the better one first, by what the web functions answer.
"""
