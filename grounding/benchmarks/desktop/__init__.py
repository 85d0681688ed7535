"""Desktop tasks: an agent sees a screen, is told what it remembers, and says which of twelve actions it would do."""
