"""A screen recording and what is said in it, cut into steps: one screenshot before each action, and its instruction."""
