"""Data that lies elsewhere: read through fsspec into a folder of this machine's cache, then used like any other folder.

``address`` tells a URL from a path, ``option`` is the type of every ``--data-dir``, ``syncing`` makes the local folder
what the URL holds, ``pictures`` finds single screenshots for a worker on another machine.
"""
