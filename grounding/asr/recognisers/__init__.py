"""The recognisers that come with the toolkit; ``grounding.asr.recogniser.open_recogniser`` opens one."""
