"""What the machine proposes to the annotator: text that it read, widgets that it saw, clicks that a model made.

A proposal is only shown; it becomes a box when the annotator takes it. See :mod:`annotate.proposals.finding` for where
proposals come from, :mod:`annotate.proposals.choosing` for which one is taken, :mod:`annotate.proposals.snapping` for
how a box is moved to the edges of what it is drawn around.
"""
