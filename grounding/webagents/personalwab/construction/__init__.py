"""Makes a shop from real reviews: users, products and what they wrote in; the release's layout of files out.

The paper's section 3.2 and appendix C, step by step: ``amazon`` and ``agenticshop`` read reviews and products,
``sampling`` draws users, ``splitting`` cuts their time lines, ``profiles`` and ``jobs`` say what is asked for and read
what comes, ``writers`` ask a chat model or follow rules, ``stages`` keep every answer, ``writing`` makes the files and
``build`` does all of it in order. ``consistency`` tells how well profiles fit their users.
"""
