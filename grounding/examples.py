"""What people type: the examples at the end of ``grounding eval --help``."""

from __future__ import annotations

EXAMPLES = """
Examples:

```
# The bundled sample with the offline grounder, which needs no model
grounding eval

# A grounder on your own server, over your own data
grounding eval --dataset realwebassist --data-dir DATA \\
    --grounder gta1 --base-url http://127.0.0.1:8000/v1

# The pair of the paper, the planner at its vendor
grounding eval --planner o3 --grounder gta1 \\
    --base-url http://127.0.0.1:8000/v1

# Every planner with every grounder; each planner is asked once
grounding eval --planner o3 gpt-4o --grounder gta1 ui-tars

# What do plans change? The same grounder without and with them
grounding eval --planner none replay --plans plans.json

# Plans made earlier, answers recorded elsewhere
grounding eval --plans plans.json --predictions answers.jsonl

# What does speech recognition cost? The words as pocketsphinx hears them
grounding eval --transcript pocketsphinx@babble:10dB

# Desktop tasks: what is an agent's memory worth?
grounding eval --dataset sample-desktop --memory thought none

# Web functions called for one user: all plain memories, offline
grounding eval --dataset sample-shop --memory none random last relevant

# PUMA with a hosted model, in conversation with a simulated user
grounding eval --dataset personalwab --data-dir DATA --agent puma \\
    --model gpt-4o --track multi --user gpt-4o --cost-limit 20

# Products for twenty users out of four made-up shops, offline
grounding eval --dataset sample-mall

# The same pages before other judges
grounding eval --dataset sample-mall --judge rules gpt-6.1-sol
```
"""
