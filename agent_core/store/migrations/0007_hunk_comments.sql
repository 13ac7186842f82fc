-- What the person says about changes and has not sent yet, as JSON [{path, hunks, text}, ...]. A session in which
-- something was changed has its row.
CREATE TABLE hunk_comments (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    comments TEXT NOT NULL
) WITHOUT ROWID;
