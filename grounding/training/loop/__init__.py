"""One stage of training, whatever is trained: arguments, checkpoints, the record of what happened, launching."""
