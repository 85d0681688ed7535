"""The window in which a person corrects a cut: steps, the screen of each, what was said, and all of it over time."""
