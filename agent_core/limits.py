"""Every bound of the system on one page, with its reason. Nothing is bounded anywhere else by a literal.

Bytes limits cut on a UTF-8 boundary. Times are in seconds unless the name says otherwise.
"""

from typing import Final

KB: Final = 1024
MB: Final = 1024 * KB

# -- what a model sees -------------------------------------------------------------------------------------------
TOOL_RESULT: Final = 20 * KB  # one tool result, marker included (LIM-01)
HERMES_RESULT: Final = 100_000  # characters of one result in the profile of that name (LIM-12)
HERMES_MCP_RESULT: Final = 50_000  # of one that an MCP server gave
HERMES_TURN: Final = 200_000  # of all results of a turn
HERMES_PREVIEW: Final = 1_500  # of what lies in a file
TOOL_ERROR_CHARS: Final = 2_048  # a crash report, cleaned (TOOL-16)
CONTEXT_FILES: Final = 20 * KB  # all AGENTS.md-like files together
CONTEXT_FOLDERS: Final = 16  # nearest folders whose context files are read; their fences take room too
IDENTITY: Final = 4 * KB  # SOUL.md
FIRST_REQUEST: Final = 16 * KB  # system prompt and tool schemas of the first request, without context files

# -- files -------------------------------------------------------------------------------------------------------
READ_FILE: Final = 4 * MB  # larger files are refused outright (LIM-03)
WRITE_FILE: Final = 4 * MB  # what cannot be read back should not be written by a tool
SPILL_FILE: Final = READ_FILE  # of one long output; as much as read_file takes
SPILL_FILES: Final = 50  # kept; the oldest goes first
TEXT_PAGE: Final = 64 * KB  # of a long output read and laid out at once: some 800 lines, a few ms
SEEN_TEXTS: Final = 2 * MB  # characters of file texts remembered, to say what changed since they were read
SEEN_DIFF_LINES: Final = 60  # of such a change shown to the model
OWN_COMMANDS: Final = 200  # whose times are remembered, to tell what they changed from what the user did
READ_LINE_CHARS: Final = 2_000  # of one line shown by read_file; a minified line must not fill the result
NOTE_BYTES: Final = 600  # kept free in a result for the note that says how to go on
GREP_MATCHES: Final = 200  # LIM-05
GREP_LINE_CHARS: Final = 500  # one minified line must not fill the result
GREP_FILE: Final = 4 * MB  # files above are skipped and counted
GREP_CONTEXT: Final = 20  # lines around a match at most
GREP_SECONDS: Final = 60.0  # a search that takes longer was not meant
GIT_READ: Final = 1 * MB  # read of what one git command says; more is more than anybody is shown
GIT_CHUNK: Final = 64 * KB  # of it at once
GIT_SECONDS: Final = 60.0  # a git command that reads and takes longer was not meant
GIT_COMPLAINT: Final = 1_000  # characters of what git says went wrong
GIT_REVISION: Final = 300  # characters of a revision; a branch's name is a path of at most 255
GIT_FILTERS: Final = 50  # content filters that are switched off by name; each takes 200 bytes of the command line
GIT_SHORT: Final = 8  # digits of a hash that people are shown
GIT_NAMES: Final = 200  # files named in one part of a status
GIT_REST_NAMED: Final = 20  # files named of a difference that was cut
GIT_COMMITS: Final = 200  # commits listed at once
WORKTREES_LISTED: Final = 50  # looked into at once; each takes a few git commands
WORKTREES_MADE: Final = 99  # that nobody has named
WORKTREE_NAME: Final = 100  # characters; a folder is called after it, and a file's name has at most 255 bytes
WORKTREE_SECONDS: Final = 600.0  # checking out, stashing or removing a whole tree
GIT_CHOSEN: Final = 300  # files chosen for one commit; a person is to read the command
PATTERN_CHARS: Final = 1_000  # of a search pattern
PATTERN_REPEAT: Final = 1_000  # the n of {n}; more makes an automaton of many megabytes
LOOK_FIRST_FOLDERS: Final = 256  # looked at by ripgrep at first; later eight times as many each: a start takes 20 ms
LOOK_SIZED: Final = 5_000  # files whose size is asked before ripgrep reads them; of 100,000 it takes 0.3 s
LOOK_UNSIZED_SECONDS: Final = 3.0  # for files of any size at once; then ripgrep is told to leave out large ones
SCAN_FIRST_BATCH: Final = 512  # files given to one search child at first; later ones get four times as many each
SCAN_BATCH_BYTES: Final = 384 * KB  # of file names on one command line
GLOB_FILES: Final = 500  # LIM-06
LIST_ENTRIES: Final = 500
LIST_STEP: Final = 1_000  # entries of a folder read between two looks whether the turn was stopped
GLOB_DOUBLE_STARS: Final = 4  # in one pattern; more make matching slow and mean nothing more
GLOB_CHOICES: Final = 100  # patterns that one with braces may stand for
IGNORE_FILE: Final = 256 * KB  # read of one .gitignore
WALK_FILES: Final = 200_000  # a walk stops here and says so
PREVIEW: Final = 64 * KB  # file preview for a face
INDEX_ENTRIES: Final = 500_000  # files and folders the file picker knows; some 100 bytes each
INDEX_SHARD: Final = 4_096  # of them in one text: one look through it takes less than a millisecond
INDEX_CHANGES: Final = 1_000  # told one by one; of more at once the folders' times say in less time what has changed
INDEX_STEP: Final = 0.25  # seconds between two looks for changes; less often is felt, more often wakes for nothing
INDEX_REST: Final = 5.0  # seconds before watches that failed are set anew, which may cost one
INDEX_RETRY: Final = 60.0  # seconds before a watching program that has ended is started anew
INDEX_STALE: Final = 5.0  # seconds; the folders' times are compared when the index is asked and older
INDEX_RACY: Final = 2.0  # seconds a change may hide in: file systems count time in steps, the coarsest in these
INDEX_SLICE: Final = 0.004  # seconds of work between two looks whether somebody asks
INDEX_PAUSE: Final = 0.001  # seconds the other threads have between two slices of building
INDEX_NEWS: Final = 0.25  # seconds between two answers while the index grows
FIND_QUERY: Final = 200  # characters of a query that are looked for
FIND_FIRST: Final = 0.012  # seconds after which what a search has found so far is shown: half of what is felt
FIND_EARLY: Final = 8  # hits that are worth it: fewer would make the list shrink and grow again
FIND_HITS: Final = 100  # best hits given; nobody reads further, they type another letter
IMAGE_FILE: Final = 12 * MB  # of an image that is read (LIM-09)
IMAGE_SIDE: Final = 1_024  # pixels of the longer side of an image that a model is given (LIM-09)
IMAGES_A_TURN: Final = 4  # that a person sends in one turn, steers included (LIM-09)
IMAGES_HELD: Final = 8  # newest ones that a request holds; for older ones words stand
IMAGE_PIXELS: Final = 50_000_000  # of one that is decoded: all of a large camera's picture
IMAGE_MEMORY: Final = 1_024 * MB  # of the program that decodes it
IMAGE_SECONDS: Final = 20.0  # of decoding one; the largest takes two
IMAGES_KEPT: Final = 60  # copies of images in drafts and queues; the oldest goes first
IMAGE_CELLS: Final = (400, 200)  # columns and rows of an image that is drawn
CLIPBOARD_SECONDS: Final = 5.0  # for the clipboard's program to give its image
NOTEBOOK_OUTPUT: Final = 2 * KB  # characters of one output of a notebook's cell
NOTEBOOK_OUTPUTS: Final = 20  # of one cell
PATH_BYTES: Final = 4_096  # PATH_MAX of Linux, its closing NUL included
NAME_BYTES: Final = 255  # NAME_MAX of every common file system
PATH_LINKS: Final = 40  # links followed on one path, as Linux does
OPEN_TRIES: Final = 128  # of one openat2 that asks to be tried again
NEAR_NAMES: Final = 3  # file names suggested for one that is missing
NEAR_NAMES_SCAN: Final = 2_000  # names of a folder looked at for that
DIFF_LINES: Final = 2_000  # lines of a FileDiff kept as data; the rest is counted
REFUSED_HUNKS: Final = 4 * KB  # of refused hunks quoted to the model
DIFF_COMPARE: Final = 100_000_000  # work on a diff's gaps by the worst case, about a second; the rest is not compared
MATCH_MOST: Final = 10_000  # places that one edit may change
MATCH_PLACES: Final = 5  # places of a file shown when an edit's old text is missing or ambiguous
MATCH_PLACE_LINES: Final = 8  # lines of one such place
MATCH_LINE_CHARS: Final = 200  # of one such line
MATCH_CANDIDATES: Final = 50  # occurrences of one line that are considered for "nearest"
MATCH_NEAREST_LINES: Final = 20_000  # lines compared word by word
MATCH_ALIKE: Final = 20_000_000  # as MATCH_COMPARE, for all places together that may be like what is looked for
RUNS_DIRECT: Final = 1_000_000  # lines compared one place after the other; more are compared in one pass
PATCH_MISSING: Final = 20  # hunks that are not found, after which a patch is not meant for the file
PATCH_ROUNDS: Final = 5  # times hunks that are not found are looked for in what the others have made
MATCH_COMPARE: Final = 1_000_000  # product of two lengths up to which texts are compared character by character

# -- checkpoints -------------------------------------------------------------------------------------------------
CHECKPOINT_FILE_MOST: Final = 256 * MB  # of one file, whatever is set: it is held in memory while it is put back
CHECKPOINT_ENTRIES: Final = (
    1_000_000  # files looked at in a workspace; of what is beyond, commands' changes are not seen
)
CHECKPOINT_WAIT: Final = 1.5  # seconds that all commands of a session together wait for that
CHECKPOINT_GLANCE: Final = 0.25  # the same for one command where a look takes no longer than that
CHECKPOINT_LIST: Final = 20.0  # seconds that a list waits for what commands have changed to be looked at
CHECKPOINT_LOCKED: Final = 5.0  # seconds one program waits for another that writes to the file of changes
CHECKPOINT_PLAIN: Final = 256  # bytes of a content that is not packed
CHECKPOINT_SLICE: Final = 0.5  # seconds of looking in one transaction
CHECKPOINT_CLOCK: Final = 12_000_000  # nanoseconds that a file's time may lie before the clock's: a tick of 100 Hz
CHECKPOINT_RACY: Final = 20_000_000  # nanoseconds in which a second change may have the first one's time
CHECKPOINT_ORPHAN: Final = 60.0  # seconds that a command of a killed program may have gone on: what it leaves is ended
CHECKPOINT_IDLE: Final = 300.0  # seconds after which the program that looks at files ends
CHECKPOINT_SYNCED: Final = 100  # files put back that are each waited for until the disk has them; more of them at once
ROLLED_BACK_NAMED: Final = 40  # files named to the model after a rollback
CHECKPOINT_LISTED: Final = 100  # turns listed at once

# -- commands ----------------------------------------------------------------------------------------------------
COMMAND_STREAM: Final = 256 * KB  # captured head and tail of each stream, cut while reading (LIM-02)
COMMAND_BYTES: Final = 120 * KB  # of one command; the kernel takes 128 KB as one argument
COMMAND_TIMEOUT: Final = 180.0
COMMAND_TIMEOUT_MAX: Final = 600.0
COMMAND_TERM_GRACE: Final = 2.0  # from TERM to KILL
COMMAND_LOOK: Final = 2.0  # between two looks whether a command waits for keys; two of them tell
COMMAND_KILL_WAIT: Final = 10.0  # KILL is repeated this long; what still lives then cannot be killed by us
COMMAND_PIPE_GRACE: Final = 0.5  # after the shell has ended, how long a child may still hold the pipe
SANDBOX_PROCESSES: Final = 1024  # that a command and all below it may have at once; `make -j` of a big machine fits
SANDBOX_FILE: Final = 16 * 1024 * MB  # of one file that a command writes; a runaway one shall not fill the disk
SECRETS_GLANCE: Final = 0.03  # seconds a walk for files of secrets may take before each command; nobody feels it
SECRETS_WAIT: Final = 0.5  # for the first walk of a session, when its first command comes before its end
SECRETS_SECONDS: Final = 20.0  # of one walk; it takes about 2 s for a million entries
SECRETS_WALKS: Final = 4  # in a row while things move, before a command; then none is run
SECRETS_ENTRIES: Final = 2_000_000  # of one walk: what is larger is asked about, command by command
SECRETS_HIDDEN: Final = 1_000  # files and folders hidden from commands: each is a mount, and 1,000 of them take 0.15 s
SECRETS_REPOSITORIES: Final = 200  # inside a workspace, and below one repository's modules
SECRETS_HOMES: Final = 64  # of other users that are looked into
SECRETS_PLACES_KEPT: Final = 10.0  # seconds that a look at the homes and the system counts
SECRETS_PEM: Final = 1 * MB  # of a .pem file read to tell certificates from keys; all roots of trust take 0.3 MB
CGROUP_CLOSE: Final = 0.2  # for killed processes to leave a group that is to be removed
TMP_PATH: Final = 60  # bytes of the folder for temporary files: the path of a socket in it has 108 at most
TMP_KEPT: Final = 600.0  # seconds after which what a killed program left there is removed: nobody holds it any more
SANDBOX_SHM: Final = 1024 * MB  # of a command's own shared memory; what it holds counts as the command's memory
SANDBOX_SIBLINGS: Final = 4096  # entries of a folder that are allowed one by one around a hidden one; others stay shut
SANDBOX_PLACEHOLDER_PATIENCE: Final = 1.0  # to take a name that other processes keep taking and giving up
SANDBOX_PLACEHOLDER_WAIT: Final = 0.005  # between two tries; giving up takes far less
SANDBOX_PLACEHOLDER_NEW: Final = 0.5  # what is older and bears no mark is no placeholder that is just being made
SANDBOX_PROBE: Final = 10.0  # for trying once whether the kernel lets us build a mount view
COMMAND_PROGRESS_EVERY: Final = 0.5  # between two progress events of one call

# -- commands in the background ----------------------------------------------------------------------------------
TASKS: Final = 64  # of a session; of the ended ones the oldest go (TOOL-22)
TASK_KEPT: Final = 1_800.0  # seconds an ended one can still be read (TOOL-22)
TASK_OUTPUT: Final = 200_000  # characters of its newest output that are kept (TOOL-22)
TASK_FILE: Final = 1_000_000  # bytes its file comes to before it is cut down to those: room for them in any language
TASK_GRACE: Final = 2.0  # from TERM to KILL
TASK_GRACE_ALONE: Final = 1.0  # the same when the program is gone: three seconds later nothing of it may be left
TASK_START: Final = 20.0  # for a task to begin: the walls of a command may have to wait for a busy machine
TASK_LOOK: Final = 0.5  # between two looks at what tasks have written, and so between two events about it
TASK_CLOSE: Final = 5.0  # for one that is ended to be gone; KILL comes after 2
TASK_CONTEXT: Final = 8 * KB  # of the output before a piece that is looked at for keys: a private key fits into it
TASK_QUIET: Final = 1.0  # seconds after which a last word is taken for whole: a prompt has no line end
TASK_NEWEST: Final = 4 * KB  # of the end of an output looked at for its newest line
TASK_PIECE: Final = 256 * KB  # of an output given at once
TASK_FIRST_LOOK: Final = 0.7  # seconds for a command that cannot work to end: its result says so at once then
TASK_POLL: Final = 0.1  # between two looks of a call that waits
TASK_WAIT: Final = 60  # seconds that a model may wait for more output in one call

SHELL_DEPTH: Final = 40  # nested substitutions, groups and quoted scripts that are read; deeper is refused
SHELL_JUDGED: Final = 128 * KB  # the kernel takes no longer argument, so no longer text can reach a shell this way
SHELL_STEPS: Final = 8_000  # commands walked in one text, calls and loop rounds included; more is refused
SHELL_FED: Final = 64  # names remembered of the programs before one in its pipeline
SHELL_FIELDS: Final = 4_000  # words one command may expand to
SHELL_EXPANDED: Final = 4 * MB  # text all expansions of one command line may come to
SHELL_TRUSTED: Final = 16 * KB  # a longer text is never trusted
SHELL_TRUSTED_WORDS: Final = 64  # these three keep the judgement of a trusted text under 2 ms
SHELL_TRUSTED_MARKS: Final = 256  # quotes and backslashes in it
SHELL_TRUSTED_PATHS: Final = 1 * KB  # characters of all the files it names, each of which is looked at
SHELL_TRUSTED_ENTRIES: Final = 500  # of a folder looked at for secrets that a wildcard or a search would read
GIT_HEAD: Final = 4 * KB  # of the file that names the branch; it holds one line
GIT_CONFIG: Final = 256 * KB  # of a repository's config; a larger one counts as naming a helper
PROGRESS_CHARS: Final = 8 * KB  # of the newest output looked at for a progress line; a private key fits into it
KEPT_OUT_CHARS: Final = 8_000  # of it looked at for words that tell of the sandbox
SUMMARY_CHARS: Final = 8_000  # of the end of an output looked at for a test runner's summary
LEFT_RUNNING_NAMED: Final = 10  # process ids named in a result
STREAM_LABELS: Final = 120  # bytes kept free for "[stderr]" and line ends between streams

# -- the model wire ----------------------------------------------------------------------------------------------
CONNECT_TIMEOUT: Final = 15.0
STREAM_IDLE: Final = 180.0  # any byte resets
STREAM_IDLE_LOCAL: Final = 900.0  # local servers may load a model first
STREAM_PROGRESS: Final = 600.0  # only content resets
STREAM_AFTER_FINISH: Final = 5.0  # for the usage chunk after finish_reason
RETRY_ATTEMPTS: Final = 3  # in all, the first included
RETRY_BASE: Final = 0.5
RETRY_CAP: Final = 30.0
RETRY_JITTER: Final = 0.1  # of the wait, so that many clients do not come back at once (LLM-09)
FIELD_REASKS: Final = 10  # one request asked again without fields the server refused; some name one at a time
ENCODED_HISTORY: Final = 8 * MB  # of a conversation kept as it was sent; no model takes more
REPLY_TOKENS: Final = 32_000  # of one reply, where a wire wants a bound and none is set; refusals tell a smaller one
THINKING_TOKENS: Final = {"minimal": 1_024, "low": 4_096, "medium": 10_240, "high": 20_480, "xhigh": 24_000}
THINKING_TOKENS_MIN: Final = 1_024  # no server takes a smaller budget
DRAIN: Final = 0.2  # after the end marker, for the connection's own end, so that it can be used again
REPLY_QUEUE: Final = 64  # pieces between the reading thread and the loop
KEEP_ALIVE: Final = 30.0  # an idle connection is kept this long: most tool rounds are shorter
HEALTH_TIMEOUT: Final = 10.0  # asking a server for its models when a person waits
MODEL_LIST: Final = 2 * MB  # a server's list of models
MODELS_KEPT: Final = 300.0  # seconds that such a list counts
MODELS_LISTED: Final = 500  # of one provider, to choose from; aggregators have more than four hundred
PROVIDERS_LISTED: Final = 12  # asked for that, all at once
RETRY_AFTER_MAX: Final = 60.0  # a longer Retry-After fails at once and says when
REPLY_BYTES: Final = 32 * MB  # one whole reply; a runaway server must not fill memory
SSE_EVENT: Final = 8 * MB  # one event
ERROR_BODY: Final = 64 * KB  # read from a failed response
ERROR_WORDS: Final = 8_000  # characters of a server's words that are looked at to know what its failure is
ERROR_TEXT_CHARS: Final = 400  # of them shown to a person
PROBE_TIMEOUT: Final = 0.4  # local model servers, all at once
KEYS: Final = 9  # of one variable: NAME, NAME_2 … NAME_9; nobody has more accounts, and each is looked up at each turn
REST_FIRST: Final = 60.0  # a model or key that failed is left alone this long, twice as long after each more (LLM-23)
REST_LONGEST: Final = 4 * 3600.0
TEMPERATURE_MAX: Final = 2.0  # no server takes more; a wire that takes less sends less

# -- texts that talk to the model --------------------------------------------------------------------------------
SCAN_CHARS: Final = 256 * KB  # of a file looked at as it stands; of a longer one the part that the model is given
FINDINGS: Final = 20  # told of one text; whoever is told of these looks at all of it
FINDINGS_TOLD: Final = 3  # of them in one notice
FINDING_CHARS: Final = 80  # of the words of one
HIDDEN_COMMENT: Final = 4 * KB  # of one comment that is looked at

# -- the web -----------------------------------------------------------------------------------------------------
URL_CHARS: Final = 8 * KB  # of a URL; servers take no longer ones
WEB_BODY: Final = 2 * MB  # of a page, unpacked; the rest is cut (LIM-04)
WEB_SECONDS: Final = 60.0  # from the first look-up to the last byte, redirects among them
WEB_CONNECT: Final = 10.0  # seconds for one connection; the host's next address is tried then
WEB_ADDRESSES: Final = 4  # of a host that are tried
WEB_REDIRECTS: Final = 5  # W1
WEB_RATIO: Final = 200  # bytes unpacked from one received: pages stay below 50, what is made to burst has 1,000
WEB_RATIO_FREE: Final = 256 * KB  # unpacked before that is asked; small pages may be a lot of the same
WEB_HEADERS: Final = 32 * KB  # of a response, names and values together
WEB_CHARSET: Final = 4 * KB  # of a page's beginning looked at for the charset that it names; browsers look at 1 KB
PAGE_MEMORY: Final = 512 * MB  # of the program that makes text of a page; the worst page of 2 MB takes 310
PAGE_SECONDS: Final = 20.0  # of that; the worst takes two
PAGE_TEXT: Final = 4 * MB  # bytes of a page's text: links are written out, and make it longer than the page
PAGES_KEPT: Final = 8 * MB  # characters of pages that a session holds, so that going on fetches nothing
WEB_ERROR_BODY: Final = 1_000  # characters of the page that comes with a failure
WEB_SEARCH_QUERY: Final = 400  # characters of a query; engines take no more
WEB_SEARCH_HITS: Final = 20  # of one search
WEB_SEARCH_BODY: Final = 1 * MB  # of an engine's answer
WEB_SEARCH_PAGE: Final = 256 * KB  # characters of a page of results that are taken apart; those have 40
WEB_SEARCH_SNIPPET: Final = 400  # characters
WEB_SEARCH_TITLE: Final = 200  # characters

# -- the loop ----------------------------------------------------------------------------------------------------
MAX_STEPS: Final = 50  # model round trips in one turn (LOOP-09)
GOAL_IDLE_ANSWERS: Final = 3  # answers in a row without a tool call after which mode goal stops
GOAL_EVIDENCE: Final = 6  # characters below which nothing can have been said of it
GOAL_CHARS: Final = 4_000  # of a goal, and of what shows that it is reached; it is in every request
UNUSABLE_REPLIES: Final = 1  # empty or cut replies in a row that are asked again before the turn gives up
BATCH_WORKERS: Final = 8  # tool calls side by side (CONC-05)
BATCH_TIMEOUT: Final = 420.0  # of a round's calls, unless one asked for longer (CONC-05)
BATCH_LOOK: Final = 1.0  # between two looks at calls that wait for a person, whose time stands still
BATCH_SLACK: Final = 20.0  # a call that asked for its time ends itself; it is given up only this much later
INTERRUPT_GRACE: Final = 3.0  # a stubborn tool gets this long after an interrupt, then is abandoned
UNKNOWN_BATCHES: Final = 3  # rounds in a row that call only tools there are none of, before the turn ends (LOOP-18)
NEAR_TOOL: Final = 0.85  # likeness from which one misspelt tool name is taken for the only one near it
GUARD_SAME_CALL_WARN: Final = 2  # failures with the same arguments before a warning (APPR-21)
GUARD_SAME_CALL_BLOCK: Final = 5  # before the call is blocked
GUARD_SAME_TOOL_WARN: Final = 3  # failures of a tool with whatever arguments before a warning
GUARD_SAME_TOOL_HALT: Final = 8  # before the turn is ended
GUARD_REPEATS: Final = 3  # times the same call, or round of calls, comes to the same result before a notice
GUARD_PERIOD: Final = 4  # calls in the longest such round
GUARD_WINDOW: Final = 64  # calls that are looked back on
GUARD_LOOKED_AT: Final = 500  # characters of a failure's text, for the words of a busy server
SIGNAL_CHECK: Final = 0.2  # how often a screenless run looks whether a signal has come
TURN_STOP: Final = 1.0  # a turn stops within this
GRANTS_FILE: Final = 1 * MB  # of what was allowed for good; thousands of grants, read while a call waits
GRANTS_LOCKED: Final = 5.0  # seconds one program waits for another that writes there
GRANT_CHARS: Final = 4 * KB  # of a command that may be allowed for good; a longer one nobody reads again
APPROVAL_TIMEOUT: Final = 300.0
DOCTOR_PROGRAM: Final = 10.0  # for a program that only says its version, and for the sandbox's trial
DOCTOR_SERVER: Final = 3.0  # for the model server to answer
REVIEW_TIMEOUT: Final = 30.0  # for the reviewing model's one word; then the person is asked, who waits meanwhile
REVIEW_TOKENS: Final = 2_000  # of its reply: a model that thinks first needs some for one word
REVIEW_CHARS: Final = 4_000  # of a command it is shown; in a longer one it could overlook something
REVIEW_DENIALS: Final = 3  # in a row, before the turn is stopped (APPR-11)

# -- hooks and trust ---------------------------------------------------------------------------------------------
HOOK_TIMEOUT: Final = 30.0  # seconds of one hook (HOOK-04); its own `timeout` may only be lower
HOOK_OUTPUT: Final = 20 * KB  # kept of each of its streams (HOOK-06)
HOOKS: Final = 100  # of one file; each of them may run at every call
HOOKS_FILE: Final = 256 * KB
HOOK_NAME: Final = 120  # characters of a hook's command where it is named
SESSION_END_HOOKS: Final = 5.0  # seconds that closing the program waits for them
AFTER_EDIT_CHECKS: Final = 20  # each of them may run after every change of a file
AFTER_EDIT_TIMEOUT: Final = 30.0  # seconds of one of them, unless it names another time
AFTER_EDIT_TOTAL: Final = 120.0  # seconds of all after one change: the model and the person wait meanwhile
AFTER_EDIT_OUTPUT: Final = 6 * KB  # told of all that failed after one change, beside the change in one result
AFTER_EDIT_NAME: Final = 80  # characters of a check's command where it is named
TRUST_FILES: Final = 200  # files of a project that act; whoever accepts them has to look through them
TRUST_BYTES: Final = 2 * MB  # of all of them
TRUST_ROWS: Final = 500  # lines of what they do
TRUST_ROW_CHARS: Final = 4 * KB  # of one line; what is left out of it is said
TRUST_DEPTH: Final = 6  # folders below a project's skills

# -- compaction --------------------------------------------------------------------------------------------------
CONTEXT_CHARS: Final = 120_000  # a history with more is compacted (COMP-01)
KEEP_RECENT: Final = 10  # messages that stay as they are (COMP-01)
CHARS_A_TOKEN: Final = 4  # of plain English and code; a Chinese character is about one token
IMAGE_TOKENS: Final = 1_000  # one image, as most servers count one of medium size
MESSAGE_TOKENS: Final = 4  # what a message costs beside its text
WINDOW_GUESS: Final = 128_000  # tokens of a model that nobody knows the window of
SMALL_WINDOW: Final = 512_000  # tokens; below, compaction waits until SMALL_WINDOW_SHARE of it is full (COMP-09)
SMALL_WINDOW_SHARE: Final = 0.75
COMPACTION_GAIN: Final = 0.1  # of a history; a compaction that takes out less is not worth a request
COMPACTION_USELESS: Final = 0.9  # a request that is still this part of the one before shows a useless compaction
COMPACTION_REST: Final = 300.0  # seconds until another try after two useless ones (COMP-16)
COMPACTION_COOLDOWN: Final = (60.0, 300.0, 900.0)  # seconds after a summary that failed, then failed again (COMP-15)
COMPACTION_LOCK: Final = 900.0  # seconds one program may take to compact a session (COMP-19)
SUMMARY_INPUT: Final = 240_000  # characters of a history given to be summarised
SUMMARY_MESSAGE: Final = 6_000  # characters of one message in it, its beginning and its end
SUMMARY_LEAST: Final = 400  # characters of one message when there are very many
TOKEN_FACTOR: Final = (0.5, 3.0)  # how far the server's count of tokens may correct ours; more is another mistake
SUMMARY_WORDS: Final = 1_200  # asked of a summary
SUMMARY_TEXT: Final = 16_000  # characters of a summary; a longer one would soon fill the room that was made
SUMMARY_FALLBACK: Final = 8_000  # characters of what stands there when no model gave one (COMP-15)
DROPPED_ARGUMENT: Final = 200  # characters; longer texts in a dropped call's arguments are left out
CONTEXT_ITEMS: Final = 1_000  # largest messages listed in the view of what fills the window

# -- what is remembered over sessions ----------------------------------------------------------------------------
MEMORY_FILE: Final = 16 * MB  # memory.json; 10,000 entries have about 3
MEMORY_CHARS: Final = 1_000  # of one text: a fact or a lesson, not a document
MEMORY_LOCKED: Final = 5.0  # seconds that a write waits for another program's
MEMORY_TOP: Final = 5  # memories told in a turn (MEM-09)
MEMORY_MOST: Final = 50  # that may be asked for at once

# -- memory and disk ---------------------------------------------------------------------------------------------
SQLITE_BUSY: Final = 1.0  # one try; the write budget below is the whole
WRITE_BUDGET: Final = 20.0  # a write that cannot be made durable in this time is given up (SESS-16)
TRANSCRIPT_BUDGET: Final = 60.0  # the same for what a turn says and does; the turn ends then
ACTIVITY_BUDGET: Final = 0.5  # the same for drafts and the like, which are written again later anyway
LEASE_TTL: Final = 300.0  # a turn's lease that nobody renews is void after this (SESS-40)
LEASE_REFRESH: Final = 60.0  # between two renewals
LEASE_WAIT: Final = 1_800.0  # a turn waits this long for another program's turn in the same session
LEASE_LOOK: Final = 1.0  # seconds between two looks whether that has ended, or has stored something new to read
READ_ALONG_SHARE: Final = 10  # of that time, reading a long history anew takes at most one part
WRITE_STOPPED: Final = 2.0  # after a stop a write waits this long for another one of this program
WRITE_LOOK: Final = 0.1  # between two looks whether the turn that waits to write was stopped
WRITE_RETRY: Final = (0.02, 0.12)  # seconds between two tries of a write, drawn anew each time
STORE_CHECK: Final = 16 * MB  # larger databases are not checked whole at start: it must stay quick
CLOCK_AHEAD: Final = 86_400.0  # seconds; a clock may have been ahead by a wrong zone or a bad battery, not by more
DISK_LEAST: Final = 64 * KB  # with less free, what a database could not write was for want of room
HISTORY_TOLD: Final = 500  # messages of a session's end told when it is opened; few scroll up so far at once
SESSIONS_LISTED: Final = 200
DECISIONS_LISTED: Final = 200  # of the record, the newest
DECISION_CHARS: Final = 8_000  # of a command in the record; more than anybody reads before they say yes
SHRINK_FROM: Final = 256  # free pages (1 MB) from which on a database is made smaller: fewer are soon used again
SHRINK_STEP: Final = 256  # pages that are given back in one transaction, for which others wait some milliseconds
CHECKPOINT_EVERY: Final = 50  # successful writes between two PASSIVE checkpoints
CONFIG_FILE: Final = 1 * MB  # a settings file; a larger one is a mistake or an attack
CONFIG_NODES: Final = 20_000  # values in one settings file, aliases followed
CONFIG_DEPTH: Final = 32
CONFIG_WARNINGS: Final = 20  # about one settings file; the rest is counted
LOG_FILE: Final = 2 * MB
LOG_FILES: Final = 3
LOG_TEXT: Final = 16 * KB  # characters of one text in a log line; a message is no place for a whole file
CRASH_REPORT: Final = 64 * KB  # characters of one traceback
CRASH_REPORTS: Final = 10  # kept; the oldest go
HISTORY_ENTRIES: Final = 1_000  # composer history on disk
TITLE_CELLS: Final = 60  # of a session's title; a Chinese character is two
TITLE_LOOKED_AT: Final = 20_000  # characters of a first message; a title is in its first sentences
TITLE_LINES: Final = 400  # of them
DELETED_KEPT: Final = 7 * 86_400.0  # a deleted session can be brought back this long
RETENTION_DELAY: Final = 10.0  # seconds after the start before sessions are deleted for their age
ORPHAN_DRAFTS_KEPT: Final = 90 * 86_400.0  # drafts in folders where no session was begun
DRAFT_CHARS: Final = 4 * MB  # of a draft on disk; what a person can still mean to send
DRAFT_PIECE: Final = 64 * KB  # looked through for keys at once, so that the screen gets its turn
SCRIBE_DELAY: Final = 0.05  # what changes again within it is written once
SCRIBE_RETRY: Final = (1.0, 30.0)  # first and longest wait after a write that failed
SCRIBE_CLOSE: Final = 0.3  # for the last drafts when the program ends
FOLDERS_LISTED: Final = 500  # of a folder, for a chooser
FOLDERS_SCANNED: Final = 20_000  # entries looked at for that

# -- search ------------------------------------------------------------------------------------------------------
SEARCH_WORD: Final = 64  # characters of a word that can be found; longer ones are keys, hashes and packed data
SEARCH_TEXT: Final = 64 * KB  # characters of one message that can be found; what follows is a file's or a log's middle
SEARCH_QUERY: Final = 200  # characters of a query
SEARCH_HITS: Final = 50  # given at once; who needs more adds a word
SEARCH_SNIPPET: Final = 200  # characters around a hit: more than a row of a wide screen
RECALL_PASSAGES: Final = 20  # of earlier sessions given to a model at most
RECALL_PASSAGE: Final = 600  # characters of one: enough to tell what was meant
SEARCH_CANDIDATES: Final = 400  # best rows looked at first; those of deleted sessions and undone turns fall out
SEARCH_SLICE: Final = 100  # messages indexed in one transaction: some 20 ms, between which queries are answered
SEARCH_WAIT: Final = 1.0  # seconds a search waits for what has been written since; then it answers without
SEARCH_PATIENT: Final = 600.0  # the same where a script waits: an index of years is made from nothing meanwhile
SEARCH_CUT: Final = 3.0  # seconds a query waits for its words to be cut: the dictionary takes one to load
SEARCH_IDLE: Final = 120.0  # seconds after which the program that cuts words ends; its dictionary holds 100 MB
SEARCH_LOCKED: Final = 5.0  # seconds one program waits for another that writes to the index

IMPORT_FILE: Final = 256 * MB  # a session file; larger than any that was kept, images included
SALVAGE_ROW: Final = 64 * MB  # bytes of one row of a damaged database; a longer one is a misread number
SALVAGE_TRIES: Final = 2_000  # reads of a damaged table that fail before only its pages are looked at
CHECK_PROBLEMS: Final = 20  # faults of a file that are named; a spoiled one has thousands

TODO_ITEMS: Final = 100  # of one plan; the dock shows it whole
TODO_CHARS: Final = 300  # of one item
ASK_CHOICES: Final = 9  # one digit key each

KEY_CHARS: Final = 12  # no key is shorter; shorter words are not looked at while an answer streams
KEY_HELD: Final = 1_024  # an unfinished run of visible ASCII is held back no longer than this
KEY_CONTEXT: Final = 120  # characters before a word that may name it a key

MCP_STARTUP: Final = 60.0  # seconds a server may take to start: npx fetches it first (mcp.md R14)
MCP_CALL: Final = 120.0  # seconds one of its calls may take
MCP_CANCEL: Final = 0.5  # seconds after which a cancelled call has returned (R15)
MCP_SECONDS_MOST: Final = 3_600.0  # of a time in a server's entry; a larger number is one of milliseconds
MCP_TRIES: Final = 3  # starts of a server in a row before it cools down (MCP-12)
MCP_COOL_FIRST: Final = 30.0  # seconds a server that cannot be started is left alone; doubled each time
MCP_COOL_MOST: Final = 600.0
MCP_BREAK_AFTER: Final = 3  # calls in a row that got no answer before a server gets none for a while
MCP_BREAK: Final = 60.0  # seconds of that; then one call tries
MCP_TOOLS: Final = 64  # of all servers in a request, the rest behind a search (R32)
MCP_INSTRUCTIONS: Final = 2_000  # characters of what one server says of itself (R31); the longest seen has 1,574
MCP_DESCRIPTION: Final = 1_500  # characters of one tool's description in a request
MCP_LISTS: Final = 2.0  # seconds a turn waits for a list of tools that a server says has changed (R24)
MCP_CACHE_FILE: Final = 4 * MB  # what is kept of one server's tools
MCP_HELPER_ROWS: Final = 200  # resources or prompts listed for a model at once
MCP_FOUND: Final = 10  # tools that a search among them gives
AGENT_PREVIEW: Final = 500  # characters of a sub-agent's result on the board (SUB-02)

# -- words -------------------------------------------------------------------------------------------------------
PROBLEM_CHARS: Final = 80  # of a wrong argument quoted back to the model
SUBJECT_CHARS: Final = 200  # a tool card's subject before it is cut to the screen's width
SHELL_SUBJECT: Final = 4 * KB  # of the person's own command looked at for that, while the screen waits
PREVIEW_LINES: Final = 3  # of a failed tool card
ARGUMENTS_BYTES: Final = 4 * MB  # a tool call's arguments as received

# -- secrets in text ---------------------------------------------------------------------------------------------
SECRET_CHARS: Final = 6  # a shorter value is no secret worth hiding, and hiding it would hide words
REDACT_NAME: Final = 200  # characters of a field's name, and of a value, that are looked at to know it
REDACT_WORD: Final = 4 * KB  # of a stream: context kept, and the longest unfinished word held back
REDACT_HELD: Final = 64 * KB  # of a stream: the longest unfinished secret held back
