"""What turns changed in files: kept, listed, undone and redone."""
