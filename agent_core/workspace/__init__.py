"""The files of a folder as they are found: walked, listed, searched, watched, shown."""
