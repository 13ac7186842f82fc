-- Names that other tools know from Hermes (SESS-12, SESS-14, SESS-15), and tables of rooms still to come, so that none
-- of them needs a rename. Nothing here costs a reader anything: a generated column is made when it is asked for.

-- SESS-14. What is known under another name already is generated; the rest waits for its room.
ALTER TABLE sessions ADD COLUMN cwd TEXT GENERATED ALWAYS AS (workspace) VIRTUAL;
ALTER TABLE sessions ADD COLUMN started_at REAL GENERATED ALWAYS AS (created) VIRTUAL;
ALTER TABLE sessions ADD COLUMN archived INTEGER GENERATED ALWAYS AS (deleted_at IS NOT NULL) VIRTUAL;
ALTER TABLE sessions ADD COLUMN ended_at REAL;
ALTER TABLE sessions ADD COLUMN end_reason TEXT;
ALTER TABLE sessions ADD COLUMN model_config TEXT;
ALTER TABLE sessions ADD COLUMN actual_cost_usd REAL;
ALTER TABLE sessions ADD COLUMN cost_status TEXT;
ALTER TABLE sessions ADD COLUMN git_branch TEXT;
ALTER TABLE sessions ADD COLUMN git_repo_root TEXT;
-- Where the session comes from: '' this program's own faces, else a fork, an import, a gateway platform, cron, a child.
-- What a session with a parent costs is the parent's cost too, but for a fork's.
ALTER TABLE sessions ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN user_id TEXT;
ALTER TABLE sessions ADD COLUMN session_key TEXT;
ALTER TABLE sessions ADD COLUMN chat_id TEXT;
ALTER TABLE sessions ADD COLUMN chat_type TEXT;
ALTER TABLE sessions ADD COLUMN thread_id TEXT;
ALTER TABLE sessions ADD COLUMN origin_json TEXT;
CREATE INDEX sessions_by_key ON sessions (session_key) WHERE session_key IS NOT NULL;
ALTER TABLE sessions ADD COLUMN tool_call_count INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET tool_call_count =
    (SELECT count(*) FROM messages m WHERE m.session_id = sessions.id AND m.role = 'tool' AND m.position IS NOT NULL);
-- Sums of session_model_usage; NULL: no server ever said.
ALTER TABLE sessions ADD COLUMN input_tokens INTEGER;
ALTER TABLE sessions ADD COLUMN output_tokens INTEGER;
ALTER TABLE sessions ADD COLUMN cache_read_tokens INTEGER;
ALTER TABLE sessions ADD COLUMN cache_write_tokens INTEGER;
ALTER TABLE sessions ADD COLUMN reasoning_tokens INTEGER;
ALTER TABLE sessions ADD COLUMN estimated_cost_usd REAL;
ALTER TABLE sessions ADD COLUMN pricing_version TEXT;
CREATE TRIGGER usage_added AFTER INSERT ON session_model_usage BEGIN
    UPDATE sessions SET (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
        estimated_cost_usd, pricing_version) = (SELECT sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens),
        sum(cache_write_tokens), sum(reasoning_tokens), sum(estimated_cost_usd), max(pricing_version)
        FROM session_model_usage WHERE session_id = NEW.session_id) WHERE id = NEW.session_id;
END;
CREATE TRIGGER usage_changed AFTER UPDATE ON session_model_usage BEGIN
    UPDATE sessions SET (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
        estimated_cost_usd, pricing_version) = (SELECT sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens),
        sum(cache_write_tokens), sum(reasoning_tokens), sum(estimated_cost_usd), max(pricing_version)
        FROM session_model_usage WHERE session_id = NEW.session_id) WHERE id = NEW.session_id;
END;
UPDATE session_model_usage SET requests = requests;

-- SESS-15. `body` is the message; a spoiled one has no columns.
ALTER TABLE messages ADD COLUMN message_uid TEXT GENERATED ALWAYS AS (uid) VIRTUAL;
ALTER TABLE messages ADD COLUMN timestamp REAL GENERATED ALWAYS AS (created) VIRTUAL;
ALTER TABLE messages ADD COLUMN compacted INTEGER GENERATED ALWAYS AS (view = 'compacted') VIRTUAL;
ALTER TABLE messages ADD COLUMN content TEXT GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.text') END) VIRTUAL;
ALTER TABLE messages ADD COLUMN reasoning TEXT GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.reasoning') END) VIRTUAL;
ALTER TABLE messages ADD COLUMN tool_calls TEXT GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.tool_calls') END) VIRTUAL;
ALTER TABLE messages ADD COLUMN tool_call_id TEXT GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.result.call_id') END) VIRTUAL;
ALTER TABLE messages ADD COLUMN tool_name TEXT GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.result.name') END) VIRTUAL;
ALTER TABLE messages ADD COLUMN effect_disposition TEXT GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.result.effect') END) VIRTUAL;
ALTER TABLE messages ADD COLUMN finish_reason TEXT GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.finish') END) VIRTUAL;
ALTER TABLE messages ADD COLUMN token_count INTEGER GENERATED ALWAYS AS (
    CASE WHEN json_valid(body) THEN json_extract(body, '$.usage.completion_tokens') END) VIRTUAL;
-- Its name on a chat platform, and the bytes that were sent where a replay must be exact.
ALTER TABLE messages ADD COLUMN platform_message_id TEXT;
ALTER TABLE messages ADD COLUMN api_content TEXT;

-- SESS-12: for tools that look for the version in a table.
CREATE VIEW schema_version AS SELECT user_version AS version FROM pragma_user_version;

-- SESS-17: which session a chat talks to.
CREATE TABLE gateway_routing (
    session_key TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    platform TEXT NOT NULL DEFAULT '',
    chat_id TEXT NOT NULL DEFAULT '',
    thread_id TEXT NOT NULL DEFAULT '',
    user_id TEXT NOT NULL DEFAULT '',
    updated_at REAL NOT NULL
) WITHOUT ROWID;

-- SUB-11: delegations that run beside a turn; a restart interrupts them.
CREATE TABLE async_delegations (
    id TEXT PRIMARY KEY,
    parent_session_id TEXT NOT NULL,
    child_session_id TEXT,
    status TEXT NOT NULL,
    task TEXT NOT NULL,
    result TEXT,
    created_at REAL NOT NULL,
    finished_at REAL
) WITHOUT ROWID;

-- GW-24 to GW-26: what has to be sent to a chat, and how far that got.
CREATE TABLE delivery_obligations (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    session_key TEXT NOT NULL DEFAULT '',
    platform TEXT NOT NULL,
    profile TEXT NOT NULL DEFAULT '',
    chat_id TEXT NOT NULL,
    thread_id TEXT NOT NULL DEFAULT '',
    message_uid TEXT NOT NULL DEFAULT '',
    content TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    not_before REAL NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX delivery_by_status ON delivery_obligations (status, updated_at);

-- GW-19: one row; the epoch grows with each start of the gateway.
CREATE TABLE runtime_epoch (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,
    instance_id TEXT NOT NULL,
    started_at REAL NOT NULL
);

-- GW-17, GW-18: what was accepted for a session and has not ended. intent: queue, steer, redirect; status: queued,
-- started, unknown, terminal.
CREATE TABLE session_admissions (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    session_key TEXT NOT NULL DEFAULT '',
    intent TEXT NOT NULL,
    status TEXT NOT NULL,
    payload TEXT NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX admissions_by_session ON session_admissions (session_id, status, created_at);

-- GW-19: work of cron, children, compute and kanban, and what came of it.
CREATE TABLE worker_executions (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL DEFAULT '',
    session_id TEXT,
    status TEXT NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    started_at REAL NOT NULL,
    finished_at REAL
) WITHOUT ROWID;
CREATE TABLE worker_receipts (
    execution_id TEXT PRIMARY KEY REFERENCES worker_executions (id) ON DELETE CASCADE,
    outcome TEXT NOT NULL,
    result TEXT NOT NULL DEFAULT '',
    created_at REAL NOT NULL
) WITHOUT ROWID;
