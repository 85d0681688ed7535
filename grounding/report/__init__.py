"""A run folder in, something for people out."""
