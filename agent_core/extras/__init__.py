"""What a session has beside the built-in tools, each an `Extra` of ports/extras.py; the desk chooses them."""
