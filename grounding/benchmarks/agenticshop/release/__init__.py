"""The layouts of AgenticShop's release, read and written: what its programs leave behind, and what they go on from."""
