"""Images for a model and a terminal: taken in, scaled, kept beside drafts, refused with the reason."""
