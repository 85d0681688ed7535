"""Training on the same data, coordinates and scores as the evaluation (extra ``train``).

A grounder is tuned on other people's clicks (``grounder``), a web agent is aligned to its user (``puma``); both run
their stages through ``loop``, keep a run folder, and end in an adapter that the evaluation takes as it is.
"""
