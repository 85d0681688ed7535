"""PersonalWAB: an agent chooses a web function and fills it for one particular user."""
