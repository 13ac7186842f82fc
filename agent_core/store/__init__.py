"""Sessions on disk: one SQLite file that is never behind what was shown."""
