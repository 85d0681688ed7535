"""A scripted annotator: a virtual screen, the real program on it, and a hand with a mouse and a keyboard."""
