"""A run as one page that needs no network: what a model clicked, where tasks end, and what people say of the misses.

``gather`` reads a run folder, ``content`` is what a page knows, ``pictures`` makes its small screenshots, ``plots`` its
diagrams from the numbers in ``figures``, and ``page`` the HTML. The steps of a run that ``size`` calls large go by
``streamed`` into files beside the page (``chunks``), which then holds an ``index`` of them. ``live`` and ``livelarge``
serve the same pages while a run goes on.
"""
