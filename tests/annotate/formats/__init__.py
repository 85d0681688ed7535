"""Tests of the files in and out."""
