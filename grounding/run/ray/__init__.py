"""Runs whose stages work on a Ray cluster (``--executor ray``); the process that the user started writes them."""
