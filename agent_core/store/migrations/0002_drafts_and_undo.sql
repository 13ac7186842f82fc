-- Deleted sessions stay for a while; what was read last; drafts and waiting texts; the person's own commands.

ALTER TABLE sessions ADD COLUMN deleted_at REAL;
-- The uid of the newest message the person has seen; empty: never noted.
ALTER TABLE sessions ADD COLUMN seen TEXT NOT NULL DEFAULT '';

-- The command of a call that no message holds yet: one of the person's own.
ALTER TABLE open_effects ADD COLUMN subject TEXT NOT NULL DEFAULT '';

-- Text that was typed and not sent, and text that waits, as JSON [[message uid, text], ...]. A session gets its row
-- with its first message, so these rows may belong to one that does not exist; a later start in the same folder takes
-- over what no living program owns.
CREATE TABLE drafts (
    session_id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL,
    owner TEXT NOT NULL,
    updated REAL NOT NULL,
    text TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE pending (
    session_id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL,
    owner TEXT NOT NULL,
    updated REAL NOT NULL,
    texts TEXT NOT NULL
) WITHOUT ROWID;
