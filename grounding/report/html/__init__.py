"""A run as one page that needs no network: what a model clicked, where tasks end, and what people say of the misses.

``gather`` reads a run's folder into what ``content`` says that a page knows, ``chunks`` takes the steps, ``pictures``
makes small screenshots, ``plots`` the diagrams, ``page`` the file. ``live`` serves the same pages while a run goes on,
with the figures that ``watch`` finds.
"""
