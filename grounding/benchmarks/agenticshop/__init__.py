"""AgenticShop: products curated for one user on the open web, judged against the user's checklist on kept evidence.

A user's need goes in, an agent names pages of products, each page is rendered and kept, and a judge says for every item
of the checklist whether the page shows it: construct, curate, extract, judge, score. ``records`` is the vocabulary.
"""
