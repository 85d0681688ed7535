"""The page of a run over a shop: ``report.html`` in its folder, which shows every episode."""
