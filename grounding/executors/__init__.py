"""Where planners and grounders do their work: in this process, or in workers on a Ray cluster.

One process writes: it holds the journals, the keys and the cost limit, and hands single queries to workers.
"""
