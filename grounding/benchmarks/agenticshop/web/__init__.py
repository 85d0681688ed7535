"""The web as this room may see it: one installed Chromium (``browser``) behind a guard that decides what may pass
(``guard``), and pages kept as evidence. Importing this room loads no browser.
"""
