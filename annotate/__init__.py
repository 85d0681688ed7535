"""The annotation program: boxes on screenshots, transcripts beside them, recordings cut into steps."""
