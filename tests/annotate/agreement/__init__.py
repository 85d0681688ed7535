"""Tests of two annotators' agreement."""
