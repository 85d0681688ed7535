"""Runs whose stages work on a Ray cluster (``--executor ray``); the process that the user started writes the run.

``cluster`` starts or reaches Ray and says how many workers there are to be, ``worker`` is the actor that opens a stage
and works through items, ``pool`` hands items out and takes records in.
"""
