"""The only rooms that touch names Textual keeps private. Each use has a test that fails when Textual changes."""
