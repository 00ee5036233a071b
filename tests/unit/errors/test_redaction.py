"""Test the redactor: secrets go, JSON stays JSON, a secret keeps its placeholder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import cycle, islice
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.strategies import json_values, texts

from claudewire.errors import PLACEHOLDER, Redactor, StreamRedactor
from claudewire.errors.redaction import PIECE

HOME = "/home/samuel"


def redactor(
    *extra: str, home: str = HOME, environment: Mapping[str, str] | None = None
) -> Redactor:
    return Redactor(home=home, extra=extra, environment=environment or {})


def opaque(length: int, letters: str = "q7Zk2MvB9xLw4NtR8cHs6YdF3gJp5TaV1eUo0WiK") -> str:
    return "".join(islice(cycle(letters), length))


# Put together here, so that no scanner takes this file for a leak. None was ever valid.
TOKENS = [
    *(prefix + opaque(40) for prefix in ("sk-", "sk-proj-", "gsk_", "xai-", "hf_", "ghp_", "npm_")),
    *(prefix + opaque(20) for prefix in ("glpat-", "hvs.", "dop_v1_", "glsa_", "lin_api_", "ntn_")),
    *(prefix + opaque(30) for prefix in ("sk_live_", "rk_test_", "whsec_", "shpat_", "AIza")),
    "sk-ant-api03-" + opaque(95),
    *(prefix + opaque(40) for prefix in ("IQoJb3JpZ2luX2Vj", "vercel_blob_rw_", "AQ.")),
    "github_pat_11" + opaque(80),
    "AKIA" + opaque(16, "Q7ZK2MVB9XLW4NTR"),
    "xoxb-" + opaque(12, "7294016385") + "-" + opaque(24),
    "SG." + opaque(22) + "." + opaque(43),
    opaque(9, "7294016385") + ":AA" + opaque(33),
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + opaque(43),
]
S = "hunter2-Sw0rdf1sh"
NAMED = [
    f"PASSWORD={S}",
    f"password => '{S}'",
    f'{{\\"password\\": \\"{S}\\"}}',
    f"set dbPass={S}",
    f"Server=db;Uid=me;Pwd={S};",
    f"SharedAccessKeyName=Root;SharedAccessKey={S}=",
    f"x-api-key: {S}",
    f"//registry.example.org/:_authToken={S}",
    f"<user name='x' password='{S}'/>",
    f"curl -H 'Authorization: Bearer {S}' https://example.org",
    f"Cookie: a=1; session={S}; b=2",
    f"postgres://me:{S}@db/x",
    f"deploy --api-key {S} --verbose",
    f"https://example.org/cb?code={S}&state=x",
    f"https://hooks.slack.com/services/T024BE7LD/B0/{S}",
    f"PASSWORD=\x1b[32m{S}\x1b[0m",
    f"\x1b[31mpass={S}",
    rf"\u001b[1mpassword\u001b[0m: {S}",
    rf'password: "two\nlines {S}"',
    f"PASSWORD%3D{S}",
    f"postgres://me:p@{S}@db/x",
    f'variable "db_password" {{\n  type = string\n  default = "{S}"\n}}',
    f"Access key ID,Secret access key\nAKIAQ7ZK2MVB9XLW4NTR,{S.replace('-', '/')}{opaque(23)}",
]
ESCAPES = (
    *("\x1b[31m", "\x1b[1;38;5;196m", "\x1b(B", "\x9b31m", r"\u001b[31m", r"\x1b[31m", r"\033[31m"),
    *(r"\e[31m", r"\n", r"\r\n", r"\t", r"\\n", "%3D", "%20", r"\u003d", r"\x20", "=3D"),
)
INNOCENT = [
    "const token = req.headers.authorization;",
    'password = input("Password: ")',
    '"token": "comma"',
    "cookie: chocolate",
    '{credentials: "include"}',
    '{"token":"comma","cookie":"chocolate","credentials":"include"}',
    "max_tokens=4096 and input tokens: 123456",
    '{"progressToken": 123456, "nextPageToken": "abcdefghijkl", "apiKeySource": "none"}',
    'password: and PASSWORD=$DB_PASSWORD and password=""',
    "password: {{ vault.password }}",
    "api_key: None, --password --verbose API_KEY=********",
    "PWD=/work/project OLDPWD=/work/project/src",
    "compass=northeast bypass: everything author: somebody",
    "task-management-with-long-names, sk-learn-is-a-library-with-names",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "def get_token(self) -> str: token = get_token(request)",
    "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL",
    "claude-sonnet-4-5-20250929 session_id=0b0e7a34-6c1f-4d0e-9a53-000000000001",
    '{"properties": {"password": {"type": "string", "description": "A word"}}}',
]


@pytest.mark.parametrize("token", TOKENS)
def test_well_known_token_is_replaced(token: str) -> None:
    for text in (token, f"it is {token}.", f'x("{token}")', json.dumps({"text": f"a {token}\n"})):
        shown = redactor()(text)
        assert token[-12:] not in shown
        assert PLACEHOLDER.search(shown)


@pytest.mark.parametrize("text", NAMED)
def test_value_behind_a_secret_name_is_replaced(text: str) -> None:
    once = redactor()(text)
    assert S not in once
    assert S.replace("-", "/") not in once
    assert redactor()(once) == once
    assert S not in redactor()(json.dumps({"command": text}))


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_stays_as_it_is(text: str) -> None:
    assert redactor()(text) == text
    assert json.loads(redactor()(json.dumps({"text": text}))) == {"text": text}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key sk-ant-api03-Ab_c-9 here", "key <key-1> here"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- b", "a <key-1> b"),
        ("-----BEGIN PRIVATE KEY-----\nnever ended", "<key-1>"),
        ("ANTHROPIC_API_KEY=opaque-value next", "ANTHROPIC_API_KEY=<key-1> next"),
        ("export TOKEN='two words' next", "export TOKEN='<key-1>' next"),
        ('{"apiKey": "cut off', '{"apiKey": "<key-1>'),
        ("with bearer abcdefgh=", "with bearer <key-1>"),
        ("https://me:pass@host.org/x", "https://me:<key-1>@host.org/x"),
        ("mysql --password hunter2 --port 1", "mysql --password <key-1> --port 1"),
        ("from Jörg.Müller+x@sub.example.org!", "from <email-1>!"),
        ("file:///home/samuel/x, '/home/samuel'", "file://~/x, '~'"),
        ("/home/samuels samuelson", "/home/samuels samuelson"),
        ("-home-samuel-project of samuel", "-home-<user>-project of <user>"),
        ("İ password: opaque-value", "İ password: <key-1>"),
    ],
)
def test_secret_is_replaced_and_its_surroundings_stay(text: str, expected: str) -> None:
    assert redactor()(text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"accessToken":"a b","n":1}', '{"accessToken":"<key-1>","n":1}'),
        ('{"dbPass" : "x","Set-Cookie":"y=1"}', '{"dbPass":"<key-1>","Set-Cookie":"<key-2>"}'),
        ('{"password":"","token":null}', '{"password":"","token":null}'),
        ('{"Authorization":"Bearer abc"}', '{"Authorization":"Bearer <key-1>"}'),
        ('{"secrets":["a"],"tokens":["a"]}', '{"secrets":["<key-1>"],"tokens":["a"]}'),
        ('{"password":1234,"secret":123}', '{"password":"<key-1>","secret":123}'),
        ('{"a":[{"secret":"x"},"y"],"b":"z"}', '{"a":[{"secret":"<key-1>"},"y"],"b":"z"}'),
        (r'{"text":"\u0061@b.org \"x\" \n"}', r'{"text":"<email-1> \"x\" \n"}'),
        (r'{"a@b.org":"\/home\/samuel\/x"}', '{"<email-1>":"~/x"}'),
        (r'{"t":"{\"token\":\"a\\\"b\"}"}', r'{"t":"{\"token\":\"<key-1>\"}"}'),
        (r'{"t":"[not json a@b.org"}', '{"t":"[not json <email-1>"}'),
        ('{"a":"/home/samuel","b":"é"}', '{"a":"~","b":"é"}'),
        ('{"a":"sk-ant-12345","a":"b"}', '{"a":"<key-1>","a":"b"}'),
        ('{"x":"a@b.org \udcff"}', '{"x":"<email-1> \udcff"}'),
        (f'{{"{"token" * 50}":"x"}}', f'{{"{"token" * 50}":"x"}}'),
    ],
)
def test_json_keeps_all_but_its_secrets(line: str, expected: str) -> None:
    assert redactor()(line) == expected


def test_same_secret_gets_the_same_placeholder() -> None:
    clean = redactor()
    assert clean("a@b.org c@d.org a@b.org") == "<email-1> <email-2> <email-1>"
    assert clean("sk-ant-12345 sk-ant-54321 c@d.org") == "<key-1> <key-2> <email-2>"


def test_known_values_are_replaced_everywhere() -> None:
    environment = {"GATEWAY_TOKEN": "opaque-and-long", "X_TOKEN": "short", "PATH": "opaque/path"}
    clean = redactor('a"b', "Project", "Project X", environment=environment)
    assert clean("opaque-and-long short opaque/path") == "<secret-1> short opaque/path"
    assert clean('{"t":"a\\"b of Project X"}') == '{"t":"<secret-2> of <secret-3>"}'
    assert clean('{"t":"a\\"b cut off') == '{"t":"<secret-2> cut off'


@pytest.mark.parametrize("before", [0, 1, 20, 40])
def test_secret_at_the_end_of_a_piece_is_hidden(before: int) -> None:
    text, token = " " * (PIECE - before), "ghp_" + "A1b2" * 9
    assert Redactor(environment={})(f"{text}{token} end") == f"{text}<key-1> end"


def test_value_redacts_like_the_json_of_it() -> None:
    value = {"apiKey": "x", "n": 123456, "list": ("a@b.org", None, 1.5), 5: 2 + 3j}
    shown = {"apiKey": "<key-1>", "n": 123456, "list": ["<email-1>", None, 1.5], "5": "(2+3j)"}
    assert redactor().value(value) == shown


@pytest.mark.parametrize("escape", ESCAPES)
def test_token_behind_an_escape_is_replaced(escape: str) -> None:
    for token in TOKENS:
        for text in (escape + token, "log: " + json.dumps({"text": escape + token})):
            assert token[-12:] not in redactor()(text)
            assert token[-12:] not in redactor()(json.dumps({"text": text}))


def test_encoded_forms_of_a_known_value_are_replaced() -> None:
    clean = redactor("a/b+c@d e")
    assert clean("a%2Fb%2Bc%40d%20e YS9iK2NAZCBl") == "<secret-1> <secret-1>"


RUNS = (
    *("a", "token", "eyJ", "sk-", "a.", "x@", "://a:", "://a:b@", "\\", '"', "-", " --token "),
    *("[{", "%", "\x1b[", r"\x1b[0", r"\u00", r"\n", "AKIA", 'variable "', 'password: "'),
    "PASSWORD=abcdefghijkl000001x\n",
)


# A run of letters must not be read again from each of its letters.
@pytest.mark.unmeasured
@pytest.mark.parametrize("run", RUNS)
def test_time_of_redaction_grows_with_the_text(run: str) -> None:
    def needed(length: int) -> float:
        text = run * (length // len(run))
        times = []
        for _ in range(3):
            began = process_time()
            redactor()(text)
            redactor()(json.dumps({"data": text}))
            times.append(process_time() - began)
        return min(times)

    assert needed(160_000) < 10 * needed(40_000)  # 16 times, if it were the square


def test_many_secrets_that_begin_alike_take_linear_time() -> None:
    clean = redactor()
    lines = [f"PASSWORD=abcdefghijkl{number:06}x\n" for number in range(16_000)]
    shown = clean("".join(lines))
    assert shown.endswith("PASSWORD=<key-16000>\n")
    assert clean(lines[0]) == "PASSWORD=<key-16001>\n"  # long forgotten


_opaque = st.text("abcXYZ019", min_size=12, max_size=30).map(lambda text: f"7{text}")
_secrets = st.one_of(
    _opaque.map(lambda text: f"sk-ant-api03-{text}"),
    _opaque.map(lambda text: f"ghp_{text}abcdefgh"),
    st.builds("{}@{}.example.org".format, _opaque, _opaque),
)
_parts = ["=", ":", " ", '"', "'", "\\", "{", "}", "token", "Bearer ", "://", "<key-1>", "samuel"]
_pieces = st.lists(st.sampled_from([*_parts, HOME, "sk-ant-abcd", "a@b.org"])).map("".join)


@given(texts | _pieces, _secrets, texts | _pieces, json_values, st.booleans())
def test_known_form_never_gets_through(
    before: str, secret: str, after: str, other: Any, ascii: bool
) -> None:
    text = f"{before} {secret} {after}"
    inner = json.dumps({"content": [text]}, ensure_ascii=ascii)
    line = json.dumps({"a": other, "b": [{"c": text}], text: inner}, ensure_ascii=ascii)
    shown = redactor()(line)
    assert secret not in shown
    assert secret not in redactor()(text)
    assert secret not in str(json.loads(shown))


@given(json_values, st.booleans())
def test_json_keeps_its_shape(value: Any, ascii: bool) -> None:
    line = json.dumps(value, ensure_ascii=ascii)
    once = redactor()(line)
    assert _shape(json.loads(once)) == _shape(value)


def _shape(value: Any) -> Any:
    if isinstance(value, list | dict):
        return [_shape(item) for item in (value.values() if isinstance(value, dict) else value)]
    return "text" if isinstance(value, str) else value


# --- streams --------------------------------------------------------------------------------------


def delta(text: str, index: int = 0, agent: str | None = None, field: str = "text") -> str:
    inner = {"type": "content_block_delta", "index": index, "delta": {"type": "x", field: text}}
    return json.dumps({"type": "stream_event", "event": inner, "parent_tool_use_id": agent})


def texts_of(lines: list[str]) -> str:
    pieces = [json.loads(line)["event"]["delta"] for line in lines]
    return "".join(text for piece in pieces for key, text in piece.items() if key != "type")


@pytest.mark.parametrize("field", ["text", "thinking", "partial_json"])
@pytest.mark.parametrize("size", [1, 3, 7, 20])
@pytest.mark.parametrize("token", [TOKENS[0], *TOKENS[-7:-5], *TOKENS[-4:-2]])
def test_token_written_in_pieces_is_hidden(token: str, size: int, field: str) -> None:
    text = f"It is {token} and nothing else."
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    clean = StreamRedactor(redactor())
    shown = texts_of([clean(delta(piece, field=field)) for piece in pieces])
    assert token[len(token) // 2 :] not in shown
    assert shown.startswith("It is ")
    assert shown.endswith(" and nothing else.")


def test_concurrent_blocks_are_kept_apart() -> None:
    clean = StreamRedactor(redactor())
    lines = [
        clean(delta("key sk-ant-api03-abcd")),
        clean(delta("efgh words", index=1)),
        clean(delta("efgh words", agent="toolu_1")),
        clean(delta("efgh words")),
    ]
    shown = [texts_of([line]) for line in lines]
    assert shown == ["key <key-1>", "efgh words", "efgh words", "<key-2> words"]


def test_private_key_on_several_lines_is_hidden() -> None:
    clean = StreamRedactor(redactor())
    lines = ["a -----BEGIN PRIVATE KEY-----", "abc", "def", "-----END PRIVATE KEY-----", "b"]
    assert [clean(line) for line in lines] == ["a <key-1>", "<key-2>", "<key-3>", "<key-4>", "b"]
    assert clean("-----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY-----") == "<key-5>"
    assert clean("c") == "c"
