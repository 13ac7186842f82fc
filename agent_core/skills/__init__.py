"""Skills: folders with a SKILL.md that say how something is done, found in a project and in the user's homes."""
