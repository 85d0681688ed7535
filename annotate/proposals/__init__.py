"""What the machine proposes to the annotator: widgets that it saw."""
