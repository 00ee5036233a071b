"""Secrets are taken out, JSON stays JSON, and the same secret stays the same."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.errors.secret_cases import INNOCENT, NAMED, TOKENS, VALUES, opaque
from tests.helpers.strategies import json_values, texts

from claudewire.errors import PLACEHOLDER, Redactor, StreamRedactor, redact, rewrite

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
        ('{"secret":["a",{"x":"y"}]}', '{"secret":["<key-1>",{"x":"<key-2>"}]}'),
        (
            '{"secret":{"name":"db","data":["a"]},"x":"y"}',
            '{"secret":{"name":"db","data":["<key-1>"]},"x":"y"}',
        ),
        ('{"password":12345,"pin":12345}', '{"password":"<key-1>","pin":12345}'),
        ('{"password":1234,"secret":123}', '{"password":"<key-1>","secret":123}'),
        ('{"apiKey":[123456,"a"],"n":[1234567]}', '{"apiKey":["<key-1>","<key-2>"],"n":[1234567]}'),
        ('{"token":-1.5e3,"secret":true}', '{"token":-1.5e3,"secret":true}'),
        ('{"passwords":["a"],"tokens":["a"]}', '{"passwords":["<key-1>"],"tokens":["a"]}'),
        ('{"a":[{"secret":"x"},"y"],"b":"z"}', '{"a":[{"secret":"<key-1>"},"y"],"b":"z"}'),
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


def test_of_secrets_that_begin_alike_the_longest_is_replaced() -> None:
    for extra in (("Project", "Project X"), ("Project X", "Project")):
        assert redactor(*extra)("Project X of Project") == "<secret-1> of <secret-2>"


def test_secrets_of_the_environment_are_known() -> None:
    environment = {"GATEWAY_TOKEN": "opaque-and-long", "X_TOKEN": "short", "PATH": "opaque/path"}
    clean = redactor(environment=environment)
    assert clean("opaque-and-long short opaque/path") == "<secret-1> short opaque/path"


def test_the_users_name_is_taken_from_the_environment_too() -> None:
    clean = redactor(home="/srv/data", environment={"USER": "mary", "LOGNAME": "root"})
    assert clean("mary, root, data, /srv/data/x") == "<user>, root, <user>, ~/x"
    clean = redactor(home="/srv/data", environment={"LOGNAME": "mary"})
    assert clean("mary, data") == "<user>, <user>"


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
@pytest.mark.unmeasured
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


# --- the tables ----------------------------------------------------------------------------------


def test_the_table_of_secrets_is_long_enough() -> None:
    assert len(TOKENS) + len(NAMED) >= 150


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_key_is_recognised_by_its_form(token: str) -> None:
    for text in (token, f"it is {token}.", f'x("{token}")', json.dumps({"text": f"a {token}\n"})):
        assert token not in redactor()(text)
        assert PLACEHOLDER.search(redactor()(text))
    assert token[-12:] not in redactor()(f"= {token} =")


@pytest.mark.parametrize("text", NAMED)
def test_a_value_is_recognised_by_its_name_in_any_syntax(text: str) -> None:
    secrets = [value for value in VALUES if value in text]
    assert secrets
    for shown in (redactor()(text), redactor()(json.dumps({"command": text}))):
        assert not any(value in shown for value in secrets), shown
    once = redactor()(text)
    assert redactor()(once) == once


@pytest.mark.unmeasured
@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_key_that_is_cut_is_not_shown_in_both_pieces(token: str) -> None:
    clean = redactor()
    for cut in range(1, len(token)):
        assert clean.after(token[:cut], f"{token[cut:]} and more") == "<key-1> and more"


def test_a_text_that_follows_no_secret_is_redacted_as_it_is() -> None:
    clean = redactor()
    assert clean.after("the pass", "word is nothing a@b.org") == "word is nothing <email-1>"
    assert clean.after("password: hun", "ter2-and-more ") == "<key-1> "
    assert clean.after("me@exam", "ple.org") == "<email-2>"
    assert clean.after("", "sk-ant-12345") == "<key-2>"


def delta(text: str, index: int = 0, agent: str | None = None, field: str = "text") -> str:
    inner = {"type": "content_block_delta", "index": index, "delta": {"type": "x", field: text}}
    return json.dumps({"type": "stream_event", "event": inner, "parent_tool_use_id": agent})


def texts_of(lines: list[str]) -> str:
    pieces = [json.loads(line)["event"]["delta"] for line in lines]
    return "".join(text for piece in pieces for key, text in piece.items() if key != "type")


@pytest.mark.parametrize("field", ["text", "thinking", "partial_json"])
@pytest.mark.parametrize("size", [1, 3, 7, 20])
@pytest.mark.parametrize("name", ["Anthropic", "GitHub, personal", "AWS", "Stripe", "Slack, bot"])
def test_a_key_that_a_model_writes_in_pieces_is_not_shown(name: str, size: int, field: str) -> None:
    token = TOKENS[name]
    text = f"It is {token} and nothing else."
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    clean = StreamRedactor(redactor())
    shown = texts_of([clean(delta(piece, field=field)) for piece in pieces])
    assert token not in shown
    assert token[len(token) // 2 :] not in shown
    assert shown.startswith("It is ")
    assert shown.endswith(" and nothing else.")


def test_blocks_that_are_written_at_the_same_time_are_kept_apart() -> None:
    clean = StreamRedactor(redactor())
    lines = [
        clean(delta("key sk-ant-api03-abcd")),
        clean(delta("efgh words", index=1)),
        clean(delta("efgh words", agent="toolu_1")),
        clean(delta("efgh words")),
    ]
    shown = [texts_of([line]) for line in lines]
    assert shown == ["key <key-1>", "efgh words", "efgh words", "<key-2> words"]


def test_only_so_many_blocks_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.errors.redaction.MOST_BLOCKS", 1)
    clean = StreamRedactor(redactor())
    clean(delta("key sk-ant-api03-abcd"))
    clean(delta("other", index=1))
    assert texts_of([clean(delta("efgh words"))]) == "efgh words"


@pytest.mark.parametrize(
    "line",
    [
        '{"event": 5, "x": "content_block_delta"}',
        '{"event": {"delta": {"type": "content_block_delta"}}}',
        'no JSON: "content_block_delta"',
    ],
)
def test_a_line_that_is_no_piece_is_redacted_by_itself(line: str) -> None:
    clean = StreamRedactor(redactor())
    assert clean(line) == line


def test_a_private_key_of_several_lines_is_not_shown() -> None:
    clean = StreamRedactor(redactor())
    lines = ["a -----BEGIN PRIVATE KEY-----", "abc", "def", "-----END PRIVATE KEY-----", "b"]
    assert [clean(line) for line in lines] == ["a <key-1>", "<key-2>", "<key-3>", "<key-4>", "b"]
    assert clean("-----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY-----") == "<key-5>"
    assert clean("c") == "c"


def test_what_only_begins_like_a_private_key_ends_with_the_next_message() -> None:
    clean = StreamRedactor(redactor())
    clean("-----BEGIN PRIVATE KEY-----")
    assert clean('{"a":"b"}') == '{"a":"b"}'
    assert clean("c") == "c"


def test_a_private_key_is_replaced_in_every_form() -> None:
    for kind in ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "PRIVATE KEY"):
        text = f"a\n-----BEGIN {kind}-----\nabc\ndef\n-----END {kind}-----\nb"
        assert redactor()(text) == "a\n<key-1>\nb"
    assert "abcd" not in redactor()("Private-Lines: 2\nabcdabcd\nabcdabcd\nPrivate-MAC: 1")


@pytest.mark.unmeasured
def test_a_secret_in_a_long_text_is_found_wherever_it_is() -> None:
    token = TOKENS["GitHub, personal"]
    for filler in ("word and word ", "x", "iVBORw0KGgo/", "a line\n"):
        text = filler * (100_000 // len(filler))
        for place in (32_700, 32_760, 65_500, 99_990):
            mixed = f"{text[:place]} {token} {text[place:]}"
            assert token not in redactor()(mixed)
            assert redactor()(mixed).replace("<key-1>", token) == mixed


def test_long_json_is_redacted_like_short() -> None:
    many = ['\u00e9\n"x" \U0001f600 password: hunter2hunter2 '] * 10_000
    line = json.dumps({"content": ["".join(many), {"apiKey": "x"}]})
    shown = json.loads(redactor()(line))
    assert shown["content"][1] == {"apiKey": "<key-2>"}
    assert shown["content"][0].count("password: <key-1>") == 10_000
    assert redactor()("[" + line).count("hunter2hunter2") == 0


def test_long_json_may_have_bytes_that_are_no_text() -> None:
    long = "\udcff" + "x" * 300_000
    line = json.dumps({"a": long, "apiKey": "b c"}, ensure_ascii=False)
    assert redactor()(line) == line.replace("b c", "<key-1>")


@pytest.mark.parametrize("rest", [f"{'é' * 70_000} \udcff", f"\\ud83d {'é' * 70_000}"])
def test_a_long_string_in_json_is_written_like_a_short_one(rest: str) -> None:
    shown = rest.replace("é", "\\u00e9") if rest.startswith("\\") else rest
    assert redactor()(f'{{"x":"a@b.org {rest}"}}') == f'{{"x":"<email-1> {shown}"}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x&sig=abcdefgh", "x&sig=<key-1>"),
        ("x?code=abcdefgh", "x?code=<key-1>"),
        ("x sig=abcdefgh", "x sig=abcdefgh"),
        ("redis://:abc@host", "redis://:<key-1>@host"),
        ("hooks.slack.com/services/T00/B00/abcdef", "hooks.slack.com/services/<key-1>"),
        ("discordapp.com/api/webhooks/1/abcdefghij", "discordapp.com/api/webhooks/1/<key-1>"),
        (
            f"a.webhook.office.com/webhookb2/{'ab@cd/' * 4}",
            "a.webhook.office.com/webhookb2/<key-1>",
        ),
        ("https://api.telegram.org/bot12:abcdefg/x", "https://api.telegram.org/bot<key-1>/x"),
        ("api.telegram.org/bot12:abcdefg/x", "api.telegram.org/bot<key-1>/x"),
        (f"api.telegram.org/bot12345:AA{'x' * 33}/x", "api.telegram.org/bot<key-1>/x"),
    ],
)
def test_a_secret_in_an_address_is_found_with_and_without_its_beginning(
    text: str, expected: str
) -> None:
    assert redactor()(text) == expected


@pytest.mark.parametrize("between", ["=", ":", " = ", ": ", "||", "=>", " := ", '": "', ">", ", "])
def test_the_key_of_a_service_is_found_however_it_is_given(between: str) -> None:
    secret = opaque(32)
    assert redactor()(f"x DATADOG{between}{secret} y") == f"x DATADOG{between}<key-1> y"


@pytest.mark.parametrize("blank", [" ", "\t", "  "])
def test_a_secret_of_an_image_is_found_behind_any_blank(blank: str) -> None:
    assert redactor()(f"ENV{blank}MY_PASS{blank}opaque") == f"ENV{blank}MY_PASS{blank}<key-1>"


def test_a_text_under_the_name_of_a_service_is_no_key() -> None:
    line = json.dumps({"datadog": f"see {opaque(32)} there"})
    assert redactor()(line) == line
    assert redactor()(json.dumps({"datadog": opaque(32)})) == '{"datadog": "<key-1>"}'


def test_only_so_much_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.errors.redaction.MOST_LEARNED", 1)
    monkeypatch.setattr("claudewire.errors.redaction.MOST_PLACEHOLDERS", 2)
    clean = redactor()
    clean('{"password":"correct-horse-1","token":"battery-staple-2","x":"sk-ant-12345"}')
    assert clean("correct-horse-1 battery-staple-2") == "<key-4> battery-staple-2"


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redactor()(text) == text
    assert json.loads(redactor()(json.dumps({"text": text}))) == {"text": text}


class _Odd:
    def __str__(self) -> str:
        return "odd a@b.org"


def test_values_are_redacted_without_being_written() -> None:
    value = {
        "apiKey": "x",
        "password": 123456,
        "n": 123456,
        "list": ("a@b.org", None, True, 1.5),
        5: _Odd(),
        "secret": {"type": "t", "data": "d"},
    }
    assert redactor().value(value) == {
        "apiKey": "<key-1>",
        "password": "<key-2>",
        "n": 123456,
        "list": ["<email-1>", None, True, 1.5],
        "5": "odd <email-1>",
        "secret": {"type": "t", "data": "<key-3>"},
    }


@given(json_values)
def test_values_are_redacted_like_what_is_written(value: Any) -> None:
    written = json.dumps(value)
    assert redactor().value(json.loads(written)) == json.loads(redactor()(written))
