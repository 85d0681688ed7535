"""The making of the bundled mall."""
