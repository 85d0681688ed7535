"""Benchmarks that are not clicks: web functions called for one user, products curated for one."""
