"""Agents of PersonalWAB: what is known of a task in, calls of web functions out."""
