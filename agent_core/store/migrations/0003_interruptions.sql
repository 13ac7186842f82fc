-- What a session keeps besides its words: its settings and prompt, what requests leave out, what was undone, who is at
-- work in it, what it cost.

ALTER TABLE sessions ADD COLUMN parent_session_id TEXT;
-- A person chose the model for this session: another one never answers in its place.
ALTER TABLE sessions ADD COLUMN model_chosen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN persona TEXT NOT NULL DEFAULT '';
-- NULL: not sent.
ALTER TABLE sessions ADD COLUMN temperature REAL;
ALTER TABLE sessions ADD COLUMN reasoning_effort TEXT NOT NULL DEFAULT '';
-- The system prompt but for the sentence of the mode and the names of the tools in order (JSON) as they are sent, and
-- what they were made from: a resumed session sends the same bytes.
ALTER TABLE sessions ADD COLUMN system_prompt TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN tools TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN prompt_identity TEXT NOT NULL DEFAULT '';
-- Grows with every change of the conversation, so that a second program sees that the first has moved on.
ALTER TABLE sessions ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
-- Seconds that turns have been under way.
ALTER TABLE sessions ADD COLUMN run_seconds REAL NOT NULL DEFAULT 0;

-- messages.View: what a request makes of the message.
ALTER TABLE messages ADD COLUMN view TEXT NOT NULL DEFAULT '';
-- How often the body was changed where it is, so that the search index sees it.
ALTER TABLE messages ADD COLUMN edits INTEGER NOT NULL DEFAULT 0;
-- The undo that took the message out, counted up within a session, and the position it had; NULL: none did.
ALTER TABLE messages ADD COLUMN undone INTEGER;
ALTER TABLE messages ADD COLUMN undone_position INTEGER;
CREATE INDEX messages_undone ON messages (session_id) WHERE undone IS NOT NULL;

-- The program that runs the call (store/owner.py): what it has under way is no crash's while it lives.
ALTER TABLE open_effects ADD COLUMN owner TEXT NOT NULL DEFAULT '';

ALTER TABLE model_usage RENAME TO session_model_usage;
ALTER TABLE session_model_usage ADD COLUMN cache_write_tokens INTEGER;
-- US dollars of the requests whose price was known, and how many there were of the others.
ALTER TABLE session_model_usage ADD COLUMN estimated_cost_usd REAL NOT NULL DEFAULT 0;
ALTER TABLE session_model_usage ADD COLUMN unpriced_requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_model_usage ADD COLUMN pricing_version TEXT NOT NULL DEFAULT '';

-- The program that runs a turn of a session. `acquired_at` is in seconds since the epoch, `expires_at` by a clock that
-- nobody can set (store/lease.py).
CREATE TABLE session_turn_leases (
    conversation_id TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    acquired_at REAL NOT NULL,
    expires_at REAL NOT NULL
) WITHOUT ROWID;

-- The program that compacts a session; times as above.
CREATE TABLE compression_locks (
    session_id TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    acquired_at REAL NOT NULL,
    expires_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE state_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
