"""The built-in demo: a fixed script that plays the model's part, so that a newcomer sees the real tools at work."""
