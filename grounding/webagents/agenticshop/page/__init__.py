"""The page of a run over curated products: ``report.html`` in its folder, to look at and to label."""
