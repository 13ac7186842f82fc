"""The terminal around the program: what it can do, what it is sent in how few bytes, what it answers."""
