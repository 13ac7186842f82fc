"""Secrets vanish whole, by form, by field and by place; what only looks like one stays readable."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agent_core.safety.redact import MARK, Redactor, redact
from tests.corpus.secrets import check
from tests.rows import each_row

CORPUS = Path(__file__).parents[1] / "data/corpora/security/secrets.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
FAKE = "fakeSecretValue99"


@each_row("row", ROWS, ids=[row["id"] for row in ROWS])
def test_every_row_of_the_secrets_corpus_holds(row):
    assert check(row) == ""


# The text, and the piece of it that must vanish.
SECRETS = [
    ("machine h.example login u password fakeSecretValue99", FAKE),
    ("machine h.example\n  login u\n  password fakeSecretValue99\n", FAKE),
    ("//r.example/:_password=ZmFrZVNlY3JldA==", "ZmFrZVNlY3JldA=="),
    ("_auth=ZmFrZTpmYWtlcGFzc3dvcmQ=", "ZmFrZTpmYWtlcGFzc3dvcmQ="),
    ("curl -H 'X-Api-Key: fakeSecretValue99' https://x", FAKE),
    ("curl --user admin:fakeSecretValue99 x", FAKE),
    ("glpat-FAKEfake0FAKEfake0FA", "glpat-FAKE"),
    ("hf_FAKEfakeFAKEfakeFAKEfakeFAKEfakeFA", "hf_FAKE"),
    ("pypi-AgEIcHlwaS5vcmcCFAKEfake0FAKEfake0", "AgEIc"),
    ("sk-ant-api03-FAKEfake0FAKEfake0", "FAKEfake0F"),
    ("sk-or-v1-fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1", "fa0e1fa"),
    ("sk_test_FAKEfake0FAKEfake0FAKE", "FAKEfake0"),
    ("ghs_FAKEfake01FAKEfake01FAKEfake01FAKEfa", "FAKEfake01"),
    ("Authorization: bearer FAKE09fakeFAKE09", "FAKE09fake"),
    ("authorization: token fakeSecretValue99", FAKE),
    ("Proxy-Authorization: Basic dXNlcjpmYWtlLXBhc3N3b3Jk", "dXNlcjp"),
    ("Cookie: a=1; sid=fakeFAKE09fakeFAKE09; theme=dark", "fakeFAKE09"),
    (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nFAKEfake0FAKEfake0\nFAKE==\n-----END OPENSSH PRIVATE KEY-----",
        "FAKE",
    ),
    ("-----BEGIN PRIVATE KEY-----\nFAKEfake0FAKEfake0FAKEfake0\nFAKEfake1FAKEf", "FAKE"),
    ("-----BEGIN EC PRIVATE KEY-----\\nFAKEfake0FAKEfake0FAKEfake0\\nFAKEfake1", "FAKE"),
    (
        "+-----BEGIN RSA PRIVATE KEY-----\n+FAKEfake0FAKEfake0\n+FAKEfake1FAKEfake1\n+-----END RSA PRIVATE KEY-----",
        "FAKE",
    ),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\nFAKEfake0FAKEfake0\n",
        "FAKE",
    ),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nFAKEfake0FAKEfake0\n=FAKE\n-----END PGP PRIVATE KEY BLOCK-----", "FAKE"),
    ('{"password": "fakeSecretValue99", "x": 1}', FAKE),
    ("'client_secret': 'fakeSecretValue99'", FAKE),
    ("export SECRET_KEY='fakeSecretValue99'", FAKE),
    ('password = "fake secret 99"', "fake secret 99"),
    ('{\\"api_key\\": \\"fakeSecretValue99\\"}', FAKE),
    ("tool --token fakeSecretValue99 run", FAKE),
    ("tool --api-key=fakeSecretValue99 run", FAKE),
    ("sshpass -p fakeSecretValue99 ssh h", FAKE),
    ("mysql -u root -pfakeSecretValue99 db", FAKE),
    ("redis://:fakeSecretValue99@h:6379/0", FAKE),
    ("Server=x;User Id=sa;Password=fakeSecretValue99;Encrypt=true", FAKE),
    ("AccountName=a;AccountKey=FAKEfake0+/FAKEfake0+/==;EndpointSuffix=x", "FAKEfake0+"),
    ("https://x/y?api_key=fakeSecretValue99&b=2", FAKE),
    ("https://x/y?sig=FAKEfake0%2BFAKEfake0&se=2", "FAKEfake0"),
    ("X-Auth-Token: fakeSecretValue99", FAKE),
    ("PGPASSWORD=fakeSecretValue99 psql -h x", FAKE),
    ("spring.datasource.password: fakeSecretValue99", FAKE),
    ("refresh_token: 1//fakeSecretValue99-abc", FAKE),
    ("- token: fakeSecretValue99\n", FAKE),
    ("AWS_SECRET_ACCESS_KEY=fakeFAKE/test+0123fakeFAKE/test+0123fake", "fakeFAKE/"),
    ('aws_secret_access_key: "/akeFAKE/test+0123fakeFAKE/test+0123fake"', "/akeFAKE"),
    ("https://discord.example/api/webhooks/123456789012/FAKEfake0_-FAKEfake0_-FAKEfake0_-FAKE", "FAKEfake0"),
    ("<password>fakeSecretValue99</password>", FAKE),
    ('headers = {"Authorization": "Bearer FAKE09fakeFAKE09fake"}', "FAKE09fake"),
    (
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIAFAKETEST2345FAKE/20200101, Signature=fa0e1fa0e1fa0e1fa0e1",
        "AKIAFAKE",
    ),
    ("DATABASE_URL=mysql://root:fakeSecretValue99@localhost/db", FAKE),
    ("ANTHROPIC_API_KEY: sk-ant-FAKEfake0FAKEfake0", "FAKEfake0"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJmYWtlIn0.FAKEfake0FAKEfake0", "eyJ"),
    ("Set-Cookie: __Host-sid=fakeFAKE09fake; HttpOnly", "fakeFAKE09"),
    ("MY_AUTH=abc123def456", "abc123def456"),
    ("docker login -u me -p fakeSecretValue99 r.example", FAKE),
    ("MTk4FAKE0FAKE0FAKE0FAKE0.Cl2FMQ.FAKEfake0FAKEfake0FAKEfake0", "FAKEfake0"),
    ("your API key: fakeSecretValue99", FAKE),
    ("DB_PASS=fakeSecretValue99", FAKE),
    ("dbPass: 'fakeSecretValue99'", FAKE),
    ("secretKey: 'fakeSecretValue99'", FAKE),
    ('{"clientSecretValue": "fakeSecretValue99"}', FAKE),
    ("glsa_FAKEfake0FAKEfake0FAKEfake0_fa0e1fa0", "FAKEfake0F"),
    ("sntryu_fa0e1fa0e1fa0e1fa0e1fa0e1fa0e1", "fa0e1fa"),
    ("ops_eyJFAKEfake0FAKEfake0FAKEfake0", "FAKEfake0F"),
    ("ATCTT3FAKEfake0FAKEfake0FAKEfake0FAKE", "FAKEfake0F"),
    ("NRAK-FAKE0FAKE0FAKE0FAKE0FAKE0FA", "FAKE0FAKE"),
    ("sq0csp-FAKEfake0FAKEfake0FAKEfake0", "FAKEfake0F"),
    ("fo1_FAKEfake0FAKEfake0FAKEfake0", "FAKEfake0F"),
    ("1//0FAKEfake0-FAKEfake0FAKEfake0FAKE", "FAKEfake0F"),
    ("access_token=ya29.FAKEfake0FAKEfake0FAKEfake0", "FAKEfake0"),
    ("password=correcthorsebatterystaple\n", "correct"),
]


@each_row(("text", "secret"), SECRETS)
def test_a_secret_vanishes(text, secret):
    got = redact(text)
    assert secret not in got
    assert MARK in got


KEPT = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "uuid: 550e8400-e29b-41d4-a716-446655440000",
    'password: ""',
    "password: null",
    "api_key: ${API_KEY}",
    'api_key: "{{ .Values.apiKey }}"',
    "token = get_token()",
    "token = self.token",
    "const apiKey = process.env.API_KEY;",
    "password: str = Field(...)",
    "def login(user: str, password: str) -> None:",
    "login(username=user, password=password)",
    "token: string;",
    "API_KEY=your-api-key-here",
    "API_KEY=xxxxxxxxxxxx",
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxx",
    "SECRET=****************",
    'password = input("Password: ")',
    "tokens: 1234, max_tokens: 4096, token_count=42",
    "prompt_tokens: 12345678",
    "The password is required and the token expired yesterday.",
    "Password: must be at least 12 characters long",
    "color: #ff00aa; background: #12345678",
    "-----BEGIN PUBLIC KEY-----",
    "FAKEfake0FAKEfake0",
    "-----END PUBLIC KEY-----",
    're.compile(r"sk-[A-Za-z0-9]{20,}")',
    're.compile(r"password=\\S+")',
    'pattern = "token:\\s*([A-Za-z0-9]+)"',
    '"tarball": "https://registry.example/x/-/x-1.0.0.tgz#0123456789abcdef0123456789abcdef01234567"',
    "git@github.com:user/repo.git",
    "bearer token authentication is used",
    "Basic authentication: see docs",
    "Basic understanding of Bearer tokens",
    "docker run -u 1000:1000 image",
    "docker run -u node:node image",
    "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0=",
    "author: Jane Doe <jane@example.invalid>",
    "secret_name: my-secret-123",
    "secretName: db-credentials-1",
    'passwordField: "loginPassword1"',
    "private_key_path: /home/u/.ssh/id_rsa",
    "private_key: /home/u/.ssh/id_rsa",
    "token_url: https://example.com/oauth/token",
    "compass: north-east-123",
    "if password == stored_password2:",
    "if token != None and token2:",
    "password=$DB_PASSWORD",
    "password: !vault |",
    "password: <%= ENV['X1'] %>",
    "token => token,",
    '"password": "Passwort",',
    '"token": "Zugangstoken"',
    "postgres://user:password@localhost/db",
    "postgres://${USER}:${PASS}@host/db",
    "http://localhost:8080/a@b",
    "AAAAB3NzaC1yc2EAAAADAQABAAABgQC",
    "next_page_token: abc123def456",
    "csrf_token_name: abc123def",
    'x = tokenizer.encode("abc123")',
    'SECRET_KEY = os.environ["SECRET_KEY"]',
    "sha1-abcdef0123456789 md5:0123456789abcdef",
    "E11000 duplicate key error collection: a.b index: c_1 dup key: { : 12345678 }",
    "key: value123456",
    "12345678:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "2024-01-01T12:00:00 [12345678:worker-thread-pool] started",
    "pass: 12 passed, fail: 0",
    "tests pass: test_one1 test_two2",
    "signature: def f(x1, y2)",
    "secret: false",
    "const secret = 42",
    "import secrets; secrets.token_hex(16)",
    'key=Annotated[str, "x1"]',
    "task-force-1234567890 disk-1234567890abc",
    "git config credential.helper store",
    "credential: helper=store1",
    'curl -H "Authorization: Bearer $TOKEN" x',
    'curl -H "Authorization: Bearer ${TOKEN}" x',
    "Authorization: Bearer <token>",
    "password_hash = hash_password(password)",
    "The secret: never give up123",
    'api_key="<YOUR_API_KEY>"',
    '"access_token": "string"',
    'token: "{token}"',
    "password = settings.db_password",
    "mysql -u root -p mydatabase1",
    "GOOGLE_APPLICATION_CREDENTIALS=/srv/a/b.json",
    "credentials: include123",
    "my_auth = HTTPBasic1",
    "root:x:0:0:root:/root:/bin/bash",
    "auth: {type: basic1}",
]


@each_row("text", KEPT)
def test_what_is_no_secret_stays(text):
    assert redact(text) == text


@each_row(
    ("text", "shown"),
    [
        (f"DB_PASSWORD={FAKE} # prod", f"DB_PASSWORD={MARK} # prod"),
        (f'{{"a": 1, "password": "{FAKE}", "b": 2}}', f'{{"a": 1, "password": "{MARK}", "b": 2}}'),
        (f"postgres://app:{FAKE}@db.example:5432/app", f"postgres://app:{MARK}@db.example:5432/app"),
        (f"GET /cb?access_token={FAKE}&state=1#x", f"GET /cb?access_token={MARK}&state=1#x"),
        ("Authorization: Bearer FAKE09fakeFAKE09", f"Authorization: Bearer {MARK}"),
        (f"connect(token='{FAKE}', retries=3)", f"connect(token='{MARK}', retries=3)"),
        (f"(password={FAKE})", f"(password={MARK})"),
    ],
)
def test_the_field_and_what_is_around_it_stay(text, shown):
    assert redact(text) == shown


def test_values_the_program_knows_vanish_wherever_they_stand():
    assert redact("the key is plainwords, yes", ["plainwords"]) == f"the key is {MARK}, yes"
    assert redact("abc abc", ["abc"]) == "abc abc", "too short to be hidden without hiding words"


def test_colours_stay_where_there_is_no_secret_and_hide_none():
    assert redact("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m"
    assert redact("password=fake\x1b[1mSecretValue99\x1b[0m") == f"password={MARK}"


@each_row(("text", "secret"), SECRETS)
@each_row("size", [1, 7])
def test_a_secret_that_arrives_in_pieces_vanishes_too(text, secret, size):
    redactor = Redactor()
    got = [redactor.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert secret not in "".join(got) + redactor.flush()


@each_row("text", KEPT)
def test_other_text_arrives_whole_whatever_the_pieces(text):
    redactor = Redactor()
    assert "".join(redactor.feed(char) for char in text) + redactor.flush() == text


def test_a_stream_gives_out_finished_words_at_once():
    redactor = Redactor(["known-value"])
    assert redactor.feed("Hello wor") == "Hello "
    assert redactor.feed("ld, the known-va") == "world, the "
    assert redactor.feed("lue \x1b[3") == f"{MARK} "
    assert redactor.feed("1mend") == ""
    assert redactor.flush() == "end"


def test_a_stream_without_a_blank_does_not_fill_memory():
    redactor = Redactor()
    given = sum(len(redactor.feed("x" * 1000)) for _ in range(300))
    assert given > 290_000
    assert given + len(redactor.flush()) == 300_000


@pytest.mark.parametrize(
    "piece",
    [
        "2024-01-01 12:00:00 INFO worker 7: handled request /api/items/7 in 12 ms\n",
        "password=",
        'password="',
        "x_token.",
        "sk-",
        "://a:",
        "curl -u a:b ",
        "mysql -p",
        "12345678:",
        "Cookie: a=bbbbbbbbb;",
        "login x password ",
        "-----BEGIN PRIVATE KEY-----\n",
        "\x1b[",
    ],
)
def test_any_text_is_redacted_in_linear_time(piece):
    text = piece * (250_000 // len(piece))
    begun = time.thread_time()
    redact(text)
    redact("-----BEGIN PRIVATE KEY-----" + text[:50_000])
    assert time.thread_time() - begun < 5
