"""How far two annotators agree: on what a step is, on where its boxes are, and on what a click would hit."""
