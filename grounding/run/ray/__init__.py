"""Runs whose stages work on a Ray cluster (``--executor ray``).

The process that the user started holds the run: its journals, its money, its keys. ``cluster`` starts or reaches Ray
and says how many workers there are to be, ``worker`` is the actor that opens a stage and works through items, ``pool``
hands items out and takes records in.
"""
