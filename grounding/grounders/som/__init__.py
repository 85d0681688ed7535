"""Set-of-Mark: regions of a screenshot are numbered on it, and a chat model answers with a number.

``proposals`` says what a region is; ``widgets`` and ``sam`` find regions; ``labels`` and ``drawing`` put the numbers on
the picture; ``reply`` reads the answer; ``grounder`` does all of it for a step and ``kept`` stores what it was shown.
"""
