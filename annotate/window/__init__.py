"""The window of the annotation program: everything that needs tkinter, and nothing that decides what is in a file."""
