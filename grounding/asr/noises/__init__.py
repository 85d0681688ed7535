"""Where noise comes from: five noises of the toolkit's own, and folders of recordings in MS-SNSD's layout."""
