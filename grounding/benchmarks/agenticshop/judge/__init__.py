"""Judges: does a product satisfy each item of a user's checklist, and on what evidence does that rest?"""
