"""The face line by line (`--plain`): for screen readers, dumb terminals, and the terminal's own scrollback.

What is written stays: no cursor moves, nothing is drawn over, nothing is coloured. No Textual here.
"""
