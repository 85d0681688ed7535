"""From a typed rule and what a page says to a verdict with its reason and the words that it rests on."""
