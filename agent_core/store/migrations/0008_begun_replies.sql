-- What the model has said so far of a reply, as a message cut short, and the message it answers: a program that is
-- killed loses no more of it than the last seconds. Of no account once another message stands behind that one.
CREATE TABLE begun_replies (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    behind TEXT NOT NULL,
    body TEXT NOT NULL
) WITHOUT ROWID;
