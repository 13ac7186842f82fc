"""The seams with several implementations, and the data that crosses them, by subject."""
