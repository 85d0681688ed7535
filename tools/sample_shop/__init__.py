"""Invents the bundled shop."""
