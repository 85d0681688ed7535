"""Numbers drawn on a picture: boxes in, a picture with a numbered mark for each out.

What a box stands for is somebody else's matter: a region that was found on a screenshot (``grounders.som``), or an
element of a page in a browser (``webagents``).
"""
