-- Sessions and their messages. A new database runs every file of this folder in order, an older one those it lacks.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL DEFAULT '',
    workspace TEXT NOT NULL,
    model TEXT NOT NULL DEFAULT '',
    provider TEXT NOT NULL DEFAULT '',
    mode TEXT NOT NULL DEFAULT 'ask',
    created REAL NOT NULL,
    updated REAL NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0,
    turn_count INTEGER NOT NULL DEFAULT 0,
    todos TEXT NOT NULL DEFAULT '[]'
);

CREATE INDEX sessions_by_use ON sessions (workspace, updated);

-- `position` orders a conversation. NULL: the body could not be read when the session was repaired, so the row was
-- taken out of the conversation, and kept.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    uid TEXT NOT NULL,
    position INTEGER,
    role TEXT NOT NULL,
    origin TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (session_id, uid),
    UNIQUE (session_id, position)
);

-- Calls that have begun and have no result yet: what a crash leaves in doubt.
CREATE TABLE open_effects (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    started REAL NOT NULL,
    PRIMARY KEY (session_id, call_id)
) WITHOUT ROWID;

-- Tokens by model; NULL means that no server ever said.
CREATE TABLE model_usage (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL DEFAULT 0,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    total_tokens INTEGER,
    cached_tokens INTEGER,
    reasoning_tokens INTEGER,
    PRIMARY KEY (session_id, model)
) WITHOUT ROWID;
