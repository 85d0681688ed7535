"""Going through the misses of a run, and saying whose fault each was, in ``labels.jsonl`` of the run."""
