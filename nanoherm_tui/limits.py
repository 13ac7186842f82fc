"""Bounds of the screen alone, each with its reason. Those of the agent are in agent_core/limits.py."""

from typing import Final

KB: Final = 1024

THEME_FILE: Final = 64 * KB  # a theme is twenty lines; anything larger is another file
THEME_FILES: Final = 100  # of a user's folder; more could not be chosen from, and all are read at start
THEME_LOOK: Final = 2.0  # seconds between two looks at the themes folder while it tells no change: missing, or a share
THEME_STEP: Final = 0.2  # seconds; how soon a saved theme is seen, and how long several changes are gathered
THEME_SETTLE: Final = 0.5  # seconds; a broken file that is younger may be half written

# -- composer and approval ---------------------------------------------------------------------------------------
COMPOSER_SHARE: Final = 3  # the draft grows to this part of the screen's height, then scrolls
PENDING_ROWS: Final = 3  # texts that wait, shown above the draft; the rest is counted
PENDING_HIGH: Final = 30  # rows of the screen under which they take two: a question and its field want the others
SLASH_ROWS: Final = 8  # commands offered at once
CHIP_LINES: Final = 9  # a paste of so many lines, about a third of a usual screen, is one word in the draft
CHIP_NAME: Final = 30  # cells of an image's name in its chip
CHIP_LENGTH: Final = 1_000  # characters; about as much in long lines
CHIPS_KEPT: Final = 32 * KB * KB  # characters of pasted text kept for undoing; more than anybody sends at once
DRAFT_PLAIN: Final = 64 * KB  # characters a draft shows as text: wrapping more would be felt
KILLS: Final = 60  # texts that can be yanked again, as many as Emacs keeps
KILLS_LENGTH: Final = 1024 * KB  # characters of them together: a book; what is longer is undone rather than yanked
VIM_COUNT: Final = 999  # times a vim command is done at most; more is a key that was held down
DISK_SESSIONS: Final = 8  # of the largest, named one by one
INSIGHT_DAYS: Final = 36_500  # that can be summed up: what is older than a hundred years is no session
DRAFT_REST: Final = 0.5  # seconds without a key before a draft is kept on disk
EDITED: Final = 16 * KB * KB  # bytes read back from an editor: three times the largest paste that was tried
PASTE_JOIN: Final = 0.2  # seconds; parts of one paste that a terminal without marks sends as several reads
ANSWER_PART: Final = 1.0  # seconds between two parts of a terminal's answer, over a slow line
PASTE_PART: Final = 1_000  # characters of a read that is one of several; a terminal's holds up to 4,095 bytes
PASTE_LENGTH: Final = 8  # characters; fewer with one line end may be keys that waited while the machine was busy
APPROVAL_ARM: Final = 0.5  # seconds without a key before a letter answers
CONSENT_RESTS: Final = 0.5  # seconds without a key before a mode asks to be confirmed: who cycles on is not held up
TRUST_FRAME: Final = 6  # rows that halo, padding and the blank ones of the overlay take
TOLD_HINT: Final = 4.0  # seconds a hint stays in the status line: a sentence takes longer to read than "press again"
APPROVAL_ALONE: Final = 0.12  # seconds; a letter that another key follows within was part of a word
SAME_READ: Final = 0.008  # seconds; keys closer than this came in one read, no hand types them
APPROVAL_SHARE: Final = 2  # the panel takes at most this part of the screen's height, then scrolls
APPROVAL_REST: Final = 7  # rows of the screen that are not its keys: question, draft, status, a row of the transcript
HISTORY_ENTRY: Final = 64 * KB  # a longer draft is a pasted file, not something to call up again
HISTORY_FILE: Final = 1024 * KB  # read at start; cut to half when it grows beyond
PAINTED_ROWS: Final = 400  # rows of a pane kept as painted: a few screens, a few KB each
WHEEL_ROWS: Final = 3  # a notch of the mouse wheel
WORD_DIFF_CHARS: Final = 240  # longer lines get no word marks: the comparison is quadratic
WORD_DIFF_LINES: Final = 24  # removed or added lines in a row; in a larger rewrite few words are the same
WORD_DIFF_WORK: Final = 1_000_000  # product of the characters to compare line with line; about 10 ms
DIFF_ROWS: Final = 3_000  # of a session's changes laid out in the dock at once: about 10 ms
SPLIT_FROM: Final = 100  # columns from which old and new stand side by side: some 45 characters of each
COMPARE_BESIDE: Final = 110  # columns from which two sessions stand side by side; below, one above the other
COMPARE_ROWS: Final = 200  # rows of one answer there: ten screens; the session has the rest
SPLIT_LEAST: Final = 50  # columns under which they do not, even when asked: 20 characters of each
UNFOLD_LINES: Final = 500  # unchanged lines that one key unfolds
PAGES_KEPT: Final = 16  # pages of a long text kept as lines: 1 MB, and more than a screen shows
TASK_PIECE: Final = 8 * KB  # bytes of a background command's output read at once: a few screens
TASK_LINES: Final = 2_000  # of its lines kept in the dock: forty screens, laid out anew in some 10 ms
TASK_KEPT: Final = 128 * KB  # bytes of them; older and newer ones are read where somebody goes there
FIND_SLICE: Final = 0.008  # seconds spent on finding before keys have their turn
HIGHLIGHT_LINES: Final = 60  # coloured at once when first seen, so that no painting takes longer than a frame or two
AGE_EVERY: Final = 30.0  # seconds between two looks at the ages in the session list

# -- line by line -------------------------------------------------------------------------------------------------
PLAIN_HOLD: Final = 2.0  # seconds without a key before lines come between those that are being typed
PLAIN_MISSED: Final = 256 * KB  # characters of a session out of view that wait until one comes back to it
PLAIN_LISTED: Final = 20  # sessions, hits or messages in one list: more is not listened to
PLAIN_REMIND: Final = 60.0  # seconds before a question's end at which the time left is said again
PLAIN_STILL: Final = (10.0, 30.0, 60.0)  # seconds after which what still runs is told of; then each minute
PLAIN_CLOSING: Final = 2.0  # seconds that the next question waits for the session to tell what an answer did
PLAIN_NUDGE: Final = 0.05  # seconds between two signals to a main thread that has not felt the first
PLAIN_LOOK: Final = 1.0  # seconds between two looks at a line that is being typed: kill -9 loses no more of it
PLAIN_READ: Final = 64 * KB  # bytes of standing input taken at once; a terminal's line has at most 4 KB

# -- the transcript -----------------------------------------------------------------------------------------------
BLOCK: Final = 4 * KB  # characters; a block is drawn in one go, so this bounds the work of one tick
TABLE_PART: Final = 2 * KB  # characters; a table costs most to draw, and its columns are settled by then
BLOCK_HARD: Final = 16 * KB  # a list item or a fence inside one is cut here even where the cut shows
CODE_CHUNK_LINES: Final = 100  # lines of a long fence drawn and coloured at once
COLOURED: Final = 8  # pieces of code whose colours are kept, a window's worth; each takes up to 20 ms to work out
ROW_CACHE: Final = 2_000  # drawn rows kept, some thirty screens; each costs 2 KB and more
ESTIMATED_ENTRIES: Final = 300  # texts looked at to tell the heights of all; thousands would hold up a key
EARLIER_ENTRIES: Final = 60  # above the window's top; with fewer, what was said before is read
NOTE_LINES: Final = 12  # paths that a notice lists; the rest is counted
USER_LINES: Final = 24  # a longer message of the user's is folded
USER_LINES_FOLDED: Final = 12  # what a folded one shows
CARD_LINES: Final = 20  # of a result on an unfolded card; the dock has all of it
CARD_END: Final = 8  # of longer output of the person's own command, its end: with its head it fits the lowest screens
WALKED_WINDOWS: Final = 4  # the window goes row by row as far as this; further it jumps, and draws nothing between
DRAG_SECONDS: Final = 0.06  # between two rows while text is dragged over the edge: sixteen a second can be followed
COPY_DRAWN: Final = 64 * KB  # characters of a selection drawn to be copied, in a quarter of a second

# -- layout and time ---------------------------------------------------------------------------------------------
WIDE: Final = 140  # columns from which three panes stand side by side
DOCK_BESIDE: Final = 110  # columns from which the dock stands beside the transcript
NARROW: Final = 80  # columns under which a pane opens over the whole screen
TOUR_LEAST: Final = (40, 10)  # columns and rows; on a smaller screen its cards would hide the draft
SHORT: Final = 20  # rows under which there is no title row
OVERLAY_BESIDE: Final = (
    20  # columns beside an overlay from which on words behind it say something; of fewer none is seen
)
SESSIONS_WIDE: Final = 28
SESSIONS_MEDIUM: Final = 24
DOCK_SHARE_WIDE: Final = 0.38
DOCK_SHARE_MEDIUM: Final = 0.45
BATCH_SECONDS: Final = 0.04  # between two batches of events; 25 frames a second
OUTPUT_PIECE: Final = 2 * KB  # bytes handed to the terminal at once: so often it is known that it takes any
LINE_STANDS: Final = 3.0  # seconds in which a terminal takes nothing: at the end, no more is waited for
DESK_SECONDS: Final = 0.5  # what is still to be written when the program ends may take this long
RESIZE_RESTS: Final = 0.15  # seconds after the last change of the size; a window that is dragged sends more
# A thread that computes, such as a search of 200,000 files, keeps the interpreter so long when the screen's wants it,
# at each of some six turns between a key and its frame: with Python's 5 ms one in a hundred waits 25 ms more.
SWITCH: Final = 0.001
BATCH_TIMES: Final = 1_000  # kept for tests and diagnostics
AGAIN_SECONDS: Final = 2.0  # "press again" counts within this time
SERVERS_BEGIN: Final = 0.7  # seconds after a session is shown: its first frames do not share the machine with servers
SESSIONS_AWAKE: Final = 2  # out of view that stay as they are: who goes back and forth between a few waits for nothing
SESSION_RESTS: Final = 600.0  # seconds out of view after which these rest too: coming back takes a frame or two
SESSION_ASKED: Final = 60.0  # seconds before one that had something to do is asked again
SERVERS_LOOK: Final = 1.0  # seconds after which the list of servers shows what has changed
TICK_SECONDS: Final = 0.25  # running marks step four times a second
# With the start frozen, full collections, which cost 75 ms and more, hardly ever come. The first number bounds what
# cycles in Textual's caches hold until they are found: 20,000 objects are 5 MB and take 4 ms to look at.
GC_THRESHOLDS: Final = (20_000, 50, 1_000)
GROUNDS: Final = 256  # pairs of colours whose styles are kept; a theme has some thirty
GC_AFTER: Final = 0.3  # seconds; a new history is on the screen before the collector looks at it, which takes a frame
GC_REST: Final = 5.0  # seconds without a key before all is looked at, which takes some 0.1 s
SETTLE_AFTER: Final = 0.4  # seconds; what the first screen does not need is loaded once it stands
DOCK_LOW: Final = 10  # rows of the dock under which none is left blank: there were three for what is read
DOCK_HINTS: Final = 5  # of so many rows of the dock one may say what can be done; help lists all of it
COMMENT_LINES: Final = 40  # of a hunk quoted with a comment; the model can read the rest in the file
COMMENT_LINE: Final = 400  # characters of one such line
COMMENT_ROWS: Final = 6  # of the field a comment is written in, at most; the hunk stays in view above it
COMMENT_HEADING: Final = 16  # cells of the place a comment is about, below which the keys beside it give way
RECENT_CHOICES: Final = 8  # palette items offered first
RECENT_FILES: Final = 20  # files used lately that come first among equals
REMEMBERED_FILE: Final = 64 * KB  # a dozen values; anything larger is another file
SEARCH_FIRST: Final = 0.15  # seconds a first answer waits for what has just been written
SEARCH_AGAIN: Final = 1.0  # seconds between two answers while the index grows
DELETED_HINT: Final = 10.0  # seconds the way back from a deletion stays in the status line
REMARK_TIMES: Final = 2  # a remark that was read twice is known, or not wanted
REMARK_RESTS: Final = 1.0  # seconds without a key before one is made: nobody reads while writing
REMARK_WAITS: Final = 30.0  # seconds it waits for that; then what it is about is past
REMARK_STAYS: Final = 20.0  # seconds it stands there when no key takes it away
REMARK_LONG_TURN: Final = 20.0  # seconds; longer than anybody watches
REMARK_CONTEXT: Final = 70  # percent of the context; there is time left to choose what goes
CRASH_WORDS: Final = 300  # of an error, on the terminal; the report has it all

# -- the clipboard -----------------------------------------------------------------------------------------------
CLIPBOARD_SECONDS: Final = 2.0  # for all ways together; a tool that waits longer waits for a desktop that is gone
OSC52_BYTES: Final = 74_000  # of text; terminals take sequences up to 100,000 bytes, and base64 makes four of three
SCREEN_STRING: Final = 240  # characters handed through GNU screen at once; older ones keep 256

# -- what the terminal says of itself ----------------------------------------------------------------------------
TERMINAL_FIRST: Final = 0.5  # seconds for a first answer; a line around the world takes 0.3
TERMINAL_ANSWERS: Final = 0.9  # seconds for all of them
TERMINAL_ANSWER_BYTES: Final = 16 * KB  # twenty answers are 500 bytes; more are keys held down, or a file pasted
TERMINAL_PROGRAM: Final = 1.0  # seconds for tmux to tell its options
TERMINAL_COLUMNS: Final = 40  # the smallest window that everything can be done in
TERMINAL_ROWS: Final = 10
ESCAPE_WAIT: Final = 100  # milliseconds tmux may wait behind Esc; more is felt, and keys behind it are read as Alt

# -- calling a person who looks elsewhere -------------------------------------------------------------------------
NOTE_UNSEEN: Final = 5.0  # seconds without a key, where a terminal does not say who has the keyboard
NOTE_SEEN: Final = 1.5  # seconds until what came is seen: who has sent a message turns away within a moment
NOTE_GATHER: Final = 0.3  # seconds; several sub-agents ask within a moment, and one call is enough
NOTE_PAUSE: Final = 3.0  # seconds between two calls: a desktop shows one about as long
NOTE_SLACK: Final = 0.01  # seconds a timer is set later than what it waits for, so as not to wake too early
NOTE_CELLS: Final = 100  # of a notification; a desktop shows two lines
WINDOW_TITLE: Final = 80  # cells of the window's title; a tab shows a third

# -- the program in a browser ------------------------------------------------------------------------------------
WEB_WINDOWS: Final = 8  # at a time; each is a program of 100 MB
WEB_TOKEN: Final = 32  # random bytes of the token
WEB_KEY: Final = 64  # characters of what a page calls its window
WEB_PATH: Final = 8  # random bytes of the path a browser sends the token to
WEB_MESSAGE: Final = 16 * KB * KB  # bytes of one message of the page; a paste is one; a larger one ends the window
WEB_READ: Final = 64 * KB  # bytes of the program's output that make one message
WEB_CELLS: Final = 2_000  # columns and rows; the largest wall of screens has fewer
WEB_HEARTBEAT: Final = 60.0  # seconds between two questions whether the page is there; a tunnel may stall for some
WEB_KEEPS: Final = 120.0  # seconds a window waits for its page: a laptop that changes its network needs some
WEB_NUDGE: Final = 0.1  # seconds a terminal is a row smaller, so that all is drawn anew
WEB_ENDING: Final = 8.0  # seconds a program has to end: its own servers have 4
WEB_GOODBYE: Final = 2.0  # seconds a page has to answer that its window is closed
