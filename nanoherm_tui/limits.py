"""Bounds of the screen alone, each with its reason. Those of the agent are in agent_core/limits.py."""

from typing import Final

KB: Final = 1024

THEME_FILE: Final = 64 * KB  # a theme is twenty lines; anything larger is another file

# -- composer and approval ---------------------------------------------------------------------------------------
COMPOSER_SHARE: Final = 3  # the draft grows to this part of the screen's height, then scrolls
PENDING_ROWS: Final = 3  # texts that wait, shown above the draft; the rest is counted
SLASH_ROWS: Final = 8  # commands offered at once
PASTE_GAP: Final = 0.008  # seconds; keys closer than this came in one read, no hand types them
PASTE_SETTLE: Final = 0.03  # seconds; after this long without a key a pasted burst is over
APPROVAL_ARM: Final = 0.5  # seconds without a key before a letter answers
APPROVAL_ALONE: Final = 0.12  # seconds; a letter that another key follows within was part of a word
APPROVAL_SHARE: Final = 2  # the panel takes at most this part of the screen's height, then scrolls
HISTORY_ENTRY: Final = 64 * KB  # a longer draft is a pasted file, not something to call up again
HISTORY_FILE: Final = 4096 * KB  # read at start; cut to half when it grows beyond
PAINTED_ROWS: Final = 400  # rows of a pane kept as painted: a few screens, a few KB each
WHEEL_ROWS: Final = 3  # a notch of the mouse wheel
WORD_DIFF_CHARS: Final = 400  # longer lines get no word marks: the comparison is quadratic
WORD_DIFF_LINES: Final = 60  # removed or added lines in a row; a larger rewrite has no words in common worth marking
HIGHLIGHT_LINES: Final = 100  # coloured at once when first seen, so that no painting takes longer than a frame or two
HIGHLIGHT_CHARS: Final = 2_000  # a longer line is data, not code
AGE_EVERY: Final = 30.0  # seconds between two looks at the ages in the session list
