"""Secrets are taken out, JSON stays JSON, and the same secret stays the same."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.helpers.strategies import json_values, texts

from claudewire.errors import PLACEHOLDER, Redactor, redact, rewrite

HOME = "/home/samuel"


def redactor(
    *extra: str, home: str = HOME, environment: Mapping[str, str] | None = None
) -> Redactor:
    return Redactor(home=home, extra=extra, environment=environment or {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key sk-ant-api03-Ab_c-9 here", "key <key-1> here"),
        ("sk-proj-0123456789abcdefghij", "<key-1>"),
        ("task-management-with-long-names", "task-management-with-long-names"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "<key-1>"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl", "<key-1>"),
        ("AKIAIOSFODNN7EXAMPLE", "<key-1>"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- b", "a <key-1> b"),
        ("-----BEGIN PRIVATE KEY-----\nnever ended", "<key-1>"),
        ("ANTHROPIC_API_KEY=opaque-value next", "ANTHROPIC_API_KEY=<key-1> next"),
        ("export TOKEN='two words' next", "export TOKEN='<key-1>' next"),
        ('{"apiKey": "cut off', '{"apiKey": "<key-1>'),
        (r"{\"refreshToken\": \"deep\"", r"{\"refreshToken\": \"<key-1>\""),
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer <key-1>"),
        ("with bearer abcdefgh=", "with bearer <key-1>"),
        ("https://me:pass@host/x", "https://me:<key-1>@host/x"),
        ("SECRET_KEY=opaque-value", "SECRET_KEY=<key-1>"),
        ("mysql --password hunter2 --port 1", "mysql --password <key-1> --port 1"),
        ("x --auth-token 'opaque' y", "x --auth-token '<key-1>' y"),
        ("x --api-key --verbose", "x --api-key --verbose"),
        ("ASIAIOSFODNN7EXAMPLE", "<key-1>"),
        ("sk_live_0123456789abcdef", "<key-1>"),
        ("ya29.a0AfH6SMB-0123456789abc", "<key-1>"),
        ("npm_0123456789abcdefghijABCDEFGHIJ012345", "<key-1>"),
        ("hf_0123456789abcdefghijABCDEFGHIJ0123", "<key-1>"),
        ("input tokens: 123456", "input tokens: 123456"),
        ("from Jörg.Müller+x@sub.example.org!", "from <email-1>!"),
        ("npm @scope/package@1.2.3", "npm @scope/package@1.2.3"),
        ("/home/samuel", "~"),
        ("file:///home/samuel/x, '/home/samuel'", "file://~/x, '~'"),
        ("/home/samuels", "/home/samuels"),
        ("-home-samuel-project of samuel", "-home-<user>-project of <user>"),
        ("samuelson", "samuelson"),
    ],
)
def test_what_is_secret_is_replaced_and_nothing_else(text: str, expected: str) -> None:
    assert redactor()(text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"accessToken":"a b","n":1}', '{"accessToken":"<key-1>","n":1}'),
        ('{"api_key" : "x"}', '{"api_key" : "<key-1>"}'),
        ('{"password":"","token":null}', '{"password":"","token":null}'),
        ('{"Authorization":"Bearer abc"}', '{"Authorization":"Bearer <key-1>"}'),
        ('{"secret":["a",{"x":"y"}]}', '{"secret":["<key-1>",{"x":"y"}]}'),
        ('{"apiKeySource":"none"}', '{"apiKeySource":"none"}'),
        ('{"_meta":{"progressToken":"abc"}}', '{"_meta":{"progressToken":"abc"}}'),
        (r'{"text":"\u0061@b.org \"x\" \n"}', r'{"text":"<email-1> \"x\" \n"}'),
        (r'{"a@b.org":"\/home\/samuel\/x"}', '{"<email-1>":"~/x"}'),
        (r'{"t":"{\"token\":\"a\\\"b\"}"}', r'{"t":"{\"token\":\"<key-1>\"}"}'),
        (r'{"t":"[not json a@b.org"}', '{"t":"[not json <email-1>"}'),
        ('{"a":"/home/samuel","b":"é\\u00e9"}', '{"a":"~","b":"é\\u00e9"}'),
        # Control characters are not allowed in JSON strings, and are read all the same.
        ('{"apiKey":"it\'s\ta secret","n":"\x01"}', '{"apiKey":"<key-1>","n":"\x01"}'),
    ],
)
def test_json_stays_as_it_was_written_but_for_the_strings_with_secrets(
    line: str, expected: str
) -> None:
    assert redactor()(line) == expected


@pytest.mark.parametrize(
    "name",
    [
        "my_api_key",
        "AccessKey",
        "private-key",
        "secretKey",
        "signing_key",
        "encryptionKey",
        "token",
        "clientSecret",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "credentials",
        "authorization",
        "Set-Cookie",
    ],
)
def test_a_secret_is_known_by_the_end_of_its_name(name: str) -> None:
    assert redactor()(json.dumps({name: "abc"})) == json.dumps({name: "<key-1>"})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"x":"a@b.org \udcff"}', b'{"x":"<email-1> \xff"}'),
        ('{"x":"a@b.org \\ud83d"}', b'{"x":"<email-1> \\ud83d"}'),
        ('{"x":"a@b.org \\udcff"}', b'{"x":"<email-1> \\udcff"}'),
    ],
)
def test_bytes_and_escapes_that_are_not_text_stay_what_they_were(
    line: str, expected: bytes
) -> None:
    assert redactor()(line).encode("utf-8", "surrogateescape") == expected


def test_the_same_secret_has_the_same_placeholder() -> None:
    clean = redactor()
    assert clean("a@b.org c@d.org a@b.org") == "<email-1> <email-2> <email-1>"
    assert clean('{"apiKey":"sk-ant-12345"}') == '{"apiKey":"<key-1>"}'
    assert clean("sk-ant-12345 sk-ant-54321 c@d.org") == "<key-1> <key-2> <email-2>"


def test_a_secret_that_was_found_by_its_name_is_known_from_then_on() -> None:
    clean = redactor()
    assert clean('{"password":"correct-horse-1"}') == '{"password":"<key-1>"}'
    assert clean("it was correct-horse-1") == "it was <key-1>"
    assert clean('{"password":"disabled"}') == '{"password":"<key-2>"}'
    assert clean("this is disabled") == "this is disabled"


@pytest.mark.parametrize(
    ("secret", "known"),
    [
        ("twelve-chars", False),  # it may be an ordinary word
        ("a-passphrase-of-many-words", False),
        ("eleven-char", False),
        ("eleven-cha1", False),  # too short to be looked for everywhere
        ("twelve-char1", True),
    ],
)
def test_a_secret_is_looked_for_elsewhere_if_it_is_long_and_has_a_digit(
    secret: str, known: bool
) -> None:
    clean = redactor()
    assert clean(json.dumps({"password": secret})) == '{"password": "<key-1>"}'
    assert clean(f"it was {secret}") == ("it was <key-1>" if known else f"it was {secret}")


def test_further_secrets_can_be_given() -> None:
    clean = redactor('a"b', "Project X", "")
    assert clean('{"t":"a\\"b of Project X"}') == '{"t":"<secret-1> of <secret-2>"}'
    assert clean('{"t":"a\\"b cut off') == '{"t":"<secret-1> cut off'


def test_secrets_of_the_environment_are_known() -> None:
    environment = {"GATEWAY_TOKEN": "opaque-and-long", "X_TOKEN": "short", "PATH": "opaque/path"}
    clean = redactor(environment=environment)
    assert clean("opaque-and-long short opaque/path") == "<secret-1> short opaque/path"


def test_the_users_name_is_taken_from_the_environment_too() -> None:
    clean = redactor(home="/srv/data", environment={"USER": "mary", "LOGNAME": "root"})
    assert clean("mary, root, data, /srv/data/x") == "<user>, root, <user>, ~/x"


@pytest.mark.parametrize(
    "name",
    [
        "admin",
        "claude",
        "email",
        "home",
        "key",
        "node",
        "root",
        "runner",
        "secret",
        "ubuntu",
        "user",
    ],
)
def test_a_users_name_that_is_a_common_word_is_left_alone(name: str) -> None:
    assert redactor(home="/srv/data", environment={"USER": name})(f"the {name}") == f"the {name}"


@pytest.mark.parametrize("home", ["/", "~", ""])
def test_a_home_that_is_none_is_not_looked_for(home: str) -> None:
    assert redactor(home=home)("/ and ~ and /x") == "/ and ~ and /x"


def test_one_text_can_be_redacted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    assert redact("/home/samuel a@b.org") == "~ <email-1>"
    assert redact("/home/samuel in /x", home="/x", extra=["in"]) == "/home/samuel <secret-1> ~"


def test_texts_nested_too_deep_are_redacted_all_the_same() -> None:
    line = "[" * 100_000 + '"a@b.org"'
    assert redactor()(line).endswith('"<email-1>"')


# A run of letters must not be walked through again from each of its letters.
@pytest.mark.parametrize(
    "run", ["a", "token", "eyJ", "sk-", "a.", "x@", "://a:", "\\", '"', "-", " --token "]
)
def test_a_long_text_takes_no_longer_than_its_length(run: str) -> None:
    text = run * (300_000 // len(run))
    assert redactor()(text) is not None
    assert redactor()(json.dumps({"data": text})) is not None


_alphabet = string.ascii_letters + string.digits
_opaque = st.text(_alphabet, min_size=12, max_size=30).map(lambda text: f"7{text}")
_secrets = st.one_of(
    _opaque.map(lambda text: f"sk-ant-api03-{text}"),
    _opaque.map(lambda text: f"ghp_{text}abcdefgh"),
    st.builds("{}@{}.example.org".format, _opaque, _opaque),
)
_pieces = st.lists(
    st.one_of(
        st.sampled_from("=: \"'\\{}[],@<>"),
        st.sampled_from(["token", "apiKey", "Bearer ", "://", "<key-1>", "abcdef", "samuel", HOME]),
        st.sampled_from(["sk-ant-abcd", "a@b.org", "correct-horse-1"]),
    )
).map("".join)
_names = st.sampled_from(
    [
        "apiKey",
        "access_token",
        "refreshToken",
        "ANTHROPIC_API_KEY",
        "password",
        "secret_key",
        "credentials",
    ]
)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    if isinstance(value, dict):
        return [text for item in value.items() for text in _strings(list(item))]
    return []


@given(texts | _pieces, _secrets, texts | _pieces, json_values, st.booleans())
def test_a_secret_of_known_form_never_gets_through(
    before: str, secret: str, after: str, other: Any, ascii: bool
) -> None:
    text = f"{before} {secret} {after}"
    inner = json.dumps({"content": [text]}, ensure_ascii=ascii)
    line = json.dumps({"a": other, "b": [{"c": text}], text: inner}, ensure_ascii=ascii)
    redacted = redactor()(line)
    assert secret not in redacted
    assert secret not in redactor()(text)
    assert secret not in "".join(_strings(json.loads(redacted)))


@given(_names, st.text(min_size=1), texts)
def test_what_stands_under_a_secret_name_never_gets_through(
    name: str, secret: str, other: str
) -> None:
    assume(not PLACEHOLDER.fullmatch(secret))
    line = json.dumps({"env": {name: secret}, "other": other, "nested": json.dumps({name: secret})})
    redacted = json.loads(redactor()(line))
    shown = redacted["env"][name]
    assert shown != secret or not secret.strip()
    assert json.loads(redacted["nested"])[name] == shown


@given(json_values, st.booleans())
@example({"a": "\udcff", "b@c.org": ["\ud83d sk-ant-1234", "x@y.org \u2028"]}, True)
def test_json_keeps_its_shape_and_redacting_twice_changes_nothing(value: Any, ascii: bool) -> None:
    line = json.dumps(value, ensure_ascii=ascii)
    once = redactor()(line)
    assert _shape(json.loads(once)) == _shape(value)
    assert redactor()(once) == once


def _shape(value: Any) -> Any:
    if isinstance(value, list):
        return [_shape(item) for item in value]
    if isinstance(value, dict):
        return [_shape(item) for item in value.values()]
    return "text" if isinstance(value, str) else value


@given(st.text() | _pieces)
def test_any_text_can_be_redacted(text: str) -> None:
    once = redactor()(text)
    assert redactor()(once) == once


@given(json_values, st.booleans())
def test_rewriting_without_a_change_changes_no_byte(value: Any, ascii: bool) -> None:
    line = json.dumps(value, ensure_ascii=ascii, indent=1)
    assert rewrite(line, lambda name, text: text) == line


def test_rewriting_takes_what_is_hardly_json() -> None:
    seen: list[tuple[str, str]] = []

    def note(name: str, text: str) -> str:
        seen.append((name, text))
        return text.upper()

    assert rewrite(r'{"a": "b\q", "c":["d","e"]} "', note) == r'{"A": "B\\Q", "C":["D","E"]} "'
    assert seen == [("", "a"), ("a", r"b\q"), ("", "c"), ("c", "d"), ("c", "e")]
