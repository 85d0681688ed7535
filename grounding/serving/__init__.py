"""Start, wait for and stop model servers. Cards and options in, base URLs out; the servers end with this process."""
