"""A small web to shop in: shops of a data set's own, served on this machine."""
