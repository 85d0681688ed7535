"""An agent that browses: a picture of the page with numbered elements to a chat model, its answer to the page, again.

``elements`` says what there is to click, ``observation`` shows it, ``prompts`` asks, ``grammar`` reads the answer,
``acting`` does it, ``limits`` ends it; ``pointing`` lets a grounder find what is described in words. ``agent`` is the
loop.
"""
