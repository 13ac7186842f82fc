"""Repositories: what they say, what has changed in them, and worktrees to work beside one another."""
