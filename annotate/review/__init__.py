"""Going through the misses of a run: what was right, what was planned, where the click went, and who is to blame.

What people say goes into ``labels.jsonl`` of the run's folder, the file that ``grounding view`` writes and
``grounding blame --labels`` reads; its format is fixed in :mod:`grounding.analysis.labels`.
"""
