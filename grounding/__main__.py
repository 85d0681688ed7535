"""``python -m grounding``: the command ``grounding``."""

from grounding.cli import main

main()
