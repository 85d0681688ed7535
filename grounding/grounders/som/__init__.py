"""Set-of-Mark: regions of a screenshot are numbered on it, and a chat model answers with a number.

``proposals`` says how regions are numbered; ``widgets`` and ``sam`` find them; :mod:`grounding.marks` puts the
numbers on the picture; ``reply`` reads the answer; ``grounder`` does all of it for a step and ``kept`` stores what it
was shown.
"""
