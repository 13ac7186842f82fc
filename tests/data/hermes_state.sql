-- What a release of Hermes has in its state.db, as far as it matters here.
CREATE TABLE schema_version (version INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
    parent_session_id TEXT, started_at REAL, ended_at REAL, end_reason TEXT, message_count INTEGER, title TEXT, cwd TEXT,
    git_branch TEXT, archived INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,
    tool_calls TEXT, tool_name TEXT, timestamp REAL, token_count INTEGER, finish_reason TEXT, reasoning TEXT,
    effect_disposition TEXT, platform_message_id TEXT, compacted INTEGER, api_content TEXT, message_uid TEXT);
INSERT INTO schema_version VALUES (32);
INSERT INTO sessions (id, source, model, started_at, ended_at, title, cwd) VALUES
    ('20260101_120000_abc', 'cli', 'hermes-4', 1767268800.0, 1767269800.0, '修复时区', '/projects/ledger'),
    ('20260102_empty', 'telegram', 'hermes-4', 1767268801.0, NULL, NULL, NULL);
INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason, reasoning,
    effect_disposition, compacted) VALUES
    ('20260101_120000_abc', 'session_meta', NULL, NULL, NULL, NULL, 1767268800.0, NULL, NULL, NULL, 0),
    ('20260101_120000_abc', 'system', 'You are Hermes.', NULL, NULL, NULL, 1767268800.0, NULL, NULL, NULL, 0),
    ('20260101_120000_abc', 'user', 'an older question', NULL, NULL, NULL, 1767268800.5, NULL, NULL, NULL, 1),
    ('20260101_120000_abc', 'user', '[{"type": "text", "text": "修好它"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]', NULL, NULL, NULL, 1767268801.0, NULL, NULL, NULL, 0),
    ('20260101_120000_abc', 'assistant', '', NULL, '[{"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\": \"ls\"}"}}]', NULL, 1767268802.0, 'tool_calls', 'look first', NULL, 0),
    ('20260101_120000_abc', 'tool', 'a.py', 'call_1', NULL, 'terminal', 1767268803.0, NULL, NULL, 'unknown', 0),
    ('20260101_120000_abc', 'assistant', 'broken', NULL, '{not json', NULL, 1767268804.0, NULL, NULL, NULL, 0),
    ('20260101_120000_abc', 'assistant', '好了', NULL, NULL, NULL, 1767268805.0, 'stop', NULL, NULL, 0);
