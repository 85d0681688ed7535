"""The one way to run a benchmark: what it has to say of itself, one run, and several runs as one command."""
