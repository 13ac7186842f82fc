-- What was used on which day, by the clock of the machine: the days of a session add up to its rows of
-- session_model_usage, and to its run_seconds.
CREATE TABLE session_day_usage (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL DEFAULT 0,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    total_tokens INTEGER,
    cached_tokens INTEGER,
    reasoning_tokens INTEGER,
    cache_write_tokens INTEGER,
    estimated_cost_usd REAL NOT NULL DEFAULT 0,
    unpriced_requests INTEGER NOT NULL DEFAULT 0,
    pricing_version TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (session_id, day, model)
) WITHOUT ROWID;
CREATE INDEX usage_by_day ON session_day_usage (day);

CREATE TABLE session_day_time (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    day TEXT NOT NULL,
    run_seconds REAL NOT NULL,
    PRIMARY KEY (session_id, day)
) WITHOUT ROWID;

-- What was used before has no day of its own: a session's is shared out over the days of its answers, by their number,
-- and one that has none of its own used it on the day it was used last. Whole numbers stay whole, and add up.
CREATE TEMP TABLE shares AS
    WITH answered (session_id, day, answers) AS (
        SELECT m.session_id, coalesce(date(m.created, 'unixepoch', 'localtime'), date('now', 'localtime')), count(*)
        FROM messages m JOIN sessions s ON s.id = m.session_id
        WHERE m.role = 'assistant' AND m.created >= s.created
            AND (s.run_seconds > 0 OR s.id IN (SELECT session_id FROM session_model_usage))
        GROUP BY 1, 2
    ), days AS (
        SELECT session_id, day, answers FROM answered
        UNION ALL
        SELECT id, coalesce(date(updated, 'unixepoch', 'localtime'), date('now', 'localtime')), 1 FROM sessions
        WHERE id NOT IN (SELECT session_id FROM answered)
    )
    SELECT session_id, day, sum(answers) OVER upto AS upto, sum(answers) OVER upto - answers AS before,
        sum(answers) OVER (PARTITION BY session_id) AS whole
    FROM days WINDOW upto AS (PARTITION BY session_id ORDER BY day);
INSERT INTO session_day_usage
    SELECT u.session_id, d.day, u.model,
        u.requests * d.upto / d.whole - u.requests * d.before / d.whole,
        u.prompt_tokens * d.upto / d.whole - u.prompt_tokens * d.before / d.whole,
        u.completion_tokens * d.upto / d.whole - u.completion_tokens * d.before / d.whole,
        u.total_tokens * d.upto / d.whole - u.total_tokens * d.before / d.whole,
        u.cached_tokens * d.upto / d.whole - u.cached_tokens * d.before / d.whole,
        u.reasoning_tokens * d.upto / d.whole - u.reasoning_tokens * d.before / d.whole,
        u.cache_write_tokens * d.upto / d.whole - u.cache_write_tokens * d.before / d.whole,
        u.estimated_cost_usd * (d.upto - d.before) / d.whole,
        u.unpriced_requests * d.upto / d.whole - u.unpriced_requests * d.before / d.whole,
        u.pricing_version
    FROM session_model_usage u JOIN shares d ON d.session_id = u.session_id;
INSERT INTO session_day_time
    SELECT s.id, d.day, s.run_seconds * (d.upto - d.before) / d.whole
    FROM sessions s JOIN shares d ON d.session_id = s.id WHERE s.run_seconds > 0;
DROP TABLE shares;
