"""The desktop's action grammar: what a recorder or a model wrote in, one of twelve actions out, and back."""
