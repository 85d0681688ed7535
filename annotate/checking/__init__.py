"""What can be wrong with boxes and steps that were read without trouble."""
