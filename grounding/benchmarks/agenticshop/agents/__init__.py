"""Agents: what may be known of a user's need in (a ShopperView), the pages of products that were chosen out."""
