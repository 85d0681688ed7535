"""Set-of-Mark: regions of a screenshot are numbered on it, and a chat model answers with a number.

``boxes`` finds and numbers regions, ``sam`` finds them by a model; :mod:`grounding.grounders.marks` puts the numbers on
the picture; ``grounder`` does all of it for a step and keeps what it was shown.
"""
