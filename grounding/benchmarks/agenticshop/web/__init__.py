"""The web as this room may see it: one installed Chromium behind a guard of our own, and pages kept as evidence.

``browser.WebBrowser`` is the door. All that a page causes goes through the guard (``guard``), which decides by the
rules of a ``WebPolicy``; what is shown is kept in an ``EvidenceFolder``. Importing this room loads no browser.
"""
