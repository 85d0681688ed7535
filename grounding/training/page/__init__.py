"""A training run as one page: ``report.html`` in its folder, and its curves as pictures for documents.

``reading`` reads a run folder, ``series`` thins and smooths what was measured, ``charts`` draws it as SVG in the page's
colours, ``gather`` puts together what a page shows (``content``), ``sections`` make HTML of it and ``page`` the file.
``curves`` draws PNG and SVG files.
"""
