"""Settings: one table of keys, the layers they come from, and changes that leave the rest of a file alone."""
