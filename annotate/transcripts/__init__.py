"""What was said: clips through a recogniser, texts beside their sound, corrections apart from the machine's."""
