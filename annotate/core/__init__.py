"""What an annotator's work is and how it is kept: steps, boxes, words, files. Knows no window and no other format."""
