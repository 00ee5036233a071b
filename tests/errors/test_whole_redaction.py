"""What is left of texts of every form, also in pieces: see tests/helpers/kept.py.

What was there before is not in the file, so that no scanner takes it for a leak.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

from tests.errors.secret_cases import INNOCENT, NAMED, TOKENS, opaque
from tests.helpers.kept import Kept

from claudewire.errors import Redactor, StreamRedactor, rewrite

HOME = "/home/samuel"
TOKEN = TOKENS["GitHub, personal"]
BLOCK = "-----BEGIN RSA PRIVATE KEY-----"
END = "-----END RSA PRIVATE KEY-----"


def new(**more: Any) -> Redactor:
    return Redactor(**{"home": HOME, "environment": {"USER": "mary", "LOGNAME": "al"}, **more})


# --- cut in two -----------------------------------------------------------------------------------

BEFORE = [
    *("", "text ", "word", "the token is ", "token=", "token: abc", f"x {TOKEN[:6]}", TOKEN[:20]),
    *(
        "mail to ann@",
        "ann",
        "https://me:",
        "https://me:secret",
        "Bearer ",
        "bearer abcdef",
        "sk-ant-",
    ),
    *("password", '"password": "', "-----BEGIN", HOME[:8], "x" * 130, "a=" + TOKEN[:30], "end.\n"),
]
AFTER = [
    *(
        "",
        " ",
        "word",
        " word more",
        TOKEN[6:] + " more",
        "abcdefgh1234 more",
        "\n",
        "example.org!",
    ),
    *(
        ":pass@host/",
        "=abcdefgh",
        ": value-of-it",
        '"x"',
        "(x) y",
        "  " + TOKEN[20:],
        HOME[8:] + "/x",
    ),
]


def of_cuts() -> Iterator[str]:
    for at, before in enumerate(BEFORE):
        for after in AFTER:
            redactor = new()
            shown, rest = redactor(before), redactor.after(before, after)
            yield f"{at} {shown[:30]!r} {'the same' if rest == after else rest!r}"


# --- values ---------------------------------------------------------------------------------------

VALUES: list[Any] = [
    *(None, True, 5, 12345, 1.5, "text", "ann@example.org", TOKEN, date(2026, 11, 17), b"x"),
    {"token": "abc", "n": 5, "password": 1234, "pin": 1234, "secret": 123, 7: "x", "apiKey": None},
    {"token": ["abc", 12345, {"name": "x", "data": "y", "type": "z", "deep": [["w"]]}, True]},
    ("a", ["ann@example.org"], {"ann@example.org": 1}),
    {"authorization": "Bearer abc def", "cookie": "  basic  x", "password": "", "secret": "   "},
    {"text": '{"token": "inner"}', "list": '["ann@example.org"]', "half": '{"token": "x'},
    {"datadog": opaque(32), "DATADOG": {"x": opaque(32)}, "other": opaque(32)},
]
TEXTS = [
    f"{HOME} {HOME}/x {HOME}x x{HOME} samuel Samuel mary MARY al maryx x-mary",
    f"a {BLOCK}\nx\n{END} b {BLOCK}\ny\n{END} c",
    f"{BLOCK} never ends",
    f"{END} {BLOCK}",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----",
    "ann@example.org, bob@x.y.z ann@example.org @example.org a@b x@1.2 a@b.c1 a.b+c%d@e-f.gh",
    "x" * 257 + "@example.org",
    "x" * 256 + "@example.org",
    "correct-horse-1 password=correct-horse-1 correct-horse-1 correct-horse-12 xcorrect-horse-1x",
    "token=abcdefghijk1 abcdefghijk1 token=abcdefghij1 abcdefghij1",
    "password=$SECRET password=${X} password=<key-1> password=<email-2> password=short",
    "PWD=/work pwd=/x pwd=~ pwd: abcdefgh pwd=hunter2x",
    "dbPass=abcdefgh compass=abcdefgh DB_PASS=abcdefgh xpass=abcdefgh pass=abcdefgh",
    "Authorization: Basic abc, def\nnext Cookie: a=1; b=2\nnext",
    "--token abcdefgh -token abcdefgh x-token abcdefgh --my-token 'abc def' --token -x",
    "machine a login b password c password d",
    "DATADOG = " + opaque(32) + " datadog " + opaque(32) + " x=" + opaque(32),
    "datadog: " + "y" * 55 + " " + opaque(32),
    "datadog=" + opaque(292) + " datadog=" + opaque(293),
    "İ token=abcdefgh",  # longer in lower case
    "token\u00a0=\u00a0abcdefgh",
    '{"a": 1} trailing token=abcdefgh',
    '[1, 2, "token=abcdefgh"]',
    "12345",
    '"ann@example.org"',
    "{" * 50 + "token=abcdefgh",
    '{"token": "\\u0061bc\\n", "x": "\\ud83d\\ude00", "y": "\\q", "token": 123456, "z": -1e5}',
    '{"token": {"a": 12345, "b": [67890]}, "c": 12345, "d": [{"token": 99999}, 88888]}',
    '{"token": "open',
    '{"a": "b" , "token" : "c d" , "e" : 5}',
    ']}{"token": "abc"}',
    '{"a\\"b": "c\\\\", "token": "d\\\\\\"e"}',
]


def of_values() -> Iterator[str]:
    for value in VALUES:
        yield f"{new().value(value)!r} {new().value(value, 'token')!r}"
    for text in TEXTS:
        yield f"{new()(text)!r}"
    for text in (*NAMED, *INNOCENT):
        yield new()(json.dumps({"x": text}))
    known = new(extra=["Project X", 'a"b', ""], environment={"MY_TOKEN": "opaque-value", "B": "x"})
    for text in (
        "Project X opaque-value",
        'a"b a\\"b',
        '{"t": "a\\"b"}',
        "opaque-valu opaque-values",
    ):
        yield f"{text}: {known(text)}"
    fresh = known._fresh()
    yield f"{known('new@x.org Project X')} {fresh('new@x.org Project X')}"
    for home in ("/", "", "~", "/srv/ab", "/srv/abc/", "relative"):
        yield f"{home}: {new(home=home)('/srv/ab/x /srv/abc /srv ~ / abc ab relative/x')}"


# --- streams --------------------------------------------------------------------------------------


def piece(text: Any, field: str = "text", index: Any = 0, agent: Any = None, **more: Any) -> str:
    event = {"type": "content_block_delta", "index": index, "delta": {field: text}, **more}
    return json.dumps({"type": "stream_event", "event": event, "parent_tool_use_id": agent})


HALF, REST = TOKEN[:12], TOKEN[12:]
STREAMS: dict[str, list[str]] = {
    "a token in two": [piece(f"a {HALF}"), piece(f"{REST} b"), piece("c")],
    "in three": [piece(HALF[:6]), piece(HALF[6:]), piece(REST), piece(" end")],
    "two blocks": [piece(HALF), piece(REST, index=1), piece(REST)],
    "two agents": [piece(HALF), piece(REST, agent="a"), piece(REST)],
    "thinking": [piece(HALF, "thinking"), piece(REST, "thinking")],
    "input": [piece('{"token": "abc', "partial_json"), piece('def", "x": 1}', "partial_json")],
    "other": [piece(HALF, "other"), piece(REST, "other")],
    "no text": [piece(5), piece(None), piece(REST)],
    "the same text": [piece(HALF), piece(REST, x={"text": REST, "token": "abc"})],
    "not JSON": [
        '"content_block_delta" {',
        '{"content_block_delta": 1}',
        '["content_block_delta"]',
    ],
    "no event": ['{"x": "content_block_delta"}', '{"event": {"delta": "content_block_delta"}}'],
    "a block": [BLOCK, "x", "y ann@example.org", END, "z ann@example.org"],
    "a block on a line": [f"{BLOCK} x {END}", "y"],
    "a block that is broken off": [BLOCK, "x", '{"a": "ann@example.org"}', "y"],
    "a block in JSON": [json.dumps({"x": BLOCK}), json.dumps([BLOCK]), "y"],
    "a long block": [BLOCK, *(f"line {it}" for it in range(202))],
}


def of_streams() -> Iterator[str]:
    for name, lines in STREAMS.items():
        clean = StreamRedactor(new())
        yield f"{name}:"
        shown = [clean(line) for line in lines]
        yield from (f"    {line}" for line in (shown if len(shown) < 10 else shown[-4:]))


def test_what_is_redacted_is_as_it_was(kept: Kept) -> None:
    rows = [*of_cuts(), *of_values(), *of_streams()]
    kept("redacted.txt", "".join(f"{row}\n" for row in rows))


def test_the_pieces_of_so_many_blocks_are_remembered() -> None:
    for others, is_known in ((63, True), (64, False)):
        clean = StreamRedactor(new())
        clean(piece(HALF))
        for index in range(1, others + 1):
            clean(piece("x", index=index))
        assert (REST not in clean(piece(REST))) is is_known


def test_only_so_many_secrets_are_learned_and_numbered(monkeypatch: Any) -> None:
    monkeypatch.setattr("claudewire.errors.redaction.MOST_LEARNED", 2)
    monkeypatch.setattr("claudewire.errors.redaction.MOST_PLACEHOLDERS", 4)
    clean = new()
    secrets = [f"{letter * 11}-1" for letter in "abcd"]
    for number, secret in enumerate(secrets, 1):
        assert clean(f"token={secret}") == f"token=<key-{number}>"
    assert clean(" ".join(secrets)) == f"<key-1> <key-2> {secrets[2]} {secrets[3]}"
    assert clean("ann@example.org") == "<email-1>"  # the fifth: all are forgotten
    assert clean(f"token={secrets[3]}") == "token=<key-5>"


def test_a_long_text_is_cut_where_no_secret_is() -> None:
    word, secret = "word ", f"token={opaque(20)}"
    for place in range(32 * 1024 - 40, 32 * 1024 + 10, 9):
        text = (word * (place // 5 + 1))[: place - 1] + " " + secret + " " + word * 3000
        shown = new()(text)
        assert "token=<key-1> " in shown
        assert shown.count("word") in (text.count("word"), text.count("word") + 1)
        assert new()(json.dumps({"x": text})) == json.dumps({"x": shown})


def test_a_long_string_of_escapes_stays_what_it_was() -> None:
    for text in ("x" * 70_000, ("y" * 100 + "\n") * 700, ("\\" * 60 + '"') * 1200, "é" * 20_000):
        line = json.dumps({"a": text, "token": "abc"})
        assert json.loads(new()(line)) == {"a": text, "token": "<key-1>"}
        assert json.loads(rewrite(line, lambda name, value: value + "!"))["a!"] == text + "!"
    for count in range(4):  # wherever the escapes begin
        text = "x" * count + "😀é" * 10_000
        changed = rewrite(json.dumps([text]), lambda name, value: value + "!")
        assert json.loads(changed) == [text + "!"]
