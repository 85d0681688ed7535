"""Searching a shop without a model: what to look for, where its search box is, which links are products, what fits.

``queries`` makes words of a need, ``boxes`` and ``cards`` find search boxes and results by the structure of a page,
``visiting`` does it in a browser, ``ranking`` compares what pages say with the need.
"""
