"""Does a card fit what its server answers? Asked of drawn screenshots before a run, or of a run's stored replies."""
