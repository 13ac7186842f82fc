-- Every decision about what a tool was to do: what, by which rule, who, when. Rows are never changed; those of a
-- session go with it for good.
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    session_id TEXT,
    workspace TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    kind TEXT NOT NULL,
    what TEXT NOT NULL,
    cwd TEXT NOT NULL DEFAULT '',
    sandbox TEXT NOT NULL DEFAULT '',
    verdict TEXT NOT NULL,
    rule TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    call_id TEXT NOT NULL DEFAULT ''
);
CREATE INDEX decisions_by_session ON decisions (session_id, id);
CREATE INDEX decisions_by_time ON decisions (created);

-- What mode goal works towards: {} or {text, state, evidence}.
ALTER TABLE sessions ADD COLUMN goal TEXT NOT NULL DEFAULT '{}';
